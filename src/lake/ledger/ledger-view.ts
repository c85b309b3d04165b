/**
 * A cached view of the ledger, for processes that read it again and again. Listing is cheap, reading receipts is not: a
 * receipt is read once, and again only if the list shows that it was replaced. If many are read the first time, they come
 * from the index where possible.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { Clock, Log, Receipt } from '../../core/model/index.ts';
import { silentLog, systemClock, toMoment } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { unlessDamaged } from '../json.ts';
import { type OpenWarnings, WARNING_MEMBERS, Warnings } from '../warnings.ts';
import type { IndexedPart } from './indexed-receipt.ts';
import { isSameReceipt, type ListedVessel, listVessels, type ReceiptVersion, readReceipt } from './ledger.ts';
import { scanLedger } from './ledger-index.ts';
import { firstReceiptDate } from './newest-days.ts';

/** Shared by all receipts with the same values. */
type Known = Readonly<Pick<Receipt, 'settingsHash' | 'proof'>>;

export type KnownOfDate = ReadonlyMap<string, Known>;

interface DateLook {
  /** Receipts of other vessels are not read, but may be in the result. Absent: all vessels. */
  readonly vessels?: ReadonlySet<string>;
  /** True: these receipts are not read again, so they are not cached: years of them would fill the memory. */
  readonly isOnce?: boolean;
}

export type LedgerView = ReturnType<typeof createLedgerView>;

/** Maximum of cached receipts, at some 150 bytes each; the least recently used are dropped first. */
const MAX_RECEIPTS = 400_000;
const GETS_AT_ONCE = 32;
const LISTS_AT_ONCE = 8;
/** Maximum of texts that are shared between receipts. */
const MAX_TEXTS = 100_000;
const MEMBERS = ['settingsHash', 'proof', ...WARNING_MEMBERS] as const;
const COMPLETE_FOR_MS = 7 * 86_400_000;

/** What is cached of a receipt. Flat, because there are hundreds of thousands. */
type Remembered = Known & ReceiptVersion;

/** A copy of the text: a slice of a page of a list would keep the whole page in memory. */
const ownText = (text: string) => Buffer.from(text).toString();

export function createLedgerView(
  store: ObjectStore,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
  log: Log = silentLog,
) {
  /** Dates on which none of these vessels was missing, and when that was read. */
  const complete = new Map<string, { readonly vessels: readonly string[]; readonly untilMs: number }>();
  const looks = new Map<string, ReadonlyMap<string, Remembered>>();
  let remembered = 0;
  const warnings = new Map<string, Warnings>();
  /** Thousands of receipts say the same few things, of the same vessels. */
  const texts = new Map<string, string>();

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

  function oneText<T extends string>(text: T): T {
    const one = (texts.get(text) ?? ownText(text)) as T;
    if (texts.size < MAX_TEXTS) texts.set(one, one);
    return one;
  }

  function toKnown(receipt: IndexedPart<(typeof MEMBERS)[number]>, listed: ReceiptVersion): Remembered {
    const { job, settingsHash, proof } = receipt;
    const ofJob = warnings.get(job) ?? new Warnings();
    warnings.set(job, ofJob);
    ofJob.add(receipt);
    const { sizeBytes, tag } = listed;
    return { settingsHash: oneText(settingsHash), proof: oneText(proof), sizeBytes, tag: ownText(tag) };
  }

  /** Receipts of one date, without unreadable ones: their vessel-days are open, and their export reports why. */
  async function ofDate(
    job: string,
    date: string,
    { vessels, isOnce = false }: DateLook = {},
  ): Promise<KnownOfDate> {
    const name = `${job}/${date}`;
    const before = looks.get(name);
    const now = new Map<string, Remembered>();
    const unread: ListedVessel[] = [];
    for (const listed of await listVessels(store, job, date)) {
      const seen = before?.get(listed.vessel);
      if (seen !== undefined && isSameReceipt(seen, listed)) now.set(oneText(listed.vessel), seen);
      else if (vessels?.has(listed.vessel) !== false) unread.push(listed);
    }
    await forEachAtOnce(unread, GETS_AT_ONCE, async (listed) => {
      const receipt = await unlessDamaged(readReceipt(store, { job, vessel: listed.vessel, date }));
      if (receipt === undefined) return;
      const started = toMoment(receipt.startedAt);
      now.set(oneText(listed.vessel), toKnown({ ...receipt, started }, listed));
    });
    if (!isOnce) remember(name, now);
    return now;
  }

  async function readAll(job: string, dates: readonly string[], { vessels, isOnce = false }: DateLook) {
    const found = new Map(dates.map((date) => [date, new Map<string, Remembered>()]));
    await scanLedger({
      ...{ store, job, dates, members: MEMBERS, log, writeIndex: true },
      ...(vessels !== undefined && { vessels }),
      take: (receipt, listed) =>
        found.get(receipt.date)!.set(oneText(receipt.vessel), toKnown(receipt, listed)),
    });
    if (!isOnce) for (const [date, look] of found) remember(`${job}/${date}`, look);
    return found;
  }

  return {
    ofDate,
    /** The same for many dates, by date; dates that are not cached are read with the index, best a month at a time. */
    async ofDates(
      job: string,
      dates: readonly string[],
      look: DateLook = {},
    ): Promise<ReadonlyMap<string, KnownOfDate>> {
      const isSeen = (date: string) => looks.has(`${job}/${date}`);
      const seen = dates.filter(isSeen);
      const unseen = dates.filter((date) => !isSeen(date));
      const found = new Map<string, KnownOfDate>(await readAll(job, unseen, look));
      await forEachAtOnce(seen, LISTS_AT_ONCE, async (date) => {
        found.set(date, await ofDate(job, date, look));
      });
      return found;
    },
    /** Open warnings, by the receipts that were read so far. */
    openWarnings: async (job: string): Promise<OpenWarnings[]> =>
      (await warnings.get(job)?.open(store)) ?? [],
    /** Vessels without a receipt, by the date's list alone. A complete date is not listed again for a week: receipts are only removed by hand. */
    async missing(job: string, date: string, vessels: readonly string[]): Promise<readonly string[]> {
      const name = `${job}/${date}`;
      const seen = complete.get(name);
      if (seen !== undefined && clock.monotonicMs() < seen.untilMs && isSameList(seen.vessels, vessels))
        return [];
      complete.delete(name);
      const published = new Set((await listVessels(store, job, date)).map(({ vessel }) => vessel));
      const missing = vessels.filter((vessel) => !published.has(vessel));
      if (missing.length === 0)
        complete.set(name, { vessels, untilMs: clock.monotonicMs() + COMPLETE_FOR_MS });
      return missing;
    },
    firstDate: (job: string) => firstReceiptDate(store, job),
  };
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}
