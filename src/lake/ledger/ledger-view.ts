/**
 * What the ledger says of a job's vessel-days, read again and again. Listing is cheap, reading receipts is not: a
 * receipt is read once, and again only when the list says that it is another one. Where many are read at first, the index
 * is asked for what it knows of them.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { Clock, Log, Receipt } from '../../core/model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_MILLI, silentLog, systemClock } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { unlessDamaged } from '../json.ts';
import { type OpenWarnings, WARNING_MEMBERS, Warnings } from '../warnings.ts';
import type { ListedVessel, ReceiptVersion } from './ledger.ts';
import { isSameReceipt, listVessels, readReceipt } from './ledger.ts';
import { readLedger } from './ledger-index.ts';
import { firstReceiptDate } from './newest-days.ts';

/** Shared by all receipts that say the same. */
type Known = Readonly<Pick<Receipt, 'settingsHash' | 'proof'>>;

/** By vessel. */
export type KnownOfDate = ReadonlyMap<string, Known>;

/** What a look at a date is for. */
interface DateLook {
  /** Receipts of other vessels are not read. They may be in the answer. Absent: every vessel's matters. */
  readonly vessels?: ReadonlySet<string>;
  /** True: nobody looks at these receipts again. They are not remembered, so that years of them take no memory. */
  readonly isOnce?: boolean;
}

export interface LedgerView {
  /** Receipts of one date. One that cannot be read is not among them: its vessel-day is open, and says why it fails. */
  ofDate(job: string, date: string, look?: DateLook): Promise<KnownOfDate>;
  /** The same of many dates, by date; those that nobody has looked at are read with the index, a month at a time at best. */
  ofDates(job: string, dates: readonly string[], look?: DateLook): Promise<ReadonlyMap<string, KnownOfDate>>;
  /** What stands open, by the receipts that were read so far. */
  openWarnings(job: string): Promise<OpenWarnings[]>;
  /**
   * Those of the vessels that have no receipt on a date, by its list alone. A date on which all had one is not listed
   * again for a week: nothing but a hand takes a receipt away.
   */
  missing(job: string, date: string, vessels: readonly string[]): Promise<readonly string[]>;
  /** The first date on which the job has a receipt. */
  firstDate(job: string): Promise<string | undefined>;
}

/** Receipts that are remembered, at some 150 bytes each; what was looked at longest ago is forgotten first. */
const MAX_RECEIPTS = 400_000;
const GETS_AT_ONCE = 32;
const LISTS_AT_ONCE = 8;
/** Whatever stands in receipts. */
const MAX_KINDS = 1_000;
const MEMBERS = ['settingsHash', 'proof', ...WARNING_MEMBERS] as const;
const COMPLETE_FOR_MS = (7 * MICROS_PER_DAY) / MICROS_PER_MILLI;

/** What is remembered of a receipt. Flat, since there are hundreds of thousands. */
type Remembered = Known & ReceiptVersion;

function versionOf({ sizeBytes, tag }: ReceiptVersion): ReceiptVersion {
  return { sizeBytes, tag: ownText(tag) };
}

