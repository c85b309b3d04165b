/**
 * The files of a delta lake: those that are its vessel-days now, for those who read files and no log; published objects as
 * entries of a table name them; and whether a log is lost, or part of it: receipts tell, for each was written after its entry.
 */

import { forEachAtOnce } from '../../core/concurrency.ts';
import { DataError, messageOf } from '../../core/errors.ts';
import { type Log, type Receipt, silentLog, systemClock, type VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { orDamage } from '../json.ts';
import { logKeyPrefix, objectPrefix, parseDayFileKey, receiptKey } from '../keys.ts';
import { listReceipts, readReceipt } from '../ledger/ledger.ts';
import type { AddFile } from '../table/actions.ts';
import { columnsOf, expectFooter, readFooter } from '../table/file-footer.ts';
import { damagedLog } from '../table/parse-actions.ts';
import type { DatasetColumn } from '../table/schema.ts';
import { statisticsText } from '../table/statistics.ts';
import { openTableView, type TableView } from '../table/table-view.ts';

interface TableFile {
  readonly day: VesselDay;
  readonly key: string;
  readonly sizeBytes: number;
}

/** Those of a job, at the newest version of its table. Throws DataError `damaged-log`, FatalError `unsupported-table`. */
export async function readTableFiles(
  store: Pick<ObjectStore, 'get' | 'getRange' | 'head' | 'list'>,
  job: string,
  log: Log = silentLog,
): Promise<TableFile[]> {
  const prefix = objectPrefix(job);
  const view = await openTableView({ store, clock: systemClock, log, prefix });
  await expectLog(store, job, view);
  const found: TableFile[] = [];
  for (const { vessel, date, files } of view.days())
    for (const { path, sizeBytes } of files)
      found.push({ day: { job, vessel, date }, key: `${prefix}${path}`, sizeBytes });
  return found;
}

/** Throws DataError `damaged-log` where a job has published, and its view found no log. Free where the view has one. */
export async function expectLog(
  store: Pick<ObjectStore, 'list' | 'get'>,
  job: string,
  view: Pick<TableView, 'version' | 'refresh'>,
): Promise<void> {
  if (view.version >= 0) return;
  for await (const { day } of listReceipts(store, job)) {
    const receipt = await orDamage(readReceipt(store, day));
    if (receipt === undefined) continue;
    if (receipt instanceof DataError ? !(await hasFile(store, day)) : !receipt.object && !receipt.table)
      continue;
    // Another process may have made the table since, and published.
    await view.refresh();
    if (view.version >= 0) return;
    throw damagedLog(
      logKeyPrefix(job),
      'no log',
      receipt instanceof DataError
        ? `one: ${receiptKey(day)} cannot be read, and its vessel-day has a file`
        : `one: ${receiptKey(day)} says that the job has published`,
    );
  }
}

async function hasFile(store: Pick<ObjectStore, 'list'>, { job, vessel, date }: VesselDay): Promise<boolean> {
  for await (const { key } of store.list(objectPrefix(job, vessel)))
    if (parseDayFileKey(key)?.date === date) return true;
  return false;
}

/** Throws DataError `damaged-log` where a receipt names a later version of its table than there is. */
export async function expectVersion(
  view: { readonly version: number; refresh(): Promise<unknown> },
  receipt: Receipt,
): Promise<void> {
  const named = receipt.table?.version ?? 0;
  if (named <= view.version) return;
  await view.refresh();
  if (named <= view.version) return;
  throw damagedLog(
    logKeyPrefix(receipt.job),
    `versions up to ${view.version}`,
    `version ${named}, which ${receiptKey(receipt)} names: the newest entries are lost`,
  );
}

export const BATCH = 1_000;
export const READS_AT_ONCE = 16;

export interface PublishedFile {
  readonly day: VesselDay;
  readonly dataset: Receipt['dataset'];
  readonly columns: readonly DatasetColumn[];
  readonly add: AddFile;
}

/** A published vessel-day whose object cannot join its table. */
export interface LeftOut {
  readonly day: VesselDay;
  readonly message: string;
  /** Its receipt cannot be read: nobody knows which file it names. */
  readonly isUnread?: boolean;
}

export function tablePath({ job }: Pick<VesselDay, 'job'>, key: string): string {
  return key.slice(objectPrefix(job).length);
}

/** Those of the vessel-days whose receipts are `wanted` and have an object, a thousand days at a time, in their order. */
export async function* publishedFiles(
  { store, signal }: { readonly store: ObjectStore; readonly signal: AbortSignal },
  days: readonly VesselDay[],
  leftOut: LeftOut[],
  wanted: (receipt: Receipt) => boolean,
): AsyncGenerator<PublishedFile[]> {
  for (let from = 0; from < days.length; from += BATCH) {
    signal.throwIfAborted();
    const batch = days.slice(from, from + BATCH);
    const found = new Map<VesselDay, PublishedFile>();
    await forEachAtOnce(batch, READS_AT_ONCE, async (day) => {
      let isUnread = true;
      try {
        const receipt = await readReceipt(store, day);
        isUnread = false;
        if (receipt === undefined || !wanted(receipt) || !receipt.object) return;
        found.set(day, await describeFile(store, receipt, receipt.object));
      } catch (error) {
        if (!(error instanceof DataError)) throw error;
        leftOut.push({ day, message: messageOf(error), isUnread });
      }
    });
    yield batch.flatMap((day) => found.get(day) ?? []);
  }
}

/** Throws DataError where the object is not the one that the receipt names. */
export async function describeFile(
  store: ObjectStore,
  { job, vessel, date, dataset, finishedAt }: Receipt,
  { key, sizeBytes }: NonNullable<Receipt['object']>,
): Promise<PublishedFile> {
  const footer = expectFooter(await readFooter(store, { key, sizeBytes }), key, sizeBytes);
  const add: AddFile = {
    path: tablePath({ job }, key),
    partitionValues: { vessel, date },
    size: sizeBytes,
    modificationTime: Date.parse(finishedAt),
    dataChange: true,
    stats: statisticsText(footer),
  };
  return { day: { job, vessel, date }, dataset, columns: columnsOf(footer, key), add };
}
