/**
 * What the ledger says of a job's vessel-days, read again and again. Listing is cheap, reading receipts is not: a
 * receipt is read once, and again only when the list says that it is another one.
 */
import { forEachAtOnce } from '../concurrency.ts';
import type { Clock, Receipt } from '../model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_MILLI, systemClock } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { ListedReceipt, ReceiptVersion } from './ledger.ts';
import { firstReceiptDate, isSameReceipt, listReceipts, readReceipt } from './ledger.ts';
import type { OpenRemark, Remarks } from './remarks.ts';
import { createRemarks } from './remarks.ts';

type Known = Pick<Receipt, 'settingsHash' | 'proof' | 'epoch'>;

/** What a look at a date is for. */
interface DateLook {
  /** Receipts of other vessels are not read. They may be in the answer. Absent: every vessel's matters. */
  readonly vessels?: ReadonlySet<string>;
  /** True: nobody looks at these receipts again. They are not remembered, so that years of them take no memory. */
  readonly isOnce?: boolean;
}

export interface LedgerView {
  /** Receipts of one date, by receipt key. */
  ofDate(job: string, date: string, look?: DateLook): Promise<ReadonlyMap<string, Known>>;
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

/** Receipts that are remembered, at some 200 bytes each; what was looked at longest ago is forgotten first. */
const MOST_RECEIPTS = 400_000;
const GETS_AT_ONCE = 32;
/** Whatever stands in receipts. */
const MOST_HASHES = 1_000;
const COMPLETE_FOR_MS = (7 * MICROS_PER_DAY) / MICROS_PER_MILLI;

export function createLedgerView(
  store: ObjectStore,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): LedgerView {
  /** Dates on which none of these vessels was missing, and when that was seen. */
  const complete = new Map<string, { readonly vessels: readonly string[]; readonly untilMs: number }>();
  const looks = new Map<string, Map<string, Known & ReceiptVersion>>();
  let remembered = 0;
  const remarks = new Map<string, Remarks>();
  /** Thousands of receipts have the same few settings. */
  const hashes = new Map<string, string>();

  function forget(name: string): void {
    remembered -= looks.get(name)?.size ?? 0;
    looks.delete(name);
  }

  function remember(name: string, look: Map<string, Known & ReceiptVersion>): void {
    forget(name);
    looks.set(name, look);
    remembered += look.size;
    while (remembered > MOST_RECEIPTS && looks.size > 1) forget(looks.keys().next().value!);
  }

  async function readKnown({ day, sizeBytes, tag }: ListedReceipt) {
    const receipt = await readReceipt(store, day);
    if (receipt === undefined) return undefined;
    const { settingsHash, proof, epoch } = receipt;
    const ofJob = remarks.get(day.job) ?? createRemarks();
    remarks.set(day.job, ofJob);
    ofJob.add(receipt);
    const hash = hashes.get(settingsHash) ?? settingsHash;
    if (hashes.size < MOST_HASHES) hashes.set(hash, hash);
    return { settingsHash: hash, proof, epoch, sizeBytes, tag };
  }

  return {
    async ofDate(job, date, { vessels, isOnce = false } = {}) {
      const name = `${job}/${date}`;
      const before = looks.get(name);
      const now = new Map<string, Known & ReceiptVersion>();
      const unread: ListedReceipt[] = [];
      for await (const listed of listReceipts(store, job, date)) {
        const known = before?.get(listed.key);
        if (known !== undefined && isSameReceipt(known, listed)) now.set(listed.key, known);
        else if (vessels?.has(listed.day.vessel) !== false) unread.push(listed);
      }
      await forEachAtOnce(unread, GETS_AT_ONCE, async (listed) => {
        const known = await readKnown(listed);
        if (known !== undefined) now.set(listed.key, known);
      });
      if (!isOnce) remember(name, now);
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
    firstDate: (job) => firstReceiptDate(store, job),
  };
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}
