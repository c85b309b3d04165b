/** The vessel's last published day: what today's selection is compared with. */
import type { Clock, Receipt, VesselDay } from '../model/index.ts';
import { addDays } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { unlessDamaged } from './json.ts';
import { lastReceiptDates, readReceipt, receiptDates } from './ledger.ts';

/** What a process knows of the newest published day of each vessel. */
export interface LastPublished {
  /**
   * The first of these that `isComparable` accepts: the day's own receipt, that of the day before, that of the vessel's
   * newest day. Costs one request, mostly; where the day before has none a look at the job's ledger, which is kept.
   * Throws what the store throws; a damaged receipt counts as none.
   */
  of(
    day: VesselDay,
    own: Receipt | undefined,
    isComparable: (receipt: Receipt) => boolean,
  ): Promise<Receipt | undefined>;
  /** To be told of every receipt that this process writes. */
  onPublished(receipt: Receipt): void;
}

/** Later than every date of a lake. */
const NO_DATE = '9999-12-31';
/** How long a look at a job's ledger is kept: others publish too. */
const LOOK_MS = 6 * 3_600_000;

/** Vessel → its newest date, with the receipt once that was read. */
type Newest = Map<string, { readonly date: string; readonly receipt?: Receipt }>;

export function createLastPublished(store: ObjectStore, clock: Clock): LastPublished {
  const looks = new Map<string, { readonly atMs: number; readonly newest: Promise<Newest> }>();
  const read = (day: VesselDay) => unlessDamaged(readReceipt(store, day));

  async function look(job: string): Promise<Newest> {
    const dates = await lastReceiptDates(store, job, NO_DATE);
    return new Map([...dates].map(([vessel, date]) => [vessel, { date }]));
  }

  function newestByVessel(job: string): Promise<Newest> {
    const known = looks.get(job);
    if (known !== undefined && clock.monotonicMs() - known.atMs < LOOK_MS) return known.newest;
    const newest = look(job);
    looks.set(job, { atMs: clock.monotonicMs(), newest });
    newest.catch(() => looks.delete(job));
    return newest;
  }

  /** A receipt that cannot be read hides none that can. */
  async function newestReadable(job: string, vessel: string, newest: string): Promise<Receipt | undefined> {
    const receipt = await read({ job, vessel, date: newest });
    if (receipt !== undefined) return receipt;
    const older = (await receiptDates(store, job, { vessel, before: newest })).get(vessel) ?? [];
    for (const date of older) {
      const found = await read({ job, vessel, date });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async function newestOf({ job, vessel, date }: VesselDay): Promise<Receipt | undefined> {
    const vessels = await newestByVessel(job);
    const known = vessels.get(vessel);
    if (known === undefined || known.date === date || known.receipt !== undefined) return known?.receipt;
    const receipt = await newestReadable(job, vessel, known.date);
    if (receipt !== undefined) vessels.set(vessel, { date: known.date, receipt });
    return receipt;
  }

  return {
    async of(day, own, isComparable) {
      if (own !== undefined && isComparable(own)) return own;
      const before = await read({ ...day, date: addDays(day.date, -1) });
      if (before !== undefined && isComparable(before)) return before;
      const last = await newestOf(day);
      return last !== undefined && isComparable(last) ? last : undefined;
    },
    onPublished(receipt) {
      const { job, vessel, date } = receipt;
      void looks.get(job)?.newest.then(
        (vessels) => {
          if (date >= (vessels.get(vessel)?.date ?? '')) vessels.set(vessel, { date, receipt });
        },
        () => {},
      );
    },
  };
}
