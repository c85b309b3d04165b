/**
 * The queue of vessel-days in Redis. It holds no truth: after a loss it is filled again from the ledger. A vessel-day is at
 * most once in it, by the job's id. A failed one stays in the failed set (dead letter) with its reason, and is not queued
 * again before it is removed from there.
 */
import { type JobType, Queue } from 'bullmq';
import type { ChainableCommander, Redis } from 'ioredis';
import type { Log, VesselDay } from '../../core/model/index.ts';
import { cleanMessage, formatVesselDay, silentLog } from '../../core/model/index.ts';
import type { QueueTracing } from '../../runtime/tracing/queue-telemetry.ts';
import { createQueueHold } from './hold.ts';
import type { QueuedDay, QueuedKind } from './queued-day.ts';
import { countKinds, createQueueReader, PRIORITY, QUEUE_NAME } from './queued-day.ts';
import { MAX_ATTEMPTS, MAX_WAIT_MS } from './settle-job.ts';
import { startVesselDayWorker, type WorkerOptions } from './vessel-day-worker.ts';

export type { QueuedDay, QueuedKind } from './queued-day.ts';

/** A vessel-day in the failed set. */
export interface DeadLetter {
  readonly day: VesselDay;
  readonly queued: QueuedDay;
  readonly code: string;
  readonly message: string;
  readonly mayPass: boolean;
}

const QUEUE_STATES = ['waiting', 'prioritized', 'active', 'delayed', 'failed'] as const;
type QueueDepth = Readonly<Record<(typeof QUEUE_STATES)[number], number>>;

/** Jobs in other states are about to leave the queue. */
const FOUND_STATES = ['waiting', 'delayed', 'active', 'failed'] as const;

const CHUNK = 1_000;
/** What a wait may be beyond its bound: clocks are not all the same. */
export const LONGEST_WAIT_MS = MAX_WAIT_MS + 900_000;
/** As BullMQ writes the time until which a job is delayed. */
const delayedScore = (untilMs: number) => untilMs * 0x1000;

/** `queued`: waiting, delayed or being worked on; `failed`: in the failed set. */
export interface QueueNames {
  readonly queued: ReadonlySet<string>;
  readonly failed: ReadonlySet<string>;
}

export type BullVesselDays = ReturnType<typeof openVesselDayQueue>;
/** The port that hides BullMQ: planning, workers, the page and commands use only this. */
export type VesselDayQueue = Omit<BullVesselDays, 'bull'>;

interface QueueOptions {
  /** Its commands wait while Redis is away. */
  readonly redis: Redis;
  /** Its commands reject at once while Redis is unreachable: for the page and commands. Default: `redis`. */
  readonly client?: Redis;
  readonly prefix: string;
  readonly log?: Log;
  readonly tracing?: QueueTracing | undefined;
}

