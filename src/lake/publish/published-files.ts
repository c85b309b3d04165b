/** Published objects as entries of a table name them: columns and statistics out of their own footers. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { DataError, messageOf } from '../../core/errors.ts';
import type { Receipt, VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { objectPrefix } from '../keys.ts';
import { readReceipt } from '../ledger/ledger.ts';
import type { AddFile } from '../table/actions.ts';
import { columnsOf, expectFooter, readFooter } from '../table/file-footer.ts';
import type { DatasetColumn } from '../table/schema.ts';
import { statisticsText } from '../table/statistics.ts';

/** Files in an entry. */
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

/** The path in its table of a job's object. */
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
    sizeBytes,
    modifiedMs: Date.parse(finishedAt),
    dataChange: true,
    stats: statisticsText(footer),
  };
  return { day: { job, vessel, date }, dataset, columns: columnsOf(footer, key), add };
}
