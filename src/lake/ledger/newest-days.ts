/** Which days each vessel of a job has published, and which of them is the newest. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { Clock, Dataset, Job, Receipt, VesselDay } from '../../core/model/index.ts';
import { addDays, datesBetween } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { orDamaged, unlessDamaged } from '../json.ts';
import { objectPrefix, parseDayFileKey } from '../keys.ts';
import { listReceipts, readReceipt } from './ledger.ts';

const LISTS_AT_ONCE = 8;

/** Which receipts: those of one vessel, before a date, or of some dates, of which each is a list of its own. */
interface DatesQuestion {
  readonly vessel?: string;
  readonly before?: string;
  readonly dates?: Iterable<string>;
}

/** The dates on which each vessel has a receipt of the job, the newest first. */
export async function receiptDates(
  store: Pick<ObjectStore, 'list'>,
  job: string,
  { vessel, before, dates }: DatesQuestion = {},
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  await forEachAtOnce(dates === undefined ? [undefined] : [...dates], LISTS_AT_ONCE, async (date) => {
    for await (const { day } of listReceipts(store, job, date)) {
      if ((vessel ?? day.vessel) !== day.vessel || (before !== undefined && day.date >= before)) continue;
      const ofVessel = found.get(day.vessel) ?? [];
      found.set(day.vessel, ofVessel);
      ofVessel.push(day.date);
    }
  });
  for (const ofVessel of found.values()) ofVessel.sort().reverse();
  return found;
}

export async function vesselsOnDates(
  store: Pick<ObjectStore, 'list'>,
  job: string,
  dates: readonly string[],
): Promise<string[]> {
  return [...(await receiptDates(store, job, { dates })).keys()].sort();
}

/** The newest date before `before` on which each vessel has a receipt of the job. */
export async function lastReceiptDates(
  store: Pick<ObjectStore, 'list'>,
  job: string,
  before: string,
): Promise<Map<string, string>> {
  const last = new Map<string, string>();
  for await (const { day } of listReceipts(store, job))
    if (day.date < before && day.date > (last.get(day.vessel) ?? '')) last.set(day.vessel, day.date);
  return last;
}

/** The first date on which the job has a receipt. */
export async function firstReceiptDate(
  store: Pick<ObjectStore, 'list'>,
  job: string,
): Promise<string | undefined> {
  for await (const { day } of listReceipts(store, job)) return day.date;
  return undefined;
}

/** Days before one of the ends (UTC dates, exclusive) that count: more of snapshots, which are written only when something has changed. */
export function knownDays(dataset: Dataset): number {
  return dataset === 'metadata' ? 30 : 14;
}

/** The vessels that the ledger knows from last time, with the dates of the last days on which each has a receipt, the newest first. */
export async function knownVessels(
  store: Pick<ObjectStore, 'list'>,
  { name, dataset }: Job,
  ends: readonly string[],
): Promise<Map<string, string[]>> {
  const dates = new Set(ends.flatMap((end) => datesBetween(addDays(end, -knownDays(dataset)), end)));
  return await receiptDates(store, name, { dates });
}

/**
 * The newest of the dates whose receipt says that the vessel was listed then. Else a vessel that was exported although
 * it was not would be known for ever.
 */
export async function lastListedDate(
  store: Pick<ObjectStore, 'get'>,
  job: string,
  vessel: string,
  dates: readonly string[],
): Promise<string | undefined> {
  for (const date of dates) {
    // A receipt that cannot be read says nothing against it.
    const receipt = await orDamaged(readReceipt(store, { job, vessel, date }));
    if (receipt === 'damaged' || (receipt !== undefined && receipt.unlisted !== true)) return date;
  }
  return undefined;
}

/** What a process knows of the newest published day of each vessel. */
export type LastPublished = ReturnType<typeof createLastPublished>;

/**
 * Others publish too. For days before the newest that is known that does no harm, since none of them follows from it: what
 * is known is kept for long. A later day could follow a smaller count than the one published in between: then it is looked
 * again. Only vessel-days that are at work at the same time, as many as there are in some seconds, share a look.
 */
const KNOWN_MS = 6 * 3_600_000;
const LOOK_MS = 10_000;

interface Known {
  readonly atMs: number;
  readonly receipt: Receipt | undefined;
}

export function createLastPublished(store: ObjectStore, clock: Clock) {
  /** By job and vessel: the last look, and the newest day that this process has published. */
  const looks = new Map<string, { readonly atMs: number; readonly found: Promise<Known> }>();
  const published = new Map<string, Known>();
  const read = (day: VesselDay) => unlessDamaged(readReceipt(store, day));
  const isWithin = (known: { readonly atMs: number } | undefined, ms: number) =>
    known !== undefined && clock.monotonicMs() - known.atMs < ms;

  /**
   * By its objects: they lie by vessel, and receipts by date. A day that was always empty has none. A receipt that cannot be
   * read hides none that can.
   */
  async function look({ job, vessel }: VesselDay, atMs: number): Promise<Known> {
    const dates = new Set<string>();
    for await (const { key } of store.list(objectPrefix(job, vessel))) {
      const day = parseDayFileKey(key);
      if (day !== undefined) dates.add(day.date);
    }
    for (const date of [...dates].sort().reverse()) {
      const receipt = await read({ job, vessel, date });
      if (receipt !== undefined) return { atMs, receipt };
    }
    return { atMs, receipt: undefined };
  }

  async function knownOf(vessel: string): Promise<Receipt | undefined> {
    const [seen, own] = [await looks.get(vessel)?.found, published.get(vessel)];
    const [one, other] = [seen, own].map((known) => (isWithin(known, KNOWN_MS) ? known : undefined));
    return newerOf(one, other)?.receipt;
  }

  async function newestOf(day: VesselDay): Promise<Receipt | undefined> {
    const vessel = `${day.job}/${day.vessel}`;
    const known = await knownOf(vessel);
    if (known !== undefined && known.date > day.date) return known;
    if (!isWithin(looks.get(vessel), LOOK_MS)) {
      const atMs = clock.monotonicMs();
      const found = look(day, atMs);
      looks.set(vessel, { atMs, found });
      found.catch(() => looks.delete(vessel));
    }
    return knownOf(vessel);
  }

  return {
    /**
     * The first of these that `isComparable` accepts, else the first that there is: the day's own receipt, that of the day
     * before, that of the vessel's newest day. Costs one request, mostly; where the day before has none a list of the
     * vessel's objects and a receipt, which are remembered. A damaged receipt counts as none.
     */
    async of(
      day: VesselDay,
      own: Receipt | undefined,
      isComparable: (receipt: Receipt) => boolean,
    ): Promise<Receipt | undefined> {
      if (own !== undefined && isComparable(own)) return own;
      const before = await read({ ...day, date: addDays(day.date, -1) });
      if (before !== undefined && isComparable(before)) return before;
      const last = await newestOf(day);
      return last !== undefined && isComparable(last) ? last : (own ?? before ?? last);
    },
    onPublished(receipt: Receipt): void {
      const vessel = `${receipt.job}/${receipt.vessel}`;
      const before = published.get(vessel);
      const now = { atMs: clock.monotonicMs(), receipt };
      published.set(vessel, newerOf(isWithin(before, KNOWN_MS) ? before : undefined, now)!);
    },
  };
}

/** By date; of the same day what became known last. */
function newerOf(a: Known | undefined, b: Known | undefined): Known | undefined {
  const [first, second] = [a?.receipt?.date ?? '', b?.receipt?.date ?? ''];
  if (first === second) return (a?.atMs ?? 0) > (b?.atMs ?? 0) ? a : b;
  return first > second ? a : b;
}
