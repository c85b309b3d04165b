/** The published vessel-days of a job join its table by the paths that their objects have, a thousand in an entry. */
import { forEachAtOnce } from '../concurrency.ts';
import { DataError, messageOf, RefusedError } from '../errors.ts';
import type { Receipt, VesselDay } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { AddFile } from '../table/actions.ts';
import { fileColumns } from '../table/file-columns.ts';
import { prepareTable } from '../table/prepare.ts';
import type { DatasetColumn } from '../table/schema.ts';
import { fileStatistics } from '../table/statistics.ts';
import type { Table } from '../table/table.ts';
import { openTable } from '../table/table.ts';
import type { OwnMark } from './conversion-mark.ts';
import { expectOurs } from './conversion-mark.ts';
import type { ConvertPorts } from './end-claims.ts';
import { footerLength } from './footer-length.ts';
import { objectPrefix } from './keys.ts';
import { readReceipt } from './ledger.ts';

/** Files in an entry. */
const BATCH = 1_000;
const READS_AT_ONCE = 16;
/** Most footers are smaller; of a larger one the rest is asked for. */
const FOOTER_BYTES = 64 << 10;

/** What became of a job. */
export interface ConvertedJob {
  readonly job: string;
  /** Vessel-days whose file is in the table. */
  readonly vesselDays: number;
  readonly sizeBytes: number;
}

/** A published vessel-day whose object could not join. */
export interface LeftOut {
  readonly day: VesselDay;
  readonly message: string;
}

/** Its table has every file of `days` but those that are `leftOut`. Throws FencedError when another conversion takes over. */
export async function convertJob(
  ports: ConvertPorts,
  own: OwnMark,
  job: string,
  days: readonly VesselDay[],
  leftOut: LeftOut[],
): Promise<ConvertedJob> {
  const table = await openTable({ ...ports, prefix: objectPrefix(job) });
  let before = table.fileCount;
  for (let from = 0; from < days.length; from += BATCH) {
    ports.signal.throwIfAborted();
    const found: FoundFile[] = [];
    await forEachAtOnce(days.slice(from, from + BATCH), READS_AT_ONCE, async (day) => {
      try {
        const file = await findFile(ports.store, table, day);
        if (file !== undefined) found.push(file);
      } catch (error) {
        if (!(error instanceof DataError)) throw error;
        leftOut.push({ day, message: messageOf(error) });
      }
    });
    await addFiles(ports, own, table, job, found, leftOut);
    if (table.fileCount > before)
      ports.say(`${job}: ${table.fileCount} of ${days.length} vessel-days are in its table`);
    before = table.fileCount;
  }
  if (table.version >= 0) await table.checkpoint();
  let sizeBytes = 0;
  for (const { files } of table.days()) for (const file of files) sizeBytes += file.sizeBytes;
  return { job, vesselDays: table.fileCount, sizeBytes };
}

interface FoundFile {
  readonly day: VesselDay;
  readonly dataset: Receipt['dataset'];
  readonly columns: readonly DatasetColumn[];
  readonly add: AddFile;
}

/** What an entry says of a vessel-day's object; undefined where there is none, or it is in the table. */
async function findFile(store: ObjectStore, table: Table, day: VesselDay): Promise<FoundFile | undefined> {
  const receipt = await readReceipt(store, day);
  if (!receipt?.object) return undefined;
  const { key, sizeBytes } = receipt.object;
  const path = key.slice(objectPrefix(day.job).length);
  if (table.filesOf(day.vessel, day.date).some((file) => file.path === path)) return undefined;
  const footer = await readFooter(store, key, sizeBytes);
  const add: AddFile = {
    path,
    partitionValues: { vessel: day.vessel, date: day.date },
    sizeBytes,
    modifiedMs: Date.parse(receipt.finishedAt),
    dataChange: true,
    stats: fileStatistics(footer, key),
  };
  return { day, dataset: receipt.dataset, columns: fileColumns(footer, key), add };
}

/** The end of an object with its whole footer. Throws DataError where it is not the one that the receipt names. */
async function readFooter(store: ObjectStore, key: string, sizeBytes: number): Promise<Uint8Array> {
  const read = async (bytes: number) => {
    const fromByte = Math.max(0, sizeBytes - bytes);
    // One byte more than there should be.
    const found = await store.getRange(key, fromByte, sizeBytes + 1);
    if (found?.length !== sizeBytes - fromByte || found.length < 12)
      throw new DataError(
        'damaged-file',
        `${key}: found ${found === undefined ? 'no object' : 'another size'}, expected ${sizeBytes} bytes, as its receipt says; verify, and export the day again`,
      );
    return found;
  };
  const end = await read(FOOTER_BYTES);
  const footerBytes = footerLength(end, sizeBytes);
  if (typeof footerBytes === 'string')
    throw new DataError(
      'damaged-file',
      `${key}: found ${footerBytes}, expected a Parquet footer; verify, and export the day again`,
    );
  return footerBytes <= end.length ? end : await read(footerBytes);
}

/** Some vessel-days. Those whose columns do not fit the table's are left out. */
async function addFiles(
  { store }: ConvertPorts,
  own: OwnMark,
  table: Table,
  job: string,
  found: readonly FoundFile[],
  leftOut: LeftOut[],
): Promise<void> {
  const fitting: FoundFile[] = [];
  for (const file of found) {
    const fault = await prepare(own, store, table, { job, ...file });
    if (fault === undefined) fitting.push(file);
    else leftOut.push({ day: file.day, message: fault });
  }
  const adds = () =>
    fitting
      .filter(({ day, add }) => !table.filesOf(day.vessel, day.date).some(({ path }) => path === add.path))
      .map(({ add }) => ({ add }));
  for (let rest = adds(); rest.length > 0; rest = adds()) {
    // In this order: an entry that we lost sight of can only come to the version after one from before this look.
    const { version } = table;
    await expectOurs(store, own);
    if (!(await table.commit(version, 'CONVERT', rest))) await table.refresh();
  }
}

/** The table is there and has these columns; or why it cannot. */
async function prepare(
  own: OwnMark,
  store: ObjectStore,
  table: Table,
  content: Parameters<Table['preparation']>[0],
): Promise<string | undefined> {
  try {
    await prepareTable(table, content, { beforeCommit: () => expectOurs(store, own) });
    return undefined;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return messageOf(error);
  }
}