/** The same text with memory of its own: what was cut out of a large one holds all of that. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}

export function createLedgerView(
  store: ObjectStore,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
  log: Log = silentLog,
): LedgerView {
  /** Dates on which none of these vessels was missing, and when that was seen. */
  const complete = new Map<string, { readonly vessels: readonly string[]; readonly untilMs: number }>();
  const looks = new Map<string, ReadonlyMap<string, Remembered>>();
  let remembered = 0;
  const warnings = new Map<string, Warnings>();
  /** Thousands of receipts say the same few things, of the same vessels. */
  const kinds = new Map<string, Known>();
  const names = new Map<string, string>();

  function forget(name: string): void {
    remembered -= looks.get(name)?.size ?? 0;
    looks.delete(name);
  }

  function remember(name: string, look: ReadonlyMap<string, Remembered>): void {
    forget(name);
    looks.set(name, look);
    remembered += look.size;
    while (remembered > MAX_RECEIPTS && looks.size > 1) forget(looks.keys().next().value!);
  }

  /** What is kept of a receipt. */
  function take(receipt: Pick<Receipt, 'job' | 'vessel' | 'date' | (typeof MEMBERS)[number]>): Known {
    const { job, settingsHash, proof } = receipt;
    const ofJob = warnings.get(job) ?? new Warnings();
    warnings.set(job, ofJob);
    ofJob.add(receipt);
    const name = `${proof} ${settingsHash}`;
    const known = kinds.get(name) ?? { settingsHash, proof };
    if (kinds.size < MAX_KINDS) kinds.set(name, known);
    return known;
  }

  /** The one text that this vessel's name is, not a part of the page of a list that it stood in. */
  function nameOf(vessel: string): string {
    const name = names.get(vessel) ?? ownText(vessel);
    names.set(name, name);
    return name;
  }

  async function ofDate(job: string, date: string, { vessels, isOnce = false }: DateLook = {}) {
    const name = `${job}/${date}`;
    const before = looks.get(name);
    const now = new Map<string, Remembered>();
    const unread: ListedVessel[] = [];
    for (const listed of await listVessels(store, job, date)) {
      const seen = before?.get(listed.vessel);
      if (seen !== undefined && isSameReceipt(seen, listed)) now.set(nameOf(listed.vessel), seen);
      else if (vessels?.has(listed.vessel) !== false) unread.push(listed);
    }
    await forEachAtOnce(unread, GETS_AT_ONCE, async (listed) => {
      const receipt = await unlessDamaged(readReceipt(store, { job, vessel: listed.vessel, date }));
      if (receipt !== undefined) now.set(nameOf(listed.vessel), { ...take(receipt), ...versionOf(listed) });
    });
    if (!isOnce) remember(name, now);
    return now;
  }

  /** Dates that nobody has looked at. */
  async function readAll(job: string, dates: readonly string[], { vessels, isOnce = false }: DateLook) {
    const found = new Map(dates.map((date) => [date, new Map<string, Known>()]));
    // Before they are read: one that is replaced in between has another version the next time.
    const listed = new Map<string, Map<string, ReceiptVersion>>();
    if (!isOnce)
      await forEachAtOnce(dates, LISTS_AT_ONCE, async (date) => {
        const versions = new Map<string, ReceiptVersion>();
        for (const one of await listVessels(store, job, date))
          versions.set(nameOf(one.vessel), versionOf(one));
        listed.set(date, versions);
      });
    await readLedger({
      ...{ store, job, dates, members: MEMBERS, log },
      writeIndex: true,
      ...(vessels !== undefined && { vessels }),
      project(receipt) {
        found.get(receipt.date)!.set(nameOf(receipt.vessel), take(receipt));
        // Nothing else of it is needed.
        return undefined;
      },
    });
    for (const [date, versions] of listed) {
      const look = new Map<string, Remembered>();
      for (const [vessel, known] of found.get(date)!) {
        const version = versions.get(vessel);
        if (version !== undefined) look.set(vessel, { ...known, ...version });
      }
      versions.clear();
      remember(`${job}/${date}`, look);
    }
    return found;
  }

  return {
    ofDate,
    async ofDates(job, dates, look = {}) {
      const [seen, unseen] = [new Set(dates.filter((date) => looks.has(`${job}/${date}`))), new Set(dates)];
      for (const date of seen) unseen.delete(date);
      const found = new Map<string, KnownOfDate>();
      for (const [date, known] of await readAll(job, [...unseen], look)) found.set(date, known);
      await forEachAtOnce(seen, LISTS_AT_ONCE, async (date) => {
        found.set(date, await ofDate(job, date, look));
      });
      return found;
    },
    openWarnings: async (job) => (await warnings.get(job)?.open(store)) ?? [],
    async missing(job, date, vessels) {
      const name = `${job}/${date}`;
      const seen = complete.get(name);
      if (seen !== undefined && clock.monotonicMs() < seen.untilMs && isSameList(seen.vessels, vessels))
        return [];
      complete.delete(name);
      const published = new Set<string>();
      for (const { vessel } of await listVessels(store, job, date)) published.add(vessel);
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
