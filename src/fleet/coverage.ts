/**
 * The coverage of a range: which of its vessel-days are open (due, without a receipt of these settings), by what
 * the ledger says. Looks only where something can have changed: at dates whose vessel-days are in the queue.
 */

import type { Job, VesselDay } from '../model/index.ts';
import { addDays, datesBetween, receiptKey } from '../model/index.ts';
import { planVesselDays } from '../plan/due.ts';
import { forEachAtOnce } from '../publish/at-once.ts';
import type { LedgerView } from './ledger-view.ts';

/** Lists at once. */
const LIST_CONCURRENCY = 8;

export interface CoverageOptions {
  readonly job: Job;
  readonly settingsHash: string;
  readonly vessels: readonly string[];
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  readonly ledger: LedgerView;
  readonly nowMs: () => number;
}

export interface Coverage {
  /** Vessel-days of the range that are due. */
  readonly due: number;
  /** Those without a receipt, oldest first. */
  open(): VesselDay[];
  /** Read the ledger: all of it at first, then the dates of these vessel-days. */
  refresh(dates?: ReadonlySet<string>): Promise<void>;
}

export function createCoverage(options: CoverageOptions): Coverage {
  const { job, ledger, vessels, settingsHash } = options;
  const openOf = new Map<string, VesselDay[]>();
  const dueOf = new Map<string, number>();

  async function look(date: string): Promise<void> {
    const receipts = await ledger.ofDate(job.name, date);
    const planned = planVesselDays({
      job,
      vessels,
      from: date,
      to: addDays(date, 1),
      nowMs: options.nowMs(),
      settingsHash,
      receiptOf: (day) => receipts.get(receiptKey(day)),
    });
    const open = planned.filter(({ state }) => state === 'missing' || state === 'stale');
    dueOf.set(date, planned.filter(({ state }) => state !== 'not-due').length);
    openOf.set(
      date,
      open.map(({ day }) => day),
    );
  }

  return {
    get due() {
      return [...dueOf.values()].reduce((sum, count) => sum + count, 0);
    },
    open: () => datesBetween(options.from, options.to).flatMap((date) => openOf.get(date) ?? []),
    async refresh(dates) {
      const all = datesBetween(options.from, options.to);
      const stale = dates === undefined ? all : all.filter((date) => dates.has(date));
      await forEachAtOnce(stale, LIST_CONCURRENCY, look);
    },
  };
}
