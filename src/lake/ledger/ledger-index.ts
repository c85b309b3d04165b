/**
 * Reading many receipts: what was read of a month is kept in one object, `_index/<job>/<month>.parquet`, so that
 * the next reader fetches only new receipts. A process that publishes many writes them beside it, in pieces
 * (`index-journal.ts`); the next reader that writes the index merges them.
 *
 * The index is never trusted over the receipts. A reader lists the ledger first; a row of the index counts only
 * if the list shows its receipt with the size and the tag that the row was read under. Every other receipt that
 * is listed is fetched, rows without a listed receipt are ignored, and an index that is damaged in any way
 * is ignored as a whole. So it may be missing, stale, damaged or overwritten by a slower reader: that costs time,
 * but the result stays correct.
 */
import { createTurns, forEachAtOnce } from '../../core/concurrency.ts';
import { DataError } from '../../core/errors.ts';
import type { Log, VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { indexKey } from '../keys.ts';
import { DayMap } from './day-map.ts';
import type { KnownIndex, OpenIndex } from './index-files.ts';
import { loadIndexFile, openIndexes, writeIndexAnew } from './index-files.ts';
import type { IndexedMember, IndexedPart, IndexRow } from './indexed-receipt.ts';
import { isIndexable, partOf, toIndexRow } from './indexed-receipt.ts';
import { type ListedVessel, listVessels, parseReceipt, type ReceiptVersion } from './ledger.ts';

/** Fetching fewer receipts than this is faster than reading or writing an index. */
export const INDEX_WORTH_RECEIPTS = 64;
const LISTS_AT_ONCE = 8;
const GETS_AT_ONCE = 32;
/** How many are fetched before more are listed, and kept as rows before they are encoded: a kilobyte each. */
const FETCHED_AT_ONCE = 8_192;

interface LedgerQuestion<M extends IndexedMember> {
  readonly store: ObjectStore;
  readonly job: string;
  readonly dates: readonly string[];
  readonly vessels?: ReadonlySet<string>;
  /** The members of each receipt that are read and kept. */
  readonly members: readonly M[];
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  readonly log: Log;
}

interface LedgerScan<M extends IndexedMember> extends LedgerQuestion<M> {
  /** Called once for each receipt, within a date in any order, with its entry of the list. */
  readonly take: (receipt: IndexedPart<M>, listed: ReceiptVersion) => void;
  /** Whether the caller has the receipts of this date as they are listed: then they are not read. */
  readonly isKnown?: (date: string, listed: readonly ListedVessel[]) => boolean;
}

export interface LedgerReading {
  readonly damaged: { readonly day: VesselDay; readonly error: DataError }[];
  /** How many receipts came from the index, and how many were fetched. */
  fromIndex: number;
  fetched: number;
}

/**
 * The receipts of a job on some dates. Memory: the requested members, the lists of some dates, the index of one month, and
 * some thousand receipts. Throws what the store throws; an index that cannot be written is no error.
 */
export async function readLedger<M extends IndexedMember>(question: LedgerQuestion<M>) {
  const receipts = new DayMap<IndexedPart<M>>();
  const take = (receipt: IndexedPart<M>) => receipts.set(receipt, receipt);
  return { receipts, ...(await scanLedger({ ...question, take })) };
}

/** The same for callers that keep the receipts themselves. It yields to other work in the thread. */
export async function scanLedger<M extends IndexedMember>(scan: LedgerScan<M>): Promise<LedgerReading> {
  const reading: LedgerReading = { damaged: [], fromIndex: 0, fetched: 0 };
  const months = Map.groupBy(scan.dates, (date) => date.slice(0, 7));
  for (const [month, dates] of months) {
    const state: MonthState = { reading, looked: new Set(), fresh: [], rows: [], packed: [] };
    const indexes = await readMonth(scan, month, dates, state);
    if (!scan.writeIndex || !isWorthWriting(indexKey(scan.job, month), indexes, state)) continue;
    await packRows(scan.job, state);
    await writeIndexAnew(scan, month, indexes, { looked: state.looked, fetched: state.packed });
  }
  return reading;
}

interface MonthState {
  readonly reading: LedgerReading;
  /** Dates whose receipts were compared with the index. */
  readonly looked: Set<string>;
  /** Receipts that are in no index and have to be fetched. */
  readonly fresh: (ListedVessel & Pick<VesselDay, 'date'>)[];
  /** Rows of fetched receipts, and encoded indexes of them. */
  readonly rows: IndexRow[];
  readonly packed: Uint8Array[];
}

/** The opened indexes without their rows: writing needs memory for a column of all of them. */
async function readMonth<M extends IndexedMember>(
  scan: LedgerScan<M>,
  month: string,
  dates: readonly string[],
  state: MonthState,
): Promise<KnownIndex[]> {
  let opening: Promise<OpenIndex<M>[]> | undefined;
  const unmatched: (readonly [date: string, listed: readonly ListedVessel[]])[] = [];
  let wanted = 0;
  const turn = createTurns();
  const matchAll = async (indexes: readonly OpenIndex<M>[]) => {
    for (const [date, listed] of unmatched.splice(0)) {
      matchDate(scan, date, listed, indexes, state);
      await turn();
    }
  };
  for (let at = 0; at < dates.length; at += LISTS_AT_ONCE) {
    await forEachAtOnce(dates.slice(at, at + LISTS_AT_ONCE), LISTS_AT_ONCE, async (date) => {
      const listed = await listVessels(scan.store, scan.job, date);
      if (scan.isKnown?.(date, listed) === true) return;
      for (const { vessel } of listed) if (scan.vessels?.has(vessel) !== false) wanted++;
      unmatched.push([date, listed]);
      // As soon as possible: a list is larger than what is kept of its receipts.
      if (wanted < INDEX_WORTH_RECEIPTS) return;
      opening ??= openIndexes(scan, month);
      await matchAll(await opening);
    });
    if (state.fresh.length >= FETCHED_AT_ONCE) await fetchReceipts(scan, state);
  }
  const indexes = (await opening) ?? [];
  await matchAll(indexes);
  await fetchReceipts(scan, state);
  return indexes.map(({ key, bytes, isKnown }) => ({ key, bytes, isKnown }));
}

/** Takes the receipts of a date that an index has, and adds the others to `fresh`. Both are in order. */
function matchDate<M extends IndexedMember>(
  { vessels, take }: LedgerScan<M>,
  date: string,
  listed: readonly ListedVessel[],
  indexes: readonly OpenIndex<M>[],
  { looked, fresh, reading }: MonthState,
): void {
  const cursors = indexes.flatMap(({ index, isKnown }) => {
    if (index === undefined || isKnown === undefined) return [];
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
        take(index.row(at), receipt);
        reading.fromIndex++;
      }
      isFound = true;
    }
    if (!isFound && isWanted) fresh.push({ ...receipt, date });
  }
  looked.add(date);
}

