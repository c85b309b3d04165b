/** What is wrong with the log of a job's table, held against the receipts: for whoever makes it say what they say. */
import { ConfigError, DataError } from '../../core/errors.ts';
import type { Receipt, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { claimedDays } from '../claims/claims.ts';
import { keyPrefix, logKeyPrefix, objectPrefix, parseDayFileKey } from '../keys.ts';
import { readLayout } from '../lake-file.ts';
import { listReceipts } from '../ledger/ledger.ts';
import { expectLog, expectVersion } from '../publish/lost-log.ts';
import type { LeftOut, PublishedFile } from '../publish/published-files.ts';
import { publishedFiles, tablePath } from '../publish/published-files.ts';
import type { TableMetadata } from '../table/actions.ts';
import { faultText } from '../table/parse-actions.ts';
import type { DatasetColumn, TableContent } from '../table/schema.ts';
import { schemaFaults } from '../table/schema.ts';
import { readStatisticsDigests, statisticsDigest } from '../table/statistics.ts';
import type { Table } from '../table/table.ts';
import { openTable } from '../table/table.ts';
import type { UpkeepPorts } from './convert.ts';

export interface LogSurvey {
  readonly job: string;
  /** The columns of all files. */
  readonly content: TableContent;
  /** Those that are to be in the table. */
  readonly fileCount: number;
  /** The highest version that a receipt names. */
  readonly named: number;
  /** Vessel-days that cannot be in the table, and why. */
  readonly leftOut: readonly LeftOut[];
  /** The table, where its log can be read and has every version that a receipt names. */
  readonly table: Table | undefined;
  /** Of which it has not what their receipts say, or what their files are. */
  readonly differing: readonly VesselDay[];
  /** Paths of files that are as their receipts say, and whose statistics in the log are not theirs. */
  readonly misstated: ReadonlySet<string>;
  /** What is wrong, in words. */
  readonly faults: readonly string[];
}

/**
 * Look at the log of a job. Throws ConfigError where there can be none, and FatalError `unsupported-table` where another
 * writer has changed the table.
 */
export async function surveyLog(ports: UpkeepPorts, job: string): Promise<LogSurvey> {
  const { store } = ports;
  if ((await readLayout(store)) !== 'delta')
    throw new ConfigError(
      'lake-layout',
      `${store.url}: found a plain lake, expected a delta lake: it has logs`,
    );
  const days = await receiptDays(store, job);
  const digests = new Map<string, string>();
  const opened = await openWhole(ports, job, digests);
  const leftOut: LeftOut[] = [];
  const differing = new Map<string, VesselDay>();
  const misstated = new Set<string>();
  let newest: Receipt | undefined;
  // Receipts are read beside each other: which is the earliest is known once a batch of them is.
  let first: Receipt | undefined;
  const take = (receipt: Receipt) => {
    if (first === undefined || placeOf(receipt) < placeOf(first)) first = receipt;
    if (versionIn(receipt) > versionIn(newest)) newest = receipt;
    if (typeof opened === 'object' && differs(opened, receipt))
      differing.set(formatVesselDay(receipt), dayOf(receipt));
    return true;
  };
  const columns = new Map<string, DatasetColumn>();
  let fileCount = 0;
  for await (const files of publishedFiles(ports, days, leftOut, take))
    for (const file of files) {
      const misfit = misfitOf(file, first!.dataset, columns);
      if (misfit !== undefined) leftOut.push({ day: file.day, message: misfit });
      else for (const column of file.columns) columns.set(column.name, column);
      fileCount += misfit === undefined ? 1 : 0;
      const digest = digests.get(file.add.path);
      if (misfit === undefined && digest !== undefined && digest !== statisticsDigest(file.add.stats))
        misstated.add(file.add.path);
      if (misstated.has(file.add.path)) differing.set(formatVesselDay(file.day), file.day);
    }
  if (first === undefined)
    throw new ConfigError(
      'no-receipts',
      `${keyPrefix('receipt', job)}: found ${leftOut[0]?.message ?? 'no receipts'}, expected those of the job`,
    );
  const content = { job, dataset: first.dataset, columns: [...columns.values()] };
  const survey = { job, content, fileCount, named: versionIn(newest), misstated };
  const table = typeof opened === 'string' ? opened : await orFault(() => withVersion(opened, newest));
  if (typeof table === 'string') {
    leftOut.push(...(await unknownDays(store, job, days)));
    return { ...survey, leftOut, differing: [], table: undefined, faults: [table] };
  }
  const faults = [
    ...(table.checkpointFault === undefined ? [] : [faultText(table.checkpointFault)]),
    ...(await columnFaults(table.metadata!, content)),
    ...[...differing.keys()].map((day) => `${day}: the table has not what receipt and file say`),
  ];
  return { ...survey, leftOut, differing: [...differing.values()], table, faults };
}

export async function receiptDays(store: ObjectStore, job: string): Promise<VesselDay[]> {
  const days: VesselDay[] = [];
  for await (const { day } of listReceipts(store, job)) days.push(day);
  return days;
}

const versionIn = (receipt: Receipt | undefined) => receipt?.table?.version ?? -1;
/** Receipts are listed in the order of these. */
const placeOf = ({ date, vessel }: VesselDay): string => `${date}/${vessel}`;
const dayOf = ({ job, vessel, date }: VesselDay): VesselDay => ({ job, vessel, date });

/** The table, read to its last byte, with digests of its statistics; or what is wrong with it. */
function openWhole(ports: UpkeepPorts, job: string, digests: Map<string, string>): Promise<Table | string> {
  return orFault(async () => {
    const table = await openTable({ ...ports, prefix: objectPrefix(job) });
    await expectLog(ports.store, job, table);
    if (table.version < 0) return `${logKeyPrefix(job)}: found no log`;
    await readStatisticsDigests(table, digests);
    return table;
  });
}

/** What is read, or the message of a DataError. */
async function orFault<T>(read: () => T | Promise<T>): Promise<T | string> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return faultText(error);
  }
}

