/** Reading the receipts of a month, with what the index knows of them (`ledger-index.ts`). */
import { createTurns, forEachAtOnce } from '../../core/concurrency.ts';
import { DataError } from '../../core/errors.ts';
import type { Log, VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { indexKey, receiptKey } from '../keys.ts';
import type { FolderLook, IndexedSeal, Seal } from './folder-seals.ts';
import { isSameFolder, lookAtFolder, MAX_OTHERS } from './folder-seals.ts';
import { packIndex } from './index-file.ts';
import type { KnownIndex, OpenIndex } from './index-files.ts';
import { openIndexes, withoutRows, writeIndexAnew } from './index-files.ts';
import type { IndexedMember, IndexedPart, IndexRow } from './indexed-receipt.ts';
import { toIndexRow } from './indexed-receipt.ts';
import type { ListedVessel } from './ledger.ts';
import { listVessels, parseReceipt } from './ledger.ts';

/** Fewer receipts are fetched sooner than an index is read or written. */
export const INDEX_WORTH_RECEIPTS = 64;
const LISTS_AT_ONCE = 8;
const GETS_AT_ONCE = 32;
/** So many are fetched before more are listed, and kept as rows before they are packed: a kilobyte each. */
const FETCHED_AT_ONCE = 8_192;

/** What is asked, but for what becomes of each receipt. */
export interface LedgerQuestion<M extends IndexedMember> {
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

export interface LedgerScan<M extends IndexedMember> extends LedgerQuestion<M> {
  /** Given each receipt once, those of a date in no order. */
  readonly take: (receipt: IndexedPart<M>) => void;
  /** For those who only show receipts: what is sealed is not listed (`folder-seals.ts`). */
  readonly shown?: ShownDates;
}

/** What somebody who shows receipts has of them from an earlier reading. */
export interface ShownDates {
  nowMs(): number;
  /** Has it the receipts of this date since a look at which its folder was the same? */
  isSame(date: string, look: FolderLook): boolean;
  /** Has it the receipts of this date as they are listed? Where not, it forgets the date. `look`: before it was listed. */
  isListed(date: string, listed: readonly ListedVessel[], look: FolderLook | undefined): boolean;
  /** It is to forget the date, and is given what was seen at an earlier look. */
  begin(date: string, look: FolderLook): void;
}

/** How the receipts were read. */
export interface LedgerReading {
  /** Receipts that cannot be read. */
  readonly damaged: readonly { readonly day: VesselDay; readonly error: DataError }[];
  /** How many receipts came out of the index, and how many were fetched. */
  readonly fromIndex: number;
  readonly fetched: number;
}

export interface GrowingReading {
  readonly damaged: { day: VesselDay; error: DataError }[];
  fromIndex: number;
  fetched: number;
}

/** What is found out about a month while it is read. */
interface MonthState {
  readonly reading: GrowingReading;
  readonly looked: Map<string, LookedDate>;
  /** Receipts that no index knows, and that are to be fetched. */
  fresh: ListedDay[];
  /** The rows of those that were fetched, and indexes of them. */
  rows: IndexRow[];
  readonly packed: Uint8Array[];
}

/** A date whose receipts are known, as far as the index is concerned. */
interface LookedDate {
  /** Undefined: it cannot be sealed. */
  readonly look: FolderLook | undefined;
  /** Is its seal that of the index? */
  readonly isSealed: boolean;
  readonly receipts: number;
  /** Vessels of receipts that get no row. */
  readonly others: string[];
}

type ListedDay = ListedVessel & Pick<VesselDay, 'date'>;

/** What the store lists of a date. */
interface ListedDate {
  readonly date: string;
  readonly look: FolderLook | undefined;
  readonly listed: readonly ListedVessel[];
}

export async function readMonth<M extends IndexedMember>(
  scan: LedgerScan<M>,
  month: string,
  dates: readonly string[],
  reading: GrowingReading,
): Promise<void> {
  const state: MonthState = { reading, looked: new Map(), fresh: [], rows: [], packed: [] };
  const indexes = await readDates(scan, month, dates, state);
  if (!scan.writeIndex) return;
  const seals = new Map([...state.looked].map(([date, one]) => [date, sealOf(one)]));
  if (isWorthWriting(indexKey(scan.job, month), indexes, state, seals))
    await writeMonth(scan, month, indexes, state, seals);
}

/** What was opened for it, without its rows: who writes has a column of all of them in memory. */
async function readDates<M extends IndexedMember>(
  scan: LedgerScan<M>,
  month: string,
  dates: readonly string[],
  state: MonthState,
): Promise<KnownIndex[]> {
  let opening: Promise<OpenIndex<M>[]> | undefined;
  const open = () => (opening ??= openIndexes(scan, month));
  let unmatched: ListedDate[] = [];
  let wanted = 0;
  const turn = createTurns();
  const matchAll = async (indexes: readonly OpenIndex<M>[]) => {
    const all = unmatched;
    unmatched = [];
    for (const one of all) {
      matchDate(scan, one, indexes, state);
      await turn();
    }
  };
  for (let at = 0; at < dates.length; at += LISTS_AT_ONCE) {
    await forEachAtOnce(dates.slice(at, at + LISTS_AT_ONCE), LISTS_AT_ONCE, async (date) => {
      const listed = await findDate(scan, date, open, state);
      if (listed === undefined) return;
      for (const { vessel } of listed.listed) if (scan.vessels?.has(vessel) !== false) wanted++;
      unmatched.push(listed);
      // As soon as may be: a list is larger than what is kept of its receipts.
      if (wanted >= INDEX_WORTH_RECEIPTS) await matchAll(await open());
    });
    if (state.fresh.length >= FETCHED_AT_ONCE) await fetchReceipts(scan, state);
  }
  const indexes = (await opening) ?? [];
  await matchAll(indexes);
  await fetchReceipts(scan, state);
  return indexes.map(withoutRows);
}

/** A date as it is listed; undefined where it need not be: the caller has its receipts, or is given them as sealed. */
async function findDate<M extends IndexedMember>(
  scan: LedgerScan<M>,
  date: string,
  open: () => Promise<readonly OpenIndex<M>[]>,
  state: MonthState,
): Promise<ListedDate | undefined> {
  const { store, job, shown } = scan;
  const look = shown && (await lookAtFolder(store, job, date, shown.nowMs()));
  if (look !== undefined) {
    if (shown!.isSame(date, look)) return undefined;
    const main = (await open()).find(({ index }) => index?.seals.has(date) === true);
    const seal = main?.index?.seals.get(date);
    if (isSameFolder(seal, look)) {
      takeSealed(scan, date, main!, seal, state);
      return undefined;
    }
  }
  const listed = await listVessels(store, job, date);
  return shown?.isListed(date, listed, look) === true ? undefined : { date, look, listed };
}

/** All receipts of a date as an index has them; those that have no row there are to be fetched. */
function takeSealed<M extends IndexedMember>(
  { job, vessels, shown, take }: LedgerScan<M>,
  date: string,
  { index, isKnown }: OpenIndex<M>,
  seal: IndexedSeal,
  { looked, fresh, reading }: MonthState,
): void {
  shown!.begin(date, seal);
  const [from, to] = index!.rangeOf(date);
  isKnown.fill(1, from, to);
  for (let at = from; at < to; at++) {
    if (vessels?.has(index!.vessel(at)) === false) continue;
    take(index!.row(at));
    reading.fromIndex++;
  }
  looked.set(date, { look: seal, isSealed: true, receipts: seal.rows, others: [...seal.others] });
  // Nobody has listed them: so they get no row, and are fetched by the next reader too.
  for (const vessel of seal.others)
    if (vessels?.has(vessel) !== false)
      fresh.push({ key: receiptKey({ job, vessel, date }), vessel, date, sizeBytes: 0, tag: '' });
}

/** Receipts of a date that an index knows are taken, the others put among the `fresh`. Both are in order. */
function matchDate<M extends IndexedMember>(
  { vessels, take }: LedgerScan<M>,
  { date, look, listed }: ListedDate,
  indexes: readonly OpenIndex<M>[],
  { looked, fresh, reading }: MonthState,
): void {
  const cursors = indexes.flatMap(({ index, isKnown }) => {
    if (index === undefined) return [];
    const [at, to] = index.rangeOf(date);
    return at === to ? [] : [{ index, isKnown, at, to }];
  });
  let isWholeDate = true;
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
    if (isFound) continue;
    if (isWanted) fresh.push({ ...receipt, date });
    else isWholeDate = false;
  }
  const seen = isWholeDate ? look : undefined;
  looked.set(date, { look: seen, isSealed: false, receipts: listed.length, others: [] });
}

/** Fetch the fresh receipts; as rows of the index, as far as they can be read and known again. */
async function fetchReceipts<M extends IndexedMember>(
  { store, job, take, writeIndex }: LedgerScan<M>,
  state: MonthState,
): Promise<void> {
  const { reading, looked } = state;
  const entries = state.fresh;
  state.fresh = [];
  await forEachAtOnce(entries, GETS_AT_ONCE, async (listed) => {
    const { key, vessel, date } = listed;
    const day = { job, vessel, date };
    let row: IndexRow | undefined;
    try {
      const object = await store.get(key);
      // It may have been removed since it was listed.
      row = object && toIndexRow(parseReceipt(object.bytes, key), listed);
      if (row !== undefined) take({ ...row, ...day });
      if (row !== undefined) reading.fetched++;
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      reading.damaged.push({ day, error });
    }
    if (!writeIndex) return;
    // Without a tag nobody could tell later whether it was replaced.
    if (row !== undefined && listed.tag !== '') state.rows.push(row);
    else if (!looked.get(date)!.isSealed) looked.get(date)!.others.push(vessel);
  });
  if (state.rows.length >= FETCHED_AT_ONCE) await packRows(job, state);
}

async function packRows(job: string, state: MonthState): Promise<void> {
  const { rows } = state;
  state.rows = [];
  state.packed.push(await packIndex(job, rows));
}

/** Is there enough that is new to the index, or are there other files than it? */
function isWorthWriting(
  key: string,
  indexes: readonly KnownIndex[],
  { rows, packed, looked }: MonthState,
  seals: Seals,
): boolean {
  const unsealed = [...looked].reduce(
    (sum, [date, one]) => sum + (!one.isSealed && seals.get(date) ? one.receipts : 0),
    0,
  );
  const isScattered = indexes.some(({ file }) => file.key !== key);
  const areNew = packed.length > 0 || rows.length >= INDEX_WORTH_RECEIPTS || unsealed >= INDEX_WORTH_RECEIPTS;
  return isScattered || areNew;
}

/** By date that was looked at; undefined where it cannot be sealed. */
type Seals = ReadonlyMap<string, Seal | undefined>;

function sealOf({ look, others }: LookedDate): Seal | undefined {
  if (look === undefined || others.length > MAX_OTHERS) return undefined;
  return { state: look.state, lookedAtMs: look.lookedAtMs, others };
}

async function writeMonth<M extends IndexedMember>(
  scan: LedgerScan<M>,
  month: string,
  indexes: readonly KnownIndex[],
  state: MonthState,
  seals: Seals,
): Promise<void> {
  if (state.rows.length > 0) await packRows(scan.job, state);
  await writeIndexAnew(scan, month, indexes, { looked: seals, read: state.packed });
}
