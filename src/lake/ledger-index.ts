/**
 * Reading many receipts: what was read of a month is kept in one object, `_index/<job>/<month>.columns`, so that
 * the next reader fetches only the receipts that are new. Who publishes many leaves what it has written beside it, in
 * pieces of its own (`index-journal.ts`); the next reader that writes puts them into it.
 *
 * The index is never trusted over the receipts. A reader lists the ledger first; a row of the index counts only
 * if the list shows its receipt with the size and the tag that the row was read under. Every other receipt that
 * is listed is fetched, rows without a listed receipt are passed over, and an index that is damaged in any way
 * is passed over as a whole. So it may be missing, stale, damaged or overwritten by a slower reader: that costs time,
 * never truth.
 */
import { forEachAtOnce } from '../concurrency.ts';
import { DataError } from '../errors.ts';
import type { Log, VesselDay } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { DayMap } from './day-map.ts';
import type { OpenIndex } from './index-files.ts';
import { openIndexes, writeIndexAnew } from './index-files.ts';
import type { IndexedMember, IndexedPart, IndexRow } from './indexed-receipt.ts';
import { toIndexRow } from './indexed-receipt.ts';
import { indexKey } from './keys.ts';
import type { ListedVessel } from './ledger.ts';
import { listVessels, parseReceipt } from './ledger.ts';

/** Fewer receipts are fetched sooner than an index is read or written. */
export const INDEX_WORTH_RECEIPTS = 64;
const LISTS_AT_ONCE = 8;
const GETS_AT_ONCE = 32;

interface LedgerQuestion<M extends IndexedMember, T> {
  readonly store: ObjectStore;
  readonly job: string;
  readonly dates: readonly string[];
  /** Absent: every vessel. */
  readonly vessels?: ReadonlySet<string>;
  /** What is asked of each receipt. */
  readonly members: readonly M[];
  /** What is kept of it: bounds the memory of an answer over many months. */
  readonly project: (receipt: IndexedPart<M>) => T;
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  readonly log: Log;
}

export interface LedgerAnswer<T> {
  readonly receipts: Pick<DayMap<T>, 'get' | 'size' | 'values' | 'vessels'>;
  /** Receipts that cannot be read. */
  readonly damaged: readonly { readonly day: VesselDay; readonly error: DataError }[];
  /** How many receipts came out of the index, and how many were fetched. */
  readonly fromIndex: number;
  readonly fetched: number;
}

/**
 * The receipts of a job on some dates. Memory: what `project` keeps, and the lists and the index of one
 * month. Throws what the store throws; an index that cannot be written is no error.
 */
export async function readLedger<M extends IndexedMember, T>(
  question: LedgerQuestion<M, T>,
): Promise<LedgerAnswer<T>> {
  const answer = { receipts: new DayMap<T>(), damaged: [], fromIndex: 0, fetched: 0 };
  const months = Map.groupBy(question.dates, (date) => date.slice(0, 7));
  for (const [month, dates] of months) await readMonth(question, month, dates, answer);
  return answer;
}

interface GrowingAnswer<T> {
  readonly receipts: DayMap<T>;
  readonly damaged: { day: VesselDay; error: DataError }[];
  fromIndex: number;
  fetched: number;
}

async function readMonth<M extends IndexedMember, T>(
  question: LedgerQuestion<M, T>,
  month: string,
  dates: readonly string[],
  answer: GrowingAnswer<T>,
): Promise<void> {
  const { store, job, vessels, writeIndex } = question;
  let opening: Promise<OpenIndex<M>[]> | undefined;
  const unmatched: ListedDate[] = [];
  const fresh: ListedDay[] = [];
  let wanted = 0;
  await forEachAtOnce(dates, LISTS_AT_ONCE, async (date) => {
    const listed = await listVessels(store, job, date);
    for (const { vessel } of listed) if (vessels?.has(vessel) !== false) wanted++;
    unmatched.push({ date, listed });
    if (wanted < INDEX_WORTH_RECEIPTS) return;
    opening ??= openIndexes(question, month);
    const indexes = await opening;
    // As soon as may be: a list is larger than what is kept of its receipts.
    for (const one of unmatched.splice(0)) matchDate(question, one, indexes, answer, fresh);
  });
  const indexes = (await opening) ?? [];
  for (const one of unmatched) matchDate(question, one, indexes, answer, fresh);
  const read = await fetchReceipts(question, fresh, answer);
  const isScattered = indexes.some(({ file }) => file.key !== indexKey(job, month));
  if (writeIndex && (isScattered || fresh.length >= INDEX_WORTH_RECEIPTS))
    await writeIndexAnew(question, month, indexes, { dates: new Set(dates), read });
}

/** What the store lists of a date. */
interface ListedDate {
  readonly date: string;
  readonly listed: readonly ListedVessel[];
}

type ListedDay = ListedVessel & Pick<VesselDay, 'date'>;

/** Receipts of a date that an index knows go into the answer, the others among the `fresh`. Both are in order. */
function matchDate<M extends IndexedMember, T>(
  { vessels, project }: LedgerQuestion<M, T>,
  { date, listed }: ListedDate,
  indexes: readonly OpenIndex<M>[],
  answer: GrowingAnswer<T>,
  fresh: ListedDay[],
): void {
  const cursors = indexes.flatMap(({ index, isKnown }) => {
    if (index === undefined) return [];
    const [at, to] = index.rangeOf(date);
    return [{ index, isKnown, at, to }];
  });
  for (const receipt of listed) {
    const isWanted = vessels?.has(receipt.vessel) !== false;
    let isFound = false;
    for (const cursor of cursors) {
      const { index, to } = cursor;
      while (cursor.at < to && index.vessel(cursor.at) < receipt.vessel) cursor.at++;
      const { at } = cursor;
      if (at === to || index.vessel(at) !== receipt.vessel || !index.isSame(at, receipt)) continue;
      cursor.isKnown[at] = 1;
      if (isWanted && !isFound) {
        const row = index.row(at);
        answer.receipts.set(row, project(row));
        answer.fromIndex++;
      }
      isFound = true;
    }
    if (isWanted && !isFound) fresh.push({ ...receipt, date });
  }
}

/** Fetch receipts; as rows of the index, as far as they can be read and known again. */
async function fetchReceipts<M extends IndexedMember, T>(
  { store, job, project, writeIndex }: LedgerQuestion<M, T>,
  entries: readonly ListedDay[],
  answer: GrowingAnswer<T>,
): Promise<IndexRow[]> {
  const rows: IndexRow[] = [];
  const isKept = writeIndex && entries.length > 0;
  await forEachAtOnce(entries, GETS_AT_ONCE, async (listed) => {
    const { key, vessel, date } = listed;
    const day = { job, vessel, date };
    const object = await store.get(key);
    // Removed since it was listed.
    if (object === undefined) return;
    try {
      const receipt = parseReceipt(object.bytes, key);
      const row = toIndexRow(receipt, listed);
      answer.receipts.set(day, project(row));
      answer.fetched++;
      // Without a tag nobody could tell later whether it was replaced.
      if (isKept && listed.tag !== '') rows.push(row);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      answer.damaged.push({ day, error });
    }
  });
  return rows;
}
