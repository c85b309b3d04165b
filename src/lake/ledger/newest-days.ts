/** Which days each vessel of a job has published, and which of them is the newest: by the keys of the receipts. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { Dataset, Job } from '../../core/model/index.ts';
import { addDays, datesBetween } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { orDamaged } from '../json.ts';
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

/** Vessels that have a receipt of the job on any of these dates. */
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
  if (dataset !== 'metadata') return await receiptDates(store, name, { dates });
  // Snapshots are few: one list of all of them costs less than one a date.
  const known = new Map<string, string[]>();
  for (const [vessel, all] of await receiptDates(store, name)) {
    const ofVessel = all.filter((date) => dates.has(date));
    if (ofVessel.length > 0) known.set(vessel, ofVessel);
  }
  return known;
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
