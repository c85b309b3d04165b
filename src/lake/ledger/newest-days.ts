/** The published days of each vessel of a job, and the newest of them. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { DataError } from '../../core/errors.ts';
import type { Clock, Dataset, Job, Receipt, VesselDay } from '../../core/model/index.ts';
import { addDays, datesBetween } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { orDamage, unlessDamaged } from '../json.ts';
import { objectPrefix, parseDayFileKey } from '../keys.ts';
import { listReceipts, readReceipt } from './ledger.ts';

const LISTS_AT_ONCE = 8;

/** Which receipts to list: of one vessel, before a date, or of some dates, each with a list of its own. */
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

/** The vessels with receipts in the last days, with the dates of these, the newest first. */
export async function knownVessels(
  store: Pick<ObjectStore, 'list'>,
  { name, dataset }: Job,
  ends: readonly string[],
): Promise<Map<string, string[]>> {
  const dates = new Set(ends.flatMap((end) => datesBetween(addDays(end, -knownDays(dataset)), end)));
  return await receiptDates(store, name, { dates });
}

/** The newest date whose receipt has the vessel as listed: otherwise a vessel that is exported unlisted would never count as having left. */
export async function lastListedDate(
  store: Pick<ObjectStore, 'get'>,
  job: string,
  vessel: string,
  dates: readonly string[],
): Promise<string | undefined> {
  for (const date of dates) {
    // An unreadable receipt counts as listed.
    const receipt = await orDamage(readReceipt(store, { job, vessel, date }));
    if (receipt instanceof DataError || (receipt !== undefined && receipt.unlisted !== true)) return date;
  }
  return undefined;
}

export async function newestReadable(
  store: Pick<ObjectStore, 'get'>,
  job: string,
  vessel: string,
  dates: readonly string[],
): Promise<Receipt | undefined> {
  for (const date of dates) {
    const receipt = await unlessDamaged(readReceipt(store, { job, vessel, date }));
    if (receipt !== undefined) return receipt;
  }
  return undefined;
}

export type LastPublished = ReturnType<typeof createLastPublished>;

/**
 * Other processes publish too, and a day must be compared with the newest one. So a read is shared only by vessel-days that are
 * exported within some seconds.
 */
const LOOK_MS = 10_000;

export function createLastPublished(store: ObjectStore, clock: Clock) {
  /** The newest published day by job and vessel, and when it was read. */
  const looks = new Map<string, { readonly atMs: number; readonly newest: Promise<Receipt | undefined> }>();
  const nameOf = ({ job, vessel }: Pick<VesselDay, 'job' | 'vessel'>) => `${job}/${vessel}`;
  const read = (day: VesselDay) => unlessDamaged(readReceipt(store, day));

  /** Found by its objects, whose keys begin with the vessel, while those of receipts begin with the date. A day that was always empty has none. Unreadable receipts are skipped. */
  async function findNewest({ job, vessel }: VesselDay): Promise<Receipt | undefined> {
    const dates = new Set<string>();
    for await (const { key } of store.list(objectPrefix(job, vessel))) {
      const day = parseDayFileKey(key);
      if (day !== undefined) dates.add(day.date);
    }
    return newestReadable(store, job, vessel, [...dates].sort().reverse());
  }

  function keep(name: string, atMs: number, newest: Promise<Receipt | undefined>) {
    looks.set(name, { atMs, newest });
    newest.catch(() => looks.delete(name));
    return newest;
  }

  function newestOf(day: VesselDay): Promise<Receipt | undefined> {
    const nowMs = clock.monotonicMs();
    const look = looks.get(nameOf(day));
    if (look !== undefined && nowMs - look.atMs < LOOK_MS) return look.newest;
    return keep(nameOf(day), nowMs, findNewest(day));
  }

  return {
    /**
     * The first of these that `isComparable` accepts, else the first that there is: the day's own receipt, that of the day
     * before, that of the vessel's newest day. Costs one request, mostly; where the day before has none a list of the
     * vessel's objects and a receipt, which are remembered for some seconds. A damaged receipt counts as none.
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
      const look = looks.get(nameOf(receipt));
      const later = (found: Receipt | undefined) => (found && found.date > receipt.date ? found : receipt);
      if (look !== undefined) keep(nameOf(receipt), look.atMs, look.newest.then(later));
    },
  };
}
