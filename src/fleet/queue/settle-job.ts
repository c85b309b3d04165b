/** What becomes of a vessel-day's job when its try has failed: BullMQ's side of a consequence. */
import type { Job } from 'bullmq';
import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import type { VesselExportError } from '../../core/errors.ts';
import { CancelledError, codeOf, messageOf } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';
import type { Consequence } from './consequence.ts';
import { consequenceOf, MAX_ATTEMPTS } from './consequence.ts';
import type { QueuedDay } from './queued-day.ts';

/** Code of a vessel-day that too many workers died with. */
export const WORKERS_DIED = 'workers-died';

/** How its owner deals with jobs that failed. */
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

/**
 * Moves the job, whose data was read, where its error sends it; always throws, which is how BullMQ is told. `signal`: of
 * its try.
 */
type SettleJob = (job: Job<QueuedDay>, token: string, error: unknown, signal: AbortSignal) => Promise<never>;

export function createSettleJob({ clock, timings, onFault, onTrouble }: SettleOptions): SettleJob {
  const settle: SettleJob = async (job, token, error, signal) => {
    // Nobody's job any more, or somebody else's: its state is not ours to change.
    if (signal.reason instanceof LockLostError) throw new WaitingError();
    const consequence = await outcomeOf(error, signal);
    onTrouble(job.data, error, consequence.kind);
    switch (consequence.kind) {
      case 'hold':
      case 'hand-back':
        await job.moveToWait(token);
        throw new WaitingError();
      case 'wait':
        await job.moveToDelayed(clock.nowMs() + Math.min(consequence.delayMs, timings.maxWaitMs), token);
        throw new DelayedError();
      case 'count-again':
        return countAgain(job, token, error);
      case 'retry':
        if (job.attemptsMade + 1 >= MAX_ATTEMPTS) return fail(job, token, error, { mayPass: true });
        throw new Error(messageOf(error));
      case 'fail':
        return fail(job, token, error, codeOf(error) === WORKERS_DIED ? { mayPass: true } : {});
    }
  };

  /** Into the failed set, with code and message as data; the board shows both as one text. */
  async function fail(
    job: Job<QueuedDay>,
    token: string,
    error: unknown,
    more: Partial<QueuedDay> = {},
  ): Promise<never> {
    const failure = { code: codeOf(error), message: messageOf(error) };
    await updateOwn(job, token, { ...more, failure });
    throw new UnrecoverableError(`${failure.code}: ${failure.message}`);
  }

  /** BullMQ writes a job's data whoever has its lock: whoever has lost it must not write. */
  async function updateOwn(job: Job<QueuedDay>, token: string, changes: Partial<QueuedDay>): Promise<void> {
    if ((await job.extendLock(token, timings.lockMs)) === 0) throw new WaitingError();
    await job.updateData({ ...job.data, ...changes });
  }

  async function countAgain(job: Job<QueuedDay>, token: string, error: unknown): Promise<never> {
    const disagreements = (job.data.disagreements ?? 0) + 1;
    const delayMs = timings.countAgainDelaysMs[disagreements - 1];
    if (delayMs === undefined) return fail(job, token, error, { disagreements, mayPass: true });
    await updateOwn(job, token, { disagreements });
    await job.moveToDelayed(clock.nowMs() + delayMs, token);
    throw new DelayedError();
  }

  async function outcomeOf(error: unknown, signal: AbortSignal): Promise<Consequence> {
    const consequence = consequenceOf(error);
    const isOwn =
      (consequence.kind === 'hand-back' && !signal.aborted) ||
      (consequence.kind === 'hold' && !(await onFault(error as VesselExportError)));
    return isOwn ? { kind: 'retry' } : consequence;
  }
  return settle;
}

/** The vessel-day may be another worker's by now; the fence in the lake holds in any case. */
export class LockLostError extends CancelledError {
  constructor() {
    super('the lock of the vessel-day in the queue was lost');
  }
}
