/** The first day that a job exports without anybody naming its days again. Pure. */
import { addDays, type Job, lookbackDaysOf } from '../model/index.ts';

/** Days before today that a firing reads the receipts of at most. */
const MAX_LOOKBACK_DAYS = 90;
const DAY_MS = 86_400_000;

/** Days from this one on are looked at closely by each firing: those of the look-back, and those that settle. */
export function recentFrom(job: Job, today: string): string {
  const lookbackDays = Math.min(lookbackDaysOf(job), MAX_LOOKBACK_DAYS);
  const settleDays = Math.ceil((job.schedule?.settleMs ?? 0) / DAY_MS) + 1;
  return addDays(today, -Math.max(lookbackDays, settleDays));
}

/** The first day that was published, and the first that a `run` without dates was about. */
type JobHistory = Readonly<Partial<Record<'firstDate' | 'regularFrom', string | undefined>>>;

/** The first day that a job asks for by itself: its `since`, else by schedule and first published day, else by regular runs or its look-back, if any. */
export function askedFrom(
  job: Job,
  today: string,
  { firstDate, regularFrom }: JobHistory,
): string | undefined {
  if (job.since !== undefined) return job.since;
  const recent = recentFrom(job, today);
  if (job.schedule !== undefined) return firstDate !== undefined && firstDate < recent ? firstDate : recent;
  const lookbackFrom = job.reconcile && addDays(today, -job.reconcile.lookbackDays);
  return [regularFrom, lookbackFrom].filter((date) => date !== undefined).sort()[0];
}
