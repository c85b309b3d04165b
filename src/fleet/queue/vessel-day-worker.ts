/**
 * The queue's side of a worker: takes vessel-days from BullMQ, exports a limited number at once, and maps errors to
 * consequences for the job. BullMQ's defaults that would cause faults are changed here:
 *
 *   maxStalledCount  out of the way: how often a job whose worker died is handed on is counted and said here
 *   lockRenewalFailed  losing the lock does not stop BullMQ's processor: we abort it ourselves
 *   limiter          without one a pause for a rate limit is ignored
 *   removeOnComplete (in the queue) a job that remains would make every later one for its day a silent no-op
 */
import { DelayedError, WaitingError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { AWAY_STOP_MS, createWaitingLine, endsWithin } from '../../core/concurrency.ts';
import { CancelledError, DataError, messageOf, type VesselExportError } from '../../core/errors.ts';
import type { Clock, Log, Random } from '../../core/model/index.ts';
import { formatVesselDay, LOOK_AGAIN_DELAYS_MS } from '../../core/model/index.ts';
import { withinVesselDay } from '../../core/model/log-context.ts';
import type { QueueTracing } from '../../runtime/tracing/queue-telemetry.ts';
import { NOT_A_DAY, QUEUE_NAME, type QueuedDay, readQueuedDay } from './queued-day.ts';
import {
  type BullJob,
  backoffMs,
  type Consequence,
  LockLostError,
  MAX_WAIT_MS,
  settleJob,
  WORKERS_DIED,
} from './settle-job.ts';
import { createSlots } from './slots.ts';

/** Durations that tests shorten. */
export type WorkerTimings = Readonly<typeof WORKER_TIMINGS>;
const WORKER_TIMINGS = {
  /** A job whose lock was not renewed for so long belongs to no worker any more. */
  lockMs: 30_000,
  /** Interval of checks for such jobs. */
  stalledCheckMs: 30_000,
  countAgainDelaysMs: LOOK_AGAIN_DELAYS_MS as readonly number[],
  backoffMs,
  maxWaitMs: MAX_WAIT_MS,
  /** How long `stop` waits for vessel-days to be handed back. */
  stopMs: 20_000,
};

/** BullMQ would fail a job by itself, without a code and a note. */
const MAX_STALLED_COUNT = 1_000_000;
/** How often a vessel-day whose worker died is given to another one; the last time it runs exclusively. */
const MAX_HANDED_ON = 2;
/** Delay of jobs that arrive while a vessel-day runs exclusively. */
const EXCLUSIVE_DELAY_MS = 10_000;

/** The part of BullMQ's worker that is used. */
export type ProcessJob = (job: BullJob, token?: string) => Promise<void>;
export type BullWorkerOptions = ReturnType<typeof bullWorkerOptions>;
export interface BullWorker extends Pick<Worker, 'closing' | 'concurrency' | 'pause' | 'resume' | 'close'> {
  readonly backend: { close(force: boolean): Promise<void> };
  on(event: 'completed', listener: (job: BullJob) => void): unknown;
  on(event: 'lockRenewalFailed', listener: (ids: string[]) => void): unknown;
  on(event: 'stalled', listener: (id: string) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export interface WorkerOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** Left out: BullMQ's own. */
  readonly openWorker?: (process: ProcessJob, options: BullWorkerOptions) => BullWorker;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timings?: Partial<WorkerTimings>;
  readonly tracing?: QueueTracing | undefined;
  /**
   * Export one vessel-day. `signal` aborts with a CancelledError. `giveUp`: too many workers have died of it; it is not
   * to be tried, but noted, and thrown unless the day turns out to be done. `onWaiting`: to be told when nothing is left
   * but to wait for what others do, so that the next one may begin.
   */
  readonly perform: (
    day: QueuedDay,
    signal: AbortSignal,
    giveUp: VesselExportError | undefined,
    onWaiting: () => void,
  ) => Promise<void>;
  /** Called with a fault that may affect every vessel-day. True: the queue is on hold. False: it affects only this one. */
  readonly onFault: (error: VesselExportError) => Promise<boolean>;
  readonly onTrouble: (day: QueuedDay, error: unknown, consequence: Consequence['kind']) => void;
}

export type VesselDayWorker = ReturnType<typeof startVesselDayWorker>;

/** Begin to work. `redis` stays the caller's to close; BullMQ opens one more like it to wait on. */
export function startVesselDayWorker(options: WorkerOptions) {
  const { redis, concurrency, clock, log, perform, tracing } = options;
  const timings = { ...WORKER_TIMINGS, ...options.timings };
  /** By vessel-day, the oldest first. */
  const running = new Map<string, { readonly control: AbortController; readonly startedMs: number }>();
  /** A vessel-day with which two workers have died runs exclusively, or waits for that: no other may begin. */
  let isExclusive = false;
  const untilOneEnds = createWaitingLine();
  let isPaused = false;
  let isStopping = false;
  const dropped = new WeakSet<BullJob>();

  async function process(job: BullJob, token?: string): Promise<void> {
    const read = readQueuedDay(job.id, job.data);
    if (read.fault !== undefined) {
      log.error({ queueJob: job.id, fault: read.fault }, NOT_A_DAY);
      dropped.add(job);
      return;
    }
    // From here on only validated data are used.
    job.data = read.day;
    // A worker that waits for work gets back what it has just handed back, until its connection is closed.
    if (isStopping) {
      await job.moveToWait(token!);
      throw new WaitingError();
    }
    if (isExclusive) {
      await job.moveToDelayed(clock.nowMs() + Math.min(EXCLUSIVE_DELAY_MS, timings.maxWaitMs), token);
      throw new DelayedError();
    }
    const control = new AbortController();
    running.set(job.id!, { control, startedMs: clock.monotonicMs() });
    try {
      await withinVesselDay(job.id!, async () => {
        tracing?.onTaken(job.attemptsStarted === 1 ? job.timestamp : undefined);
        try {
          await slots.within(control.signal, (leave) => performHandedOn(job, control.signal, leave));
        } catch (error) {
          await settleJob({ ...options, timings }, job, token!, error, control.signal);
        }
      });
    } finally {
      running.delete(job.id!);
      untilOneEnds.letOneGo();
    }
  }

  async function resumeUnlessHeld(): Promise<void> {
    if (!isPaused && !isExclusive && worker.closing === undefined) await worker.resume();
  }

  /** Export a vessel-day that a dead worker had: after MAX_HANDED_ON deaths exclusively, after more it is given up. */
  async function performHandedOn(job: BullJob, signal: AbortSignal, leave: () => void): Promise<void> {
    const died = job.stalledCounter;
    if (died === MAX_HANDED_ON) await performAlone(job, signal);
    else
      await perform(job.data, signal, died < MAX_HANDED_ON ? undefined : workersDied(job.data, died), leave);
  }

  /**
   * The others end first, and none begins meanwhile. If this vessel-day is what its workers died of, it takes no other with
   * it; if not, its worker survives.
   */
  async function performAlone(job: BullJob, signal: AbortSignal): Promise<void> {
    log.info({ vesselDay: job.id }, 'two workers have died with it: performed alone');
    isExclusive = true;
    try {
      await worker.pause(true);
      while (running.size > 1) await untilOneEnds.join(signal);
      await perform(job.data, signal, undefined, () => {});
    } finally {
      isExclusive = false;
      await resumeUnlessHeld();
    }
  }

  const { openWorker = (work, more) => new Worker<QueuedDay>(QUEUE_NAME, work, more) as BullWorker } =
    options;
  const worker = openWorker(process, bullWorkerOptions(options, timings));
  const slots = createSlots(concurrency, clock, (jobs) => {
    worker.concurrency = jobs;
  });
  worker.on('completed', (job) => {
    // Its options may make BullMQ keep it in Redis.
    if (dropped.has(job)) job.remove().catch(() => {});
  });
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) running.get(id)?.control.abort(new LockLostError());
  });
  worker.on('stalled', (id) => log.info({ vesselDay: id }, 'its worker has died: back in the queue'));
  worker.on('error', (error) => log.debug({ error: messageOf(error) }, 'queue'));

  return {
    get active(): number {
      return running.size;
    },
    /** Age of the oldest of them; 0 where there is none. */
    get oldestMs(): number {
      const [oldest] = running.values();
      return oldest === undefined ? 0 : clock.monotonicMs() - oldest.startedMs;
    },
    /** Take no more vessel-days, without waiting for those under way. */
    async pause(): Promise<void> {
      isPaused = true;
      await worker.pause(true);
    },
    async resume(): Promise<void> {
      isPaused = false;
      await resumeUnlessHeld();
    },
    /** Hand back what is under way and stop; within `stopMs`. */
    async stop(): Promise<void> {
      isStopping = true;
      // Closing comes first, so that nothing new is taken while what runs is handed back.
      const closed = worker.close();
      for (const { control } of running.values()) control.abort(new CancelledError('the worker is stopping'));
      // Nothing can be handed back while Redis is away.
      const graceMs = redis.status === 'ready' ? timings.stopMs : Math.min(timings.stopMs, AWAY_STOP_MS);
      if (await endsWithin(closed, graceMs, clock)) return;
      if (running.size > 0) {
        log.warn(
          { vesselDays: [...running.keys()] },
          'not handed back in time: the queue retries them automatically',
        );
      }
      await worker.backend.close(true);
    },
  };
}

function bullWorkerOptions(
  { redis, prefix, concurrency, tracing, random }: WorkerOptions,
  timings: WorkerTimings,
) {
  return {
    ...{ connection: redis, prefix, concurrency },
    ...{ lockDuration: timings.lockMs, stalledInterval: timings.stalledCheckMs },
    maxStalledCount: MAX_STALLED_COUNT,
    limiter: { max: 1_000_000, duration: 1_000 },
    ...(tracing === undefined ? {} : { telemetry: tracing.telemetry }),
    settings: { backoffStrategy: (attemptsMade: number) => timings.backoffMs(attemptsMade, random) },
  };
}

function workersDied(day: QueuedDay, times: number): DataError {
  const text = `${formatVesselDay(day)}: found that ${times} workers died, or fell silent, while they exported it, expected at most ${MAX_HANDED_ON}; it is not given to another one. Check what ended them (memory, kernel log, restarts of containers) and the service's responses for that day; the next firing of its schedule retries it, and 'backfill ${day.job} --failed' does so at once`;
  return new DataError(WORKERS_DIED, text);
}