/** The connections stay the caller's to close. */
export function openVesselDayQueue(options: QueueOptions) {
  const { redis, client = redis, prefix, log = silentLog, tracing } = options;
  const bull = new Queue<QueuedDay, void, QueuedKind>(QUEUE_NAME, {
    connection: redis,
    prefix,
    defaultJobOptions: { attempts: MAX_ATTEMPTS, backoff: { type: 'custom' }, removeOnComplete: true },
  });
  // Connection faults are the connection's to report; without a listener they would end the process.
  bull.on('error', () => {});

  /** The days for which the reply of a command is neither 0 nor null. */
  async function filter(
    days: readonly VesselDay[],
    ask: (pipeline: ChainableCommander, id: string) => unknown,
  ): Promise<Set<string>> {
    const matching = new Set<string>();
    for (let at = 0; at < days.length; at += CHUNK) {
      const ids = days.slice(at, at + CHUNK).map(formatVesselDay);
      const pipeline = redis.pipeline();
      for (const id of ids) ask(pipeline, id);
      for (const [index, [error, answer]] of ((await pipeline.exec()) ?? []).entries()) {
        if (error !== null) throw error;
        if (answer !== 0 && answer !== null) matching.add(ids[index]!);
      }
    }
    return matching;
  }

  const read = createQueueReader(redis, bull, log);

  return {
    /** BullMQ's own, for tests. */
    bull: bull as Queue,
    hold: createQueueHold(redis, client, bull.toKey),
    startWorker: (more: Omit<WorkerOptions, 'redis' | 'prefix' | 'tracing'>) =>
      startVesselDayWorker({ redis, prefix, tracing, ...more }),
    countKinds: () => countKinds(client, bull),
    facts: (day: VesselDay) => read.facts(formatVesselDay(day)),
    /** Those of the days that are in the queue, in any state, as `formatVesselDay` writes them. */
    known: (days: readonly VesselDay[]) => filter(days, (pipeline, id) => pipeline.exists(bull.toKey(id))),
    failed: (days: readonly VesselDay[]) =>
      filter(days, (pipeline, id) => pipeline.zscore(bull.toKey('failed'), id)),
    /** The ids in the queue, at most so many of each state. The cost grows with the queue; that of `known` with the days given. */
    async names(mostOfEach: number): Promise<QueueNames> {
      const namesIn = async (states: JobType[]) => new Set(await bull.getRanges(states, 0, mostOfEach - 1));
      const [queued, failed] = await Promise.all([
        namesIn(['wait', 'prioritized', 'delayed', 'active']),
        namesIn(['failed']),
      ]);
      return { queued, failed };
    },
    /** Undefined if it is not in the queue. `delayed`: it waits until a time. */
    async find(day: VesselDay) {
      const id = formatVesselDay(day);
      const [job] = (await redis.exists(bull.toKey(id))) === 1 ? await read.ofIds([id]) : [];
      const word = job && (await bull.getJobState(id));
      const state = FOUND_STATES.find((one) => one === (word === 'prioritized' ? 'waiting' : word));
      return job && state && { queued: job.day, state };
    },
    /** Add vessel-days; those that are there already stay as they are. */
    async add(days: readonly QueuedDay[]): Promise<void> {
      for (let at = 0; at < days.length; at += CHUNK) {
        const chunk = days.slice(at, at + CHUNK);
        const send = async (carried: readonly string[]) => {
          await bull.addBulk(chunk.map((day, index) => toJob(day, carried[index])));
        };
        await (tracing === undefined ? send([]) : tracing.handOn(chunk, send));
      }
    },
    async depth(): Promise<QueueDepth> {
      const counts = await bull.getJobCounts(...QUEUE_STATES);
      return Object.fromEntries(QUEUE_STATES.map((state) => [state, counts[state] ?? 0])) as QueueDepth;
    },
    async deadLetters(): Promise<DeadLetter[]> {
      const failed = await read.inStates(['failed']);
      return failed.map(({ day: queued, failedReason }) => {
        const { job, vessel, date, failure: ours, mayPass = ours === undefined } = queued;
        // BullMQ itself fails a job whose workers died too often: that says nothing about the vessel-day.
        const failure = ours ?? { code: 'unknown', message: cleanMessage(failedReason) };
        return { day: { job, vessel, date }, queued, ...failure, mayPass };
      });
    },
    /** Remove a vessel-day; false if it is active. */
    remove: async (day: VesselDay) => (await bull.remove(formatVesselDay(day))) === 1,
    /** Remove those that wait and match; resolves to how many. */
    async withdraw(matches: (day: QueuedDay) => boolean): Promise<number> {
      let withdrawn = 0;
      for (const { day } of await read.inStates(['wait', 'prioritized', 'delayed']))
        if (matches(day) && (await bull.remove(formatVesselDay(day))) === 1) withdrawn++;
      return withdrawn;
    },
    /**
     * Bring back vessel-days that wait, by the clock of Redis, for longer than any is made to: a worker whose clock was ahead
     * has delayed them. Resolves to how many.
     */
    async bringBack(): Promise<number> {
      const [seconds] = await redis.time();
      const latest = delayedScore(Number(seconds) * 1_000 + LONGEST_WAIT_MS);
      const ids = await redis.zrangebyscore(bull.toKey('delayed'), latest, '+inf', 'LIMIT', 0, CHUNK);
      // A worker may have taken one meanwhile.
      for (const id of ids) await read.promote(id).catch(() => {});
      return ids.length;
    },
    workers: () => bull.getWorkersCount(),
    close: () => bull.close(),
  };
}

/** `trace`: trace context for the worker that takes it. */
function toJob(data: QueuedDay, trace?: string) {
  const priority = PRIORITY[data.kind];
  return {
    name: data.kind,
    data,
    opts: {
      jobId: formatVesselDay(data),
      ...(priority > 0 && { priority }),
      ...(trace !== undefined && { telemetry: { metadata: trace } }),
    },
  };
}
