/**
 * What the ledger says of a job's vessel-days, read again and again. Listing is cheap, reading receipts is not: a
 * receipt is read once, and again only when the list says that it is another one.
 */
import { forEachAtOnce } from '../concurrency.ts';
import type { Clock, Receipt } from '../model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_MILLI, systemClock } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { ListedReceipt, ReceiptVersion } from './ledger.ts';
import { isSameReceipt, listReceipts, readReceipt } from './ledger.ts';
import type { OpenRemark, Remarks } from './remarks.ts';
import { createRemarks } from './remarks.ts';

type Known = Pick<Receipt, 'settingsHash' | 'proof' | 'epoch'>;

export interface LedgerView {
  /** Receipts of one date, by receipt key. */
  ofDate(job: string, date: string): Promise<ReadonlyMap<string, Known>>;
  /** What stands open, by the receipts that were read so far. */
  openRemarks(job: string): Promise<OpenRemark[]>;
  /**
   * Those of the vessels that have no receipt on a date, by its list alone. A date on which all had one is not listed
   * again for a week: nothing but a hand takes a receipt away.
   */
  missing(job: string, date: string, vessels: readonly string[]): Promise<readonly string[]>;
  /** The first date on which the job has a receipt. */
  firstDate(job: string): Promise<string | undefined>;
}

/** Dates that are remembered; older looks are forgotten. */
const MOST_DATES = 100;
const GETS_AT_ONCE = 32;
const COMPLETE_FOR_MS = (7 * MICROS_PER_DAY) / MICROS_PER_MILLI;

export function createLedgerView(
  store: ObjectStore,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): LedgerView {
  /** Dates on which none of these vessels was missing, and when that was seen. */
  const complete = new Map<string, { readonly vessels: readonly string[]; readonly untilMs: number }>();
  const looks = new Map<string, Map<string, Known & ReceiptVersion>>();
  const remarks = new Map<string, Remarks>();
  return {
    async ofDate(job, date) {
      const name = `${job}/${date}`;
      const before = looks.get(name);
      const now = new Map<string, Known & ReceiptVersion>();
      const unread: ListedReceipt[] = [];
      for await (const listed of listReceipts(store, job, date)) {
        const known = before?.get(listed.key);
        if (known !== undefined && isSameReceipt(known, listed)) now.set(listed.key, known);
        else unread.push(listed);
      }
      await forEachAtOnce(unread, GETS_AT_ONCE, async ({ key, day, sizeBytes, tag }) => {
        const receipt = await readReceipt(store, day);
        if (receipt === undefined) return;
        const { settingsHash, proof, epoch } = receipt;
        const ofJob = remarks.get(job) ?? createRemarks();
        remarks.set(job, ofJob);
        ofJob.add(receipt);
        now.set(key, { settingsHash, proof, epoch, sizeBytes, tag });
      });
      looks.delete(name);
      looks.set(name, now);
      if (looks.size > MOST_DATES) looks.delete(looks.keys().next().value!);
      return now;
    },
    openRemarks: async (job) => (await remarks.get(job)?.open(store)) ?? [],
    async missing(job, date, vessels) {
      const name = `${job}/${date}`;
      const seen = complete.get(name);
      if (seen !== undefined && clock.monotonicMs() < seen.untilMs && isSameList(seen.vessels, vessels))
        return [];
      complete.delete(name);
      const published = new Set<string>();
      for await (const { day } of listReceipts(store, job, date)) published.add(day.vessel);
      if (published.size === 0) return vessels;
      const missing = vessels.filter((vessel) => !published.has(vessel));
      if (missing.length === 0)
        complete.set(name, { vessels, untilMs: clock.monotonicMs() + COMPLETE_FOR_MS });
      return missing;
    },
    async firstDate(job) {
      for await (const { day } of listReceipts(store, job)) return day.date;
      return undefined;
    },
  };
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}
