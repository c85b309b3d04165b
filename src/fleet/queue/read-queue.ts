/**
 * Reading many jobs of the queue. BullMQ's own way holds all that stands in them, and fails for all if one is no JSON;
 * here each is bounded and read by itself, and what is no vessel-day is dropped with a line of log.
 */
import type { JobType, Queue } from 'bullmq';
import type { ChainableCommander, Redis } from 'ioredis';
import { messageOf, shortName } from '../../core/errors.ts';
import type { Log } from '../../core/model/index.ts';
import { MAX_QUEUED_BYTES, parseQueuedDay, type QueuedDay } from './queued-day.ts';

/** Said of what is no vessel-day, in the log. */
export const NOT_A_DAY = 'a job that is no vessel-day is dropped from the queue';

/** What the queue says of one vessel-day. */
interface QueuedFacts {
  /** BullMQ's word: `waiting`, `prioritized`, `delayed`, `active`, `failed`. */
  readonly state: string;
  /** Null where what stands there is no vessel-day. */
  readonly day: QueuedDay | null;
  /** Attempts that have ended. */
  readonly attempts: number;
  /** Why BullMQ has failed it, uncleaned; '' where it has not. */
  readonly failedReason: string;
}

/** One vessel-day in the queue; undefined where it is not there. Reads, and drops nothing. Throws what Redis throws. */
export async function readQueuedFacts(
  redis: Redis,
  bull: Queue,
  id: string,
): Promise<QueuedFacts | undefined> {
  const key = bull.toKey(id);
  const sizes = await Promise.all(FIELDS.map((field) => redis.hstrlen(key, field)));
  const [data, failedReason] = await Promise.all(
    FIELDS.map((field, index) => (sizes[index]! <= MAX_QUEUED_BYTES ? redis.hget(key, field) : null)),
  );
  if (sizes[0] === 0) return undefined;
  const [state, attempts] = await Promise.all([bull.getJobState(id), redis.hget(key, 'atm')]);
  const read = parseQueuedDay(id, data ?? null);
  return {
    state,
    day: read.fault === undefined ? read.day : null,
    attempts: /^\d{1,9}$/.test(attempts ?? '') ? Number(attempts) : 0,
    failedReason: failedReason ?? '',
  };
}

/** Of a job, as BullMQ keeps them. */
const FIELDS = ['data', 'failedReason'] as const;
/** Jobs in one round trip: with MAX_QUEUED_BYTES it bounds the memory that reading takes. */
const CHUNK = 500;

interface ReadJob {
  readonly day: QueuedDay;
  /** Why BullMQ has failed it, uncleaned; '' where it has not. */
  readonly failedReason: string;
}

interface QueueReader {
  /** The vessel-days in some states. Throws what Redis throws. */
  inStates(states: JobType[]): Promise<ReadJob[]>;
  /** Those that stand under some ids, and are vessel-days. Throws what Redis throws. */
  ofIds(ids: readonly string[]): Promise<ReadJob[]>;
}

export function createQueueReader(redis: Redis, bull: Queue, log: Log): QueueReader {
  return { inStates: async (states) => ofIds(await bull.getRanges(states, 0, -1)), ofIds };

  async function ofIds(ids: readonly string[]): Promise<ReadJob[]> {
    const jobs: ReadJob[] = [];
    for (let at = 0; at < ids.length; at += CHUNK) {
      for (const { id, data, failedReason } of await readTexts(ids.slice(at, at + CHUNK))) {
        const read = parseQueuedDay(id, data);
        if (read.fault === undefined) jobs.push({ day: read.day, failedReason });
        else await drop(id, read.fault);
      }
    }
    return jobs;
  }

  /** Data and reasons, as far as they are there and not too long. */
  async function readTexts(ids: readonly string[]) {
    const sizes = await ask((pipeline) => {
      for (const id of ids) for (const field of FIELDS) pipeline.hstrlen(bull.toKey(id), field);
    });
    const isBounded = (index: number) => Number(sizes[index] ?? 0) <= MAX_QUEUED_BYTES;
    const texts = await ask((pipeline) => {
      // A field that no job has, where it is too long: so the answers keep their places.
      for (const [n, id] of ids.entries())
        for (const [m, field] of FIELDS.entries())
          pipeline.hget(bull.toKey(id), isBounded(n * FIELDS.length + m) ? field : '');
    });
    return ids.map((id, n) => {
      const [data, failedReason] = texts.slice(n * FIELDS.length) as (string | null)[];
      return { id, data: data ?? null, failedReason: failedReason ?? '' };
    });
  }

  /** The answers of a pipeline, null where a command failed: what stands in Redis may be of any type. */
  async function ask(fill: (pipeline: ChainableCommander) => void): Promise<unknown[]> {
    const pipeline = redis.pipeline();
    fill(pipeline);
    return ((await pipeline.exec()) ?? []).map(([error, answer]) => (error === null ? answer : null));
  }

  async function drop(id: string, fault: string): Promise<void> {
    const fields = { queueJob: shortName(id), fault };
    try {
      // Taken out meanwhile.
      if ((await redis.exists(bull.toKey(id))) === 0) return;
      // One that is being worked on is its worker's to drop.
      if ((await bull.remove(id)) === 1) log.error(fields, NOT_A_DAY);
    } catch (error) {
      log.error({ ...fields, error: messageOf(error) }, `${NOT_A_DAY}, which failed: remove it by hand`);
    }
  }
}
