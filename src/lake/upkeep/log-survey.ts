/** What is wrong with the log of a job's table, held against the receipts, and what is left of one that is damaged. */
import { ConfigError, DataError } from '../../core/errors.ts';
import { formatVesselDay, type Receipt, type VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { claimedDays } from '../claims/claims.ts';
import { orDamage } from '../json.ts';
import { keyPrefix, logKeyPrefix, objectPrefix, parseDayFileKey } from '../keys.ts';
import { readLayout } from '../lake-file.ts';
import { DayMap } from '../ledger/day-map.ts';
import { listReceipts } from '../ledger/ledger.ts';
import type { LeftOut, PublishedFile } from '../publish/table-files.ts';
import { expectLog, expectVersion, publishedFiles, tablePath } from '../publish/table-files.ts';
import type { Action, AddFile, TableMetadata } from '../table/actions.ts';
import { readCheckpoint } from '../table/checkpoint-read.ts';
import { faultText, isTableFault } from '../table/parse-actions.ts';
import { type DatasetColumn, schemaFaults, type TableContent } from '../table/schema.ts';
import { readStatisticsDigests, statisticsDigest } from '../table/statistics.ts';
import { openTable, type Table } from '../table/table.ts';
import { listLog, readEntry, type TableLogPorts } from '../table/table-log.ts';
import { TableState } from '../table/table-state.ts';
import type { UpkeepPorts } from './convert.ts';

export interface LogSurvey {
  readonly job: string;
  readonly dataset: Receipt['dataset'];
  readonly columns: ReadonlyMap<string, DatasetColumn>;
  readonly fileCount: number;
  readonly named: number;
  readonly leftOut: readonly LeftOut[];
  /** The table, where its log can be read and has every version that a receipt names. */
  readonly table: Table | undefined;
  /** Vessel-days of which the table has not what their receipts say, or what their files are. */
  readonly differing: readonly VesselDay[];
  /** Paths of files that are as their receipts say, and whose statistics in the log are not theirs. */
  readonly misstated: ReadonlySet<string>;
  readonly faults: readonly string[];
}

/** Look at the log of a job. Throws ConfigError where there can be none, FatalError `unsupported-table`. */
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
  const add = ({ job, vessel, date }: VesselDay) => {
    differing.set(formatVesselDay({ job, vessel, date }), { job, vessel, date });
  };
  let newest: Receipt | undefined;
  // Receipts are read beside each other: which is the earliest is known once a batch of them is.
  let first: Receipt | undefined;
  const take = (receipt: Receipt) => {
    if (first === undefined || placeOf(receipt) < placeOf(first)) first = receipt;
    if (versionIn(receipt) > versionIn(newest)) newest = receipt;
    if (typeof opened === 'object' && differs(opened, receipt)) add(receipt);
    return true;
  };
  const columns = new Map<string, DatasetColumn>();
  let fileCount = 0;
  for await (const files of publishedFiles(ports, days, leftOut, take))
    for (const file of files) {
      const { path, stats } = file.add;
      const misfit = misfitOf(file, { dataset: first!.dataset, columns });
      if (misfit !== undefined) {
        leftOut.push({ day: file.day, message: misfit });
        continue;
      }
      for (const column of file.columns) columns.set(column.name, column);
      fileCount++;
      if ((digests.get(path) ?? statisticsDigest(stats)) === statisticsDigest(stats)) continue;
      misstated.add(path);
      add(file.day);
    }
  if (first === undefined)
    throw new ConfigError(
      'no-receipts',
      `${keyPrefix('receipt', job)}: found ${leftOut[0]?.message ?? 'no receipts'}, expected those of the job`,
    );
  const survey = { job, dataset: first.dataset, columns, fileCount, named: versionIn(newest), misstated };
  const hasVersion = async (table: Table) => {
    if (newest !== undefined) await expectVersion(table, newest);
    return table;
  };
  const table = typeof opened === 'string' ? opened : await orFault(() => hasVersion(opened));
  if (typeof table === 'string') {
    leftOut.push(...(await unknownDays(store, job, days)));
    return { ...survey, leftOut, differing: [], table: undefined, faults: [table] };
  }
  const faults = [
    ...(table.checkpointFault === undefined ? [] : [faultText(table.checkpointFault)]),
    ...(await columnFaults(table.metadata!, contentOf(survey))),
    ...[...differing.keys()].map((day) => `${day}: the table has not what receipt and file say`),
  ];
  return { ...survey, leftOut, differing: [...differing.values()], table, faults };
}

