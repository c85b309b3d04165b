/** Which vessel-days an export has to look at. Pure: the clock and the ledger are passed in. */
import type { Job, Proof, Receipt, VesselDay } from '../model/index.ts';
import { datesBetween, dateToMicros, MICROS_PER_DAY, MICROS_PER_MILLI } from '../model/index.ts';

/** Clocks that differ by less agree about the day of a snapshot. */
const SNAPSHOT_TOLERANCE_MS = 300_000;

export type DayState = 'missing' | 'done' | 'stale' | 'not-due';

/** The same, and that nobody has asked for a day that is missing. */
export type AskedState = DayState | 'not-asked-for';

/** The part of a receipt that says whether its day is done. */
export type ReceiptSettings = Pick<Receipt, 'settingsHash' | 'proof'>;

const STRENGTHS: Readonly<Record<Proof, number>> = { unproven: 0, 'at-least': 1, exact: 2 };

/** Does a proof show what the job asks for now? A stronger one does. Metadata is always proven exactly. */
export function isProven({ verify }: Pick<Job, 'verify'>, proof: Proof): boolean {
  return STRENGTHS[proof] >= STRENGTHS[verify === 'off' ? 'unproven' : verify];
}

/** Is a published day what the job asks for now: of the same settings, and proven no less? */
export function isAsAsked(
  job: Pick<Job, 'verify'>,
  settingsHash: string,
  receipt: ReceiptSettings | undefined,
): boolean {
  return receipt?.settingsHash === settingsHash && isProven(job, receipt.proof);
}

export interface PlannedDay<T> {
  readonly day: VesselDay;
  readonly state: DayState;
  readonly receipt: T | undefined;
}

export interface DayRange {
  readonly vessels: readonly string[];
  readonly from: string;
  readonly to: string;
}

interface PlanInput<T> extends DayRange {
  readonly job: Job;
  readonly nowMs: number;
  readonly serverNowMs?: number | undefined;
  readonly settingsHash: string;
  readonly receiptOf: (day: VesselDay) => T | undefined;
}

/** Every vessel-day of the range with its receipt and state, by date and then vessel; made as they are taken. */
export function* planVesselDays<T extends ReceiptSettings>(input: PlanInput<T>): Generator<PlannedDay<T>> {
  const { job, nowMs, serverNowMs } = input;
  for (const date of datesBetween(input.from, input.to)) {
    const due = isDue(job, date, nowMs, serverNowMs);
    for (const vessel of input.vessels) {
      const day = { job: job.name, vessel, date };
      const receipt = input.receiptOf(day);
      yield { day, receipt, state: stateOf(input, due, receipt) };
    }
  }
}

function stateOf(
  { job, settingsHash }: Pick<PlanInput<never>, 'job' | 'settingsHash'>,
  due: boolean,
  receipt: ReceiptSettings | undefined,
): DayState {
  if (receipt === undefined) return due ? 'missing' : 'not-due';
  // A snapshot of a day that is over can't be taken again, whatever the settings say now.
  if (!due && job.dataset === 'metadata') return 'done';
  return isAsAsked(job, settingsHash, receipt) ? 'done' : 'stale';
}

export function isToDo({ state }: { readonly state: DayState }): boolean {
  return state === 'missing' || state === 'stale';
}

/** Due `settle` after the day's end, by both clocks where the service's is known; a snapshot is due on the day itself only. */
export function isDue(job: Job, date: string, nowMs: number, serverNowMs?: number): boolean {
  const { fromMs, toMs } = duringMs(job, date);
  const isDueHere = nowMs >= fromMs && nowMs < toMs;
  return isDueHere && (serverNowMs === undefined || isDueByService(job, date, serverNowMs));
}

/** Is a day over and settled by the service's clock; for a snapshot, has it begun? Its end is for the clock that names the day. */
export function isDueByService(job: Job, date: string, serverNowMs: number): boolean {
  const toleranceMs = job.dataset === 'metadata' ? SNAPSHOT_TOLERANCE_MS : 0;
  return serverNowMs >= duringMs(job, date).fromMs - toleranceMs;
}

/** Milliseconds until a day is due by a clock; 0 where it is, or was. */
export function untilDueMs(job: Job, date: string, nowMs: number): number {
  return Math.max(0, duringMs(job, date).fromMs - nowMs);
}

function duringMs(job: Job, date: string): { readonly fromMs: number; readonly toMs: number } {
  const dayFromMs = dateToMicros(date) / MICROS_PER_MILLI;
  const dayToMs = dayFromMs + MICROS_PER_DAY / MICROS_PER_MILLI;
  if (job.dataset === 'metadata') return { fromMs: dayFromMs, toMs: dayToMs };
  return { fromMs: dayToMs + (job.schedule?.settleMs ?? 0), toMs: Infinity };
}