/** Has a table other files of a vessel-day than its receipt names? */
export function differs(table: Pick<Table, 'filesOf'>, receipt: Receipt): boolean {
  const { vessel, date, object } = receipt;
  const files = table.filesOf(vessel, date).map(({ path, sizeBytes }) => `${sizeBytes} ${path}`);
  return files.join() !== (object === null ? '' : `${object.sizeBytes} ${tablePath(receipt, object.key)}`);
}

async function withVersion(table: Table, receipt: Receipt | undefined): Promise<Table> {
  if (receipt !== undefined) await expectVersion(table, receipt);
  return table;
}

/** How a table's columns differ from those of its files, in words. */
export async function columnFaults(
  metadata: TableMetadata,
  { job, columns }: TableContent,
): Promise<string[]> {
  const faults = await orFault(() => schemaFaults(metadata, columns, job));
  if (typeof faults === 'string') return [faults];
  return faults.map(({ found, expected }) => `${logKeyPrefix(job)}: found ${found}, expected ${expected}`);
}

/** Why a file cannot be in a table of a dataset that has these columns among others. */
export function misfitOf(
  { add, ...file }: PublishedFile,
  dataset: Receipt['dataset'],
  columns: ReadonlyMap<string, DatasetColumn>,
): string | undefined {
  const other = file.columns.find(({ name, type }) => (columns.get(name)?.type ?? type) !== type);
  const found =
    file.dataset === dataset ? other && `the column ${other.name} of type ${other.type}` : file.dataset;
  return (
    found && `${add.path}: found ${found}, which the files of earlier dates do not have; run the day again`
  );
}

/** Vessel-days that have files, and neither receipt nor claim: nobody knows whether they were published. */
async function unknownDays(store: ObjectStore, job: string, days: readonly VesselDay[]): Promise<LeftOut[]> {
  const known = new Set([...days, ...(await claimedDays(store, job))].map(formatVesselDay));
  const unknown = new Map<string, LeftOut>();
  for await (const { key } of store.list(objectPrefix(job))) {
    const day = parseDayFileKey(key);
    if (day !== undefined && !known.has(formatVesselDay(day)))
      unknown.set(formatVesselDay(day), {
        day,
        message: `${key} is there, and no receipt: run the day again`,
      });
  }
  return [...unknown.values()];
}