export function receiptDays(store: ObjectStore, job: string): Promise<VesselDay[]> {
  return Array.fromAsync(listReceipts(store, job), ({ day }) => day);
}

export function contentOf({ job, dataset, columns }: Pick<LogSurvey, 'job' | 'dataset' | 'columns'>) {
  return { job, dataset, columns: [...columns.values()] };
}

const versionIn = (receipt: Receipt | undefined) => receipt?.table?.version ?? -1;
/** Receipts are listed in the order of these. */
const placeOf = ({ date, vessel }: VesselDay): string => `${date}/${vessel}`;

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

async function orFault<T>(read: () => Promise<T>): Promise<T | string> {
  const found = await orDamage(read());
  return found instanceof DataError ? faultText(found) : found;
}

export function differs(table: Pick<Table, 'filesOf'>, receipt: Receipt): boolean {
  const { vessel, date, object } = receipt;
  const files = table.filesOf(vessel, date).map(({ path, sizeBytes }) => `${sizeBytes} ${path}`);
  return files.join() !== (object === null ? '' : `${object.sizeBytes} ${tablePath(receipt, object.key)}`);
}

export async function columnFaults(
  metadata: TableMetadata,
  { job, columns }: TableContent,
): Promise<string[]> {
  const faults = await orFault(async () => schemaFaults(metadata, columns, job));
  if (typeof faults === 'string') return [faults];
  return faults.map(({ found, expected }) => `${logKeyPrefix(job)}: found ${found}, expected ${expected}`);
}

/** Why a file cannot be in a table of a dataset that has these columns among others. */
export function misfitOf(
  { add, ...file }: PublishedFile,
  { dataset, columns }: Pick<LogSurvey, 'dataset' | 'columns'>,
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
    const message = `${key} is there, and no receipt: run the day again`;
    if (day !== undefined && !known.has(formatVesselDay(day)))
      unknown.set(formatVesselDay(day), { day, message });
  }
  return [...unknown.values()];
}

export interface Remains {
  readonly state: TableState;
  readonly adds: DayMap<AddFile>;
}

/** The newest of everything but files, and these days' files that are there. Of several nobody knows which is the day. */
export async function readRemains(log: TableLogPorts, days: readonly LeftOut[]): Promise<Remains> {
  const { entries, checkpoints } = await listLog(log);
  const state = new TableState(-1);
  const wanted = new DayMap<true>();
  for (const { day } of days) wanted.set(day, true);
  const found = new Map<string, AddFile>();
  const take = (actions: readonly Action[]) => {
    for (const action of actions)
      if ('remove' in action) found.delete(action.remove.path);
      else if (!('add' in action)) state.apply(action, 0);
      else if (wanted.get(dayOf(action.add)) === true) found.set(action.add.path, action.add);
  };
  const isRead = async (read: () => Promise<void>): Promise<boolean> => {
    const isFault = (error: unknown) => {
      if (!isTableFault(error)) throw error;
      return false;
    };
    return await read().then(() => true, isFault);
  };
  let from = 0;
  for (const checkpoint of checkpoints) {
    const takeAll = async () => {
      for await (const actions of readCheckpoint(log, checkpoint, days.length > 0)) take(actions);
    };
    if (!(await isRead(takeAll))) continue;
    from = checkpoint.version;
    break;
  }
  for (const { version } of entries)
    if (version >= from) await isRead(async () => take((await readEntry(log, version))?.actions ?? []));
  const adds = new DayMap<AddFile>();
  for (const files of Map.groupBy(found.values(), (add) => Object.values(dayOf(add)).join()).values()) {
    const [add, ...others] = files as [AddFile, ...AddFile[]];
    const object = await log.store.head(`${log.prefix}${add.path}`);
    if (others.length === 0 && object?.sizeBytes === add.size) adds.set(dayOf(add), add);
  }
  return { state, adds };
}

function dayOf({ partitionValues: { vessel, date } }: AddFile): Pick<VesselDay, 'vessel' | 'date'> {
  return { vessel: vessel ?? '', date: date ?? '' };
}