/** Fetch the fresh receipts; returns rows of the index for those that can be read and recognized later. */
async function fetchReceipts<M extends IndexedMember>(
  { store, job, members, take, writeIndex }: LedgerScan<M>,
  state: MonthState,
): Promise<void> {
  const { reading, fresh, rows } = state;
  await forEachAtOnce(fresh.splice(0), GETS_AT_ONCE, async (listed) => {
    const { key, vessel, date } = listed;
    try {
      const object = await store.get(key);
      // It may have been removed since it was listed.
      if (object === undefined) return;
      const row = toIndexRow(parseReceipt(object.bytes, key), listed);
      take(partOf(row, members), listed);
      reading.fetched++;
      if (writeIndex && isIndexable(row)) rows.push(row);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      reading.damaged.push({ day: { job, vessel, date }, error });
    }
  });
  if (rows.length >= FETCHED_AT_ONCE) await packRows(job, state);
}

async function packRows(job: string, { rows, packed }: MonthState): Promise<void> {
  if (rows.length === 0) return;
  const { packIndex } = await loadIndexFile();
  packed.push(await packIndex(job, rows.splice(0)));
}

/** Whether there are enough new receipts, or pieces, to write the index. */
function isWorthWriting(key: string, indexes: readonly KnownIndex[], { rows, packed }: MonthState): boolean {
  const isScattered = indexes.some((one) => one.key !== key);
  return isScattered || packed.length > 0 || rows.length >= INDEX_WORTH_RECEIPTS;
}
