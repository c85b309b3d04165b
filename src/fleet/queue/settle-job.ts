/** What becomes of a vessel-day's job when its attempt has failed: the table of consequences, and BullMQ's side of it. */
import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq';
import {
  CancelledError,
  codeOf,
  FencedError,
  mayPass,
  messageOf,
  NotDueError,
  NotYetError,
  RateLimitedError,
  stopsAll,
  VesselExportError,
} from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';
import type { QueuedDay } from './queued-day.ts';

/** The part of BullMQ's job that is used. */
export type BullJob = Pick<
  Job<QueuedDay>,
  | ('id' | 'data' | 'timestamp' | 'attemptsMade' | 'attemptsStarted' | 'stalledCounter')
  | ('moveToWait' | 'moveToDelayed' | 'extendLock' | 'updateData' | 'remove')
>;

/** Code of a vessel-day with which too many workers died. */
export const WORKERS_DIED = 'workers-died';

interface SettleOptions {
  readonly clock: Clock;
  readonly timings: {
    readonly lockMs: number;
    readonly countAgainDelaysMs: readonly number[];
    readonly maxWaitMs: number;
  };
  readonly onFault: (error: VesselExportError) => Promise<boolean>;
  readonly onTrouble: (day: QueuedDay, error: unknown, consequence: Consequence['kind']) => void;
}

/** Moves the job where its error sends it. It always throws, which is how BullMQ learns of it. `signal`: that of the attempt. */
export async function settleJob(
  { clock, timings, onFault, onTrouble }: SettleOptions,
  job: BullJob,
  token: string,
  error: unknown,
  signal: AbortSignal,
): Promise<never> {
  // The job belongs to another worker or to none, so its state must not be changed here.
  if (signal.reason instanceof LockLostError) throw new WaitingError();
  const consequence = await settledAs();
  onTrouble(job.data, error, consequence.kind);
  switch (consequence.kind) {
    case 'hold':
    case 'hand-back':
      await job.moveToWait(token);
      throw new WaitingError();
    case 'wait':
      return await delay(Math.min(consequence.delayMs, timings.maxWaitMs));
    case 'count-again': {
      const disagreements = (job.data.disagreements ?? 0) + 1;
      const delayMs = timings.countAgainDelaysMs[disagreements - 1];
      if (delayMs === undefined) return await fail({ disagreements, mayPass: true });
      await updateOwn({ disagreements });
      return await delay(delayMs);
    }
    case 'retry':
      if (job.attemptsMade + 1 >= MAX_ATTEMPTS) return await fail({ mayPass: true });
      throw new Error(messageOf(error));
    case 'fail':
      return await fail(codeOf(error) === WORKERS_DIED ? { mayPass: true } : {});
  }

  async function settledAs(): Promise<Consequence> {
    const found = consequenceOf(error);
    const isOwn =
      (found.kind === 'hand-back' && !signal.aborted) ||
      (found.kind === 'hold' && !(await onFault(error as VesselExportError)));
    return isOwn ? { kind: 'retry' } : found;
  }

  async function delay(delayMs: number): Promise<never> {
    await job.moveToDelayed(clock.nowMs() + delayMs, token);
    throw new DelayedError();
  }

  /** Moves the job into the failed set, with code and message as data; BullMQ's tools show both as one text. */
  async function fail(more: Partial<QueuedDay>): Promise<never> {
    const failure = { code: codeOf(error), message: messageOf(error) };
    await updateOwn({ ...more, failure });
    throw new UnrecoverableError(`${failure.code}: ${failure.message}`);
  }

  /** BullMQ writes a job's data without checking the lock: a worker that has lost the lock must not write. */
  async function updateOwn(changes: Partial<QueuedDay>): Promise<void> {
    if ((await job.extendLock(token, timings.lockMs)) === 0) throw new WaitingError();
    await job.updateData({ ...job.data, ...changes });
  }
}

/** The vessel-day may be another worker's by now; the fence in the lake holds in any case. */
export class LockLostError extends CancelledError {
  constructor() {
    super('the lock of the vessel-day in the queue was lost');
  }
}

/**
 *   hand-back    goes to the head of the queue at once                      costs no attempt
 *   wait         comes back after `delayMs`; others are performed meanwhile costs no attempt
 *   count-again  as wait, 5 min, 30 min, 2 h; then it fails                 costs no attempt
 *   retry        comes back after a growing delay; after 5 attempts it fails
 *   fail         into the failed set at once, with its reason
 *   hold         every other vessel-day may meet it too: if a probe fails as well the queue is put on hold, else retry
 */
export type Consequence =
  | { readonly kind: 'hand-back' | 'count-again' | 'retry' | 'fail' | 'hold' }
  | { readonly kind: 'wait'; readonly delayMs: number };

export const MAX_ATTEMPTS = 5;
/** Bounds every wait: for an owner elsewhere, a rate limit, series that are missing. */
export const MAX_WAIT_MS = 7_200_000;

const LIMITED_DELAY_MS = 300_000;
const MAX_LIMITED_DELAY_MS = 3_600_000;
/** The service's clock may be corrected meanwhile. */
const MIN_NOT_DUE_DELAY_MS = 60_000;
const MAX_NOT_DUE_DELAY_MS = 3_600_000;
/** A live owner sends a heartbeat every 15 s, and a dead one's claim is stale after 60 s; a check costs two requests to the store. */
const FENCED_DELAY_MS = 10_000;

export function consequenceOf(error: unknown): Consequence {
  if (error instanceof CancelledError) return { kind: 'hand-back' };
  if (error instanceof RateLimitedError) {
    const delayMs = Math.min(error.retryAfterMs ?? LIMITED_DELAY_MS, MAX_LIMITED_DELAY_MS);
    return { kind: 'wait', delayMs };
  }
  if (error instanceof FencedError) return { kind: 'wait', delayMs: FENCED_DELAY_MS };
  if (error instanceof NotYetError) return { kind: 'wait', delayMs: error.delayMs };
  if (error instanceof NotDueError) {
    const delayMs = Math.min(Math.max(error.delayMs, MIN_NOT_DUE_DELAY_MS), MAX_NOT_DUE_DELAY_MS);
    return { kind: 'wait', delayMs };
  }
  if (stopsAll(error)) return { kind: 'hold' };
  if (error instanceof VesselExportError && error.code === 'counts-disagree') return { kind: 'count-again' };
  // A defect of ours may affect only one process.
  if (mayPass(error) || !(error instanceof VesselExportError)) return { kind: 'retry' };
  return { kind: 'fail' };
}

/** Delay before attempt `attemptsMade + 1`: 30 s, 1 min, 2 min, 4 min, each with up to half as much again. */
export function backoffMs(attemptsMade: number, random: () => number): number {
  return 30_000 * 2 ** Math.min(attemptsMade - 1, 6) * (1 + random() / 2);
}
