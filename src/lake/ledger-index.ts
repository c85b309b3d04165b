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
import { createTurns, forEachAtOnce } from '../concurrency.ts';
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

/** What is asked, but for what becomes of each receipt. */
interface LedgerQuestion<M extends IndexedMember> {
  readonly store: ObjectStore;
  readonly job: string;
  readonly dates: readonly string[];
  /** Absent: every vessel. */
  readonly vessels?: ReadonlySet<string>;
  /** What is asked of each receipt. */
  readonly members: readonly M[];
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  readonly log: Log;
}

interface LedgerScan<M extends IndexedMember> extends LedgerQuestion<M> {
  /** Given each receipt once, those of a date in no order. */
  readonly take: (receipt: IndexedPart<M>) => void;
  /** True: the caller has the receipts of this date as they are listed now, and is not given them. */
  readonly isKnown?: (date: string, listed: readonly ListedVessel[]) => boolean;
}

/** How the receipts were read. */
export interface LedgerReading {
  /** Receipts that cannot be read. */
  readonly damaged: readonly { readonly day: VesselDay; readonly error: DataError }[];
  /** How many receipts came out of the index, and how many were fetched. */
  readonly fromIndex: number;
  readonly fetched: number;
}

export interface LedgerAnswer<T> extends LedgerReading {
  readonly receipts: Pick<DayMap<T>, 'get' | 'size' | 'values' | 'vessels'>;
}

/**
 * The receipts of a job on some dates; of each what `project` keeps of it. Memory: that, and the lists and the index of
 * one month. Throws what the store throws; an index that cannot be written is no error.
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

interface GrowingReading {
  readonly damaged: { day: VesselDay; error: DataError }[];
  fromIndex: number;
  fetched: number;
}

async function readMonth<M extends IndexedMember>(
  scan: LedgerScan<M>,
  month: string,
  dates: readonly string[],
  reading: GrowingReading,
): Promise<void> {
  const { store, job, vessels, writeIndex, isKnown } = scan;
  let opening: Promise<OpenIndex<M>[]> | undefined;
  const unmatched: ListedDate[] = [];
  const fresh: ListedDay[] = [];
  const turn = createTurns();
  /** Dates whose receipts are known now, as far as the index is concerned. */
  const looked = new Set<string>();
  let wanted = 0;
  await forEachAtOnce(dates, LISTS_AT_ONCE, async (date) => {
    const listed = await listVessels(store, job, date);
    if (isKnown?.(date, listed) === true) return;
    looked.add(date);
    for (const { vessel } of listed) if (vessels?.has(vessel) !== false) wanted++;
    unmatched.push({ date, listed });
    if (wanted < INDEX_WORTH_RECEIPTS) return;
    opening ??= openIndexes(scan, month);
    const indexes = await opening;
    // As soon as may be: a list is larger than what is kept of its receipts.
    for (const one of unmatched.splice(0)) {
      matchDate(scan, one, indexes, reading, fresh);
      await turn();
    }
  });
  const indexes = (await opening) ?? [];
  for (const one of unmatched) matchDate(scan, one, indexes, reading, fresh);
  const read = await fetchReceipts(scan, fresh, reading);
  const isScattered = indexes.some(({ file }) => file.key !== indexKey(job, month));
  if (writeIndex && (isScattered || fresh.length >= INDEX_WORTH_RECEIPTS))
    await writeIndexAnew(scan, month, indexes, { dates: looked, read });
}

/** What the store lists of a date. */
interface ListedDate {
  readonly date: string;
  readonly listed: readonly ListedVessel[];
}

type ListedDay = ListedVessel & Pick<VesselDay, 'date'>;

/** Receipts of a date that an index knows are taken, the others put among the `fresh`. Both are in order. */
function matchDate<M extends IndexedMember>(
  { vessels, take }: LedgerScan<M>,
  { date, listed }: ListedDate,
  indexes: readonly OpenIndex<M>[],
  reading: GrowingReading,
  fresh: ListedDay[],
): void {
  const cursors = indexes.flatMap(({ index, isKnown }) => {
    if (index === undefined) return [];
    const [at, to] = index.rangeOf(date);
    return at === to ? [] : [{ index, isKnown, at, to }];
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
        take(index.row(at));
        reading.fromIndex++;
      }
      isFound = true;
    }
    if (isWanted && !isFound) fresh.push({ ...receipt, date });
  }
}

/** Fetch receipts; as rows of the index, as far as they can be read and known again. */
async function fetchReceipts<M extends IndexedMember>(
  { store, job, take, writeIndex }: LedgerScan<M>,
  entries: readonly ListedDay[],
  reading: GrowingReading,
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
      take({ ...row, ...day });
      reading.fetched++;
      // Without a tag nobody could tell later whether it was replaced.
      if (isKept && listed.tag !== '') rows.push(row);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      reading.damaged.push({ day, error });
    }
  });
  return rows;
}
