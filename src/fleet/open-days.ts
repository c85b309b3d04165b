/** Which vessel-days of a range are open, by the ledger. It reads again only where something can have changed. */
import { forEachAtOnce } from '../core/concurrency.ts';
import { addDays, datesBetween, type Job, type VesselDay } from '../core/model/index.ts';
import { type DayRange, isDue, isToDo } from '../core/plan/due.ts';
import type { KnownOfDate, LedgerView } from '../lake/ledger/ledger-view.ts';
import { type PlanPorts, plannedDays } from '../lake/ledger/planned-days.ts';

/** Lists that are read at once. */
const LIST_CONCURRENCY = 8;

interface BacklogOptions extends DayRange {
  readonly ports: PlanPorts;
  readonly job: Job;
  readonly ledger: LedgerView;
  /** For dates before this only the ledger's list is read, which shows what is missing but not what is stale. */
  readonly listedBefore?: string;
  /** True: the range is not read again once it is covered. */
  readonly isOnce?: boolean;
}

/** Vessel-days in some order, generated one by one: a range may have millions. */
export interface OpenDays extends Iterable<VesselDay> {
  readonly length: number;
}

export type Backlog = ReturnType<typeof createBacklog>;

export function createBacklog(options: BacklogOptions) {
  const { ports, job, ledger, vessels, listedBefore = '', isOnce = false } = options;
  const all = datesBetween(options.from, options.to);
  /** Vessels by date. */
  const openOf = new Map<string, readonly string[]>();
  /** Vessels by date, of days that are not over yet by the service's clock, but by ours. */
  const heldBackOf = new Map<string, readonly string[]>();
  const dueOf = new Map<string, number>();
  const openAt = (date: string) => openOf.get(date) ?? [];

  async function look(date: string): Promise<void> {
    if (date >= listedBefore) {
      const asked = askedOf(date);
      return settle(date, asked, await ledger.ofDate(job.name, date, { vessels: new Set(asked), isOnce }));
    }
    if (!isDue(job, date, ports.clock.nowMs())) return;
    openOf.set(date, await ledger.missing(job.name, date, vessels));
    dueOf.set(date, vessels.length);
  }

  /** What was done stays done and is not read again: of a date that was due, only the open vessel-days are. */
  const askedOf = (date: string) => (dueOf.get(date) === vessels.length ? openAt(date) : vessels);

  /** The first read goes a month at a time, because the index stores a month together. */
  async function lookAtAll(): Promise<void> {
    const [listed, read] = [[] as string[], [] as string[]];
    for (const date of all) (date < listedBefore ? listed : read).push(date);
    await forEachAtOnce(listed, LIST_CONCURRENCY, look);
    const everyone = new Set(vessels);
    for (const dates of Map.groupBy(read, (date) => date.slice(0, 7)).values()) {
      const receipts = await ledger.ofDates(job.name, dates, { vessels: everyone, isOnce });
      for (const date of dates) settle(date, vessels, receipts.get(date)!);
    }
  }

  /** Reads the receipts of a date for the requested vessels. */
  function settle(date: string, asked: readonly string[], receipts: KnownOfDate): void {
    const ofDate = { get: ({ vessel }: VesselDay) => receipts.get(vessel) };
    const range = { vessels: asked, from: date, to: addDays(date, 1) };
    const planned = [...plannedDays(ports, job, range, ofDate)];
    const notDue = planned.filter(({ state }) => state === 'not-due').map(({ day }) => day.vessel);
    const due = planned.length - notDue.length;
    heldBackOf.set(date, isDue(job, date, ports.clock.nowMs()) ? notDue : []);
    const open = planned.filter(isToDo).map(({ day }) => day.vessel);
    dueOf.set(date, due + vessels.length - asked.length);
    openOf.set(date, open.length === asked.length ? asked : open);
  }

  return {
    /** Vessel-days of the range that are due. */
    get due(): number {
      return [...dueOf.values()].reduce((sum, count) => sum + count, 0);
    },
    /** Vessel-days to export, in a part of the range; oldest first. */
    open({ from = options.from, to = options.to, newestFirst = false } = {}): OpenDays {
      const dates = all.filter((date) => date >= from && date < to);
      if (newestFirst) dates.reverse();
      return {
        length: dates.reduce((sum, date) => sum + openAt(date).length, 0),
        *[Symbol.iterator]() {
          for (const date of dates) for (const vessel of openAt(date)) yield { job: job.name, vessel, date };
        },
      };
    },
    /** What is missing in the lake for its readers, oldest first, including days that only the service's clock holds back. */
    *unpublished(): Iterable<VesselDay> {
      for (const date of all)
        for (const vessel of [...openAt(date), ...(heldBackOf.get(date) ?? [])])
          yield { job: job.name, vessel, date };
    },
    /** Dates that are not over yet by the service's clock, but by ours. */
    heldBackDates: () => all.filter((date) => (heldBackOf.get(date) ?? []).length > 0),
    /** Dates with open vessel-days, oldest first. */
    openDates: () => all.filter((date) => openAt(date).length > 0),
    isOpen: ({ vessel, date }: VesselDay) => openAt(date).includes(vessel),
    /** These are done, whatever the ledger says. */
    close(days: readonly VesselDay[]): void {
      for (const [date, ofDate] of Map.groupBy(days, ({ date }) => date)) {
        const closed = new Set(ofDate.map(({ vessel }) => vessel));
        const open = openAt(date).filter((vessel) => !closed.has(vessel));
        openOf.set(date, open);
      }
    },
    /** Read the ledger: the whole range the first time, then these dates. */
    async refresh(dates?: ReadonlySet<string>): Promise<void> {
      if (dates === undefined) return await lookAtAll();
      const stale = all.filter((date) => dates.has(date));
      await forEachAtOnce(stale, LIST_CONCURRENCY, look);
    },
  };
}
