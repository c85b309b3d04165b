/** Which vessel-days an export has to look at. Pure: the clock and the ledger are passed in. */
import type { Job, Receipt, VesselDay } from '../model/index.ts';
import { datesBetween, dateToMicros, MICROS_PER_DAY, MICROS_PER_MILLI } from '../model/index.ts';

/** What the ledger says of a vessel-day before anything is asked of the service. */
export type DayState = 'missing' | 'done' | 'stale' | 'not-due';

export interface PlannedDay {
  readonly day: VesselDay;
  readonly state: DayState;
}

export interface PlanInput {
  readonly job: Job;
  readonly vessels: readonly string[];
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  readonly nowMs: number;
  readonly settingsHash: string;
  /** The receipt of a vessel-day, if there is one. */
  readonly receiptOf: (day: VesselDay) => Pick<Receipt, 'settingsHash'> | undefined;
}

/** Every vessel-day of the range with its state, by date and then vessel. */
export function planVesselDays(input: PlanInput): PlannedDay[] {
  const planned: PlannedDay[] = [];
  for (const date of datesBetween(input.from, input.to)) {
    for (const vessel of input.vessels) {
      const day = { job: input.job.name, vessel, date };
      planned.push({ day, state: stateOf(input, day) });
    }
  }
  return planned;
}

function stateOf(input: PlanInput, day: VesselDay): DayState {
  const receipt = input.receiptOf(day);
  const due = isDue(input.job, day.date, input.nowMs);
  if (receipt === undefined) return due ? 'missing' : 'not-due';
  // A snapshot of a day that is over can't be taken again, whatever the settings say now.
  if (!due && input.job.dataset === 'metadata') return 'done';
  return receipt.settingsHash === input.settingsHash ? 'done' : 'stale';
}

/**
 * A day is due `settle` after it ends. Metadata has no history at the service: a snapshot is due on the day
 * itself, and never for a day that is over.
 */
export function isDue(job: Job, date: string, nowMs: number): boolean {
  const dayFromMs = dateToMicros(date) / MICROS_PER_MILLI;
  const dayToMs = dayFromMs + MICROS_PER_DAY / MICROS_PER_MILLI;
  if (job.dataset === 'metadata') return nowMs >= dayFromMs && nowMs < dayToMs;
  return nowMs >= dayToMs + (job.schedule?.settleMs ?? 0);
}
