/**
 * The queue's side of a worker: takes vessel-days from BullMQ, performs so many at once, and turns errors into
 * what becomes of the job. BullMQ's defaults that would bite are set here:
 *
 *   maxStalledCount  a job whose worker was killed comes back, however often; with the default the second crash fails it
 *   lockRenewalFailed  losing the lock does not stop BullMQ's processor: we abort it ourselves
 *   limiter          without one a pause for a rate limit is ignored
 *   removeOnComplete (in the queue) a job that remains would make every later one for its day a silent no-op
 */
import type { Job } from 'bullmq';
import { DelayedError, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { CancelledError, messageOf, VesselExportError } from '../errors.ts';
import type { Clock, Log, Random } from '../model/index.ts';
import type { Consequence } from './consequence.ts';
import { backoffMs, COUNT_AGAIN_DELAYS_MS, consequenceOf, MAX_ATTEMPTS } from './consequence.ts';
import { AWAY_STOP_MS, endsWithin } from './ends-within.ts';
import type { QueuedDay } from './vessel-day-queue.ts';
import { QUEUE_NAME } from './vessel-day-queue.ts';

/** Times that tests shorten. */
export interface WorkerTimings {
  /** A job whose lock was not renewed for so long belongs to nobody any more. */
  readonly lockMs: number;
  /** Between looks for such jobs. */
  readonly stalledCheckMs: number;
  readonly countAgainDelaysMs: readonly number[];
  readonly backoffMs: (attemptsMade: number, random: Random) => number;
  /** Bounds every wait for an owner elsewhere and for a rate limit. */
  readonly maxWaitMs: number;
  /** How long `stop` waits for vessel-days to be handed back. */
  readonly stopMs: number;
}

export const WORKER_TIMINGS: WorkerTimings = {
  lockMs: 30_000,
  stalledCheckMs: 30_000,
  countAgainDelaysMs: COUNT_AGAIN_DELAYS_MS,
  backoffMs,
  maxWaitMs: 3_600_000,
  stopMs: 20_000,
};

const MAX_STALLED_COUNT = 20;

export interface WorkerOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** Vessel-days at once. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timings?: Partial<WorkerTimings>;
  /** Export one vessel-day. `signal` aborts with a CancelledError. */
  readonly perform: (day: QueuedDay, signal: AbortSignal) => Promise<void>;
  /** A fault that every vessel-day would meet: called before the job goes back into the queue. */
  readonly onHold: (error: VesselExportError) => Promise<void>;
  /** Told how each try that failed ended. */
  readonly onTrouble: (day: QueuedDay, error: unknown, consequence: Consequence['kind']) => void;
}

export interface VesselDayWorker {
  /** Vessel-days under way. */
  readonly active: number;
  /** Take no more vessel-days, without waiting for those under way. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Hand back what is under way and stop; within `stopMs`. */
  stop(): Promise<void>;
}

/** Begin to work. `redis` stays the caller's to close; BullMQ opens one more like it to wait on. */
export function startVesselDayWorker(options: WorkerOptions): VesselDayWorker {
  const { redis, prefix, concurrency, clock, log, perform } = options;
  const timings = { ...WORKER_TIMINGS, ...options.timings };
  const running = new Map<string, AbortController>();

  async function process(job: Job<QueuedDay>, token?: string): Promise<void> {
    const control = new AbortController();
    running.set(job.id!, control);
    try {
      await perform(job.data, control.signal);
    } catch (error) {
      await settle(job, token!, error, control.signal);
    } finally {
      running.delete(job.id!);
    }
  }

  /** Move the job where its error sends it; always throws, which is how BullMQ is told. */
  async function settle(job: Job<QueuedDay>, token: string, error: unknown, signal: AbortSignal) {
    // Nobody's job any more, or somebody else's: its state is not ours to change.
    if (signal.reason instanceof LockLostError) throw new WaitingError();
    const consequence = outcomeOf(job, error);
    options.onTrouble(job.data, error, consequence.kind);
    switch (consequence.kind) {
      case 'hold':
        await options.onHold(error as VesselExportError);
        await job.moveToWait(token);
        throw new WaitingError();
      case 'hand-back':
        await job.moveToWait(token);
        throw new WaitingError();
      case 'wait':
        await job.moveToDelayed(clock.nowMs() + Math.min(consequence.delayMs, timings.maxWaitMs), token);
        throw new DelayedError();
      case 'count-again':
        return countAgain(job, token, error);
      case 'retry':
        if (job.attemptsMade + 1 >= MAX_ATTEMPTS) await job.updateData({ ...job.data, mayPass: true });
        throw new Error(reasonOf(error));
      case 'fail':
        throw new UnrecoverableError(reasonOf(error));
    }
  }

  async function countAgain(job: Job<QueuedDay>, token: string, error: unknown): Promise<never> {
    const disagreements = (job.data.disagreements ?? 0) + 1;
    const delayMs = timings.countAgainDelaysMs[disagreements - 1];
    await job.updateData({ ...job.data, disagreements, mayPass: true });
    if (delayMs === undefined) throw new UnrecoverableError(reasonOf(error));
    await job.moveToDelayed(clock.nowMs() + delayMs, token);
    throw new DelayedError();
  }

  function outcomeOf(job: Job<QueuedDay>, error: unknown): Consequence {
    const consequence = consequenceOf(error);
    if (consequence.kind === 'hand-back' && !running.get(job.id!)?.signal.aborted) return { kind: 'retry' };
    return consequence;
  }

  const worker = new Worker<QueuedDay>(QUEUE_NAME, process, {
    connection: redis,
    prefix,
    concurrency,
    lockDuration: timings.lockMs,
    stalledInterval: timings.stalledCheckMs,
    maxStalledCount: MAX_STALLED_COUNT,
    limiter: { max: 1_000_000, duration: 1_000 },
    settings: { backoffStrategy: (attemptsMade) => timings.backoffMs(attemptsMade, options.random) },
  });
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) running.get(id)?.abort(new LockLostError());
  });
  worker.on('stalled', (id) => log.info({ vesselDay: id }, 'its worker has died: back in the queue'));
  worker.on('error', (error) => log.debug({ error: messageOf(error) }, 'queue'));

  return {
    get active() {
      return running.size;
    },
    pause: () => worker.pause(true),
    resume: () => worker.resume(),
    async stop() {
      // Closing comes first, so that nothing new is taken while what runs is handed back.
      const closed = worker.close();
      for (const control of running.values()) control.abort(new CancelledError('the worker is stopping'));
      // Nothing can be handed back while Redis is away.
      const graceMs = redis.status === 'ready' ? timings.stopMs : Math.min(timings.stopMs, AWAY_STOP_MS);
      if (await endsWithin(closed, graceMs, clock)) return;
      if (running.size > 0) {
        log.warn(
          { vesselDays: [...running.keys()] },
          'not handed back in time: they come back by themselves',
        );
      }
      await worker.backend.close(true);
    },
  };
}

/** The vessel-day may be another worker's by now; the fence in the lake holds in any case. */
class LockLostError extends CancelledError {
  constructor() {
    super('the lock of the vessel-day in the queue was lost');
  }
}

/** What the failed set shows: `code: message`. */
function reasonOf(error: unknown): string {
  return error instanceof VesselExportError
    ? `${error.code}: ${error.message}`
    : `internal-error: ${messageOf(error)}`;
}
