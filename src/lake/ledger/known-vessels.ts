/**
 * The vessels that the ledger knows from last time: those of a job with a receipt of the last days. Lists keys, one
 * prefix a date, and reads receipts of those vessels only that discovery left out.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { Dataset, Job } from '../../core/model/index.ts';
import { addDays, datesBetween } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { orDamaged } from '../json.ts';
import { listReceipts, readReceipt } from './ledger.ts';

const LISTS_AT_ONCE = 8;

/** Days before one of the ends (UTC dates, exclusive) that count: more of snapshots, which are written only when something has changed. */
export function knownDays(dataset: Dataset): number {
  return dataset === 'metadata' ? 30 : 14;
}

/** Those of the dates on which each vessel has a receipt, the newest first. */
export async function knownVessels(
  store: ObjectStore,
  { name, dataset }: Job,
  ends: readonly string[],
): Promise<Map<string, string[]>> {
  const dates = new Set(ends.flatMap((end) => datesBetween(addDays(end, -knownDays(dataset)), end)));
  // Snapshots are few: one list of all of them costs less than one a date.
  const prefixes = dataset === 'metadata' ? [undefined] : [...dates];
  const known = new Map<string, string[]>();
  await forEachAtOnce(prefixes, LISTS_AT_ONCE, async (prefix) => {
    for await (const { day } of listReceipts(store, name, prefix)) {
      if (!dates.has(day.date)) continue;
      const ofVessel = known.get(day.vessel) ?? [];
      known.set(day.vessel, ofVessel);
      ofVessel.push(day.date);
    }
  });
  for (const ofVessel of known.values()) ofVessel.sort().reverse();
  return known;
}

/**
 * The newest of the dates whose receipt says that the vessel was listed then. Else a vessel that was exported although
 * it was not would be known for ever.
 */
export async function lastListedDate(
  store: ObjectStore,
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
