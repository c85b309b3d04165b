/**
 * Reading many receipts: what was read of a month is kept in one object, `_index/<job>/<month>.parquet`, so that
 * the next reader fetches only the receipts that are new. Who publishes many leaves what it has written beside it, in
 * pieces of its own (`index-journal.ts`); the next reader that writes puts them into it.
 *
 * The index is never trusted over the receipts. A reader lists the ledger first; a row of the index counts only
 * if the list shows its receipt with the size and the tag that the row was read under. (Who only shows what is there takes
 * the word of folders for it, where they can give it: `folder-seals.ts`.) Every other receipt that
 * is listed is fetched, rows without a listed receipt are passed over, and an index that is damaged in any way
 * is passed over as a whole. So it may be missing, stale, damaged or overwritten by a slower reader: that costs time,
 * never truth.
 */
import { DayMap } from './day-map.ts';
import type { IndexedMember, IndexedPart } from './indexed-receipt.ts';
import type { GrowingReading, LedgerQuestion, LedgerReading, LedgerScan } from './ledger-month.ts';
import { readMonth } from './ledger-month.ts';

export interface LedgerAnswer<T> extends LedgerReading {
  readonly receipts: Pick<DayMap<T>, 'get' | 'size' | 'values' | 'vessels'>;
}

/**
 * The receipts of a job on some dates; of each what `project` keeps of it. Memory: that, the lists of some dates, the index
 * of one month, and some thousand receipts. Throws what the store throws; an index that cannot be written is no error.
 */
export async function readLedger<M extends IndexedMember, T>({
  project,
  ...question
}: LedgerQuestion<M> & { readonly project: (receipt: IndexedPart<M>) => T }): Promise<LedgerAnswer<T>> {
  const receipts = new DayMap<T>();
  const take = (receipt: IndexedPart<M>) => receipts.set(receipt, project(receipt));
  return { receipts, ...(await scanLedger({ ...question, take })) };
}

/** The same for callers that keep the receipts themselves. Others in the thread have their turn meanwhile. */
export async function scanLedger<M extends IndexedMember>(scan: LedgerScan<M>): Promise<LedgerReading> {
  const reading: GrowingReading = { damaged: [], fromIndex: 0, fetched: 0 };
  const months = Map.groupBy(scan.dates, (date) => date.slice(0, 7));
  for (const [month, dates] of months) await readMonth(scan, month, dates, reading);
  return reading;
}
