/**
 * The shape of a vessel-day in the queue, and the only way to read it. Anyone who can write to Redis can put anything there,
 * and it becomes keys of the lake and labels of metrics: so it is validated like any input. Invalid entries are removed, from
 * the failed set too: an entry that stayed would prevent the vessel-day with its id from being queued.
 */

import type { JobType, Queue } from 'bullmq';
import type { ChainableCommander, Redis } from 'ioredis';
import { z } from 'zod';
import { messageOf, shortName } from '../../core/errors.ts';
import type { Log, VesselDay } from '../../core/model/index.ts';
import { cleanMessage, formatVesselDay, isDate, JOB_NAME, VESSEL_ID } from '../../core/model/index.ts';

export const QUEUE_NAME = 'vessel-days';
const QUEUED_KINDS = ['nightly', 'reconcile', 'backfill'] as const;
export type QueuedKind = (typeof QUEUED_KINDS)[number];
/** Jobs of priority 0 run before all others. */
export const PRIORITY: Readonly<Record<QueuedKind, number>> = { nightly: 0, reconcile: 50, backfill: 100 };

/** A vessel-day as it is queued, without earlier failures and attempts. */
export function newQueuedDay(
  { job, vessel, date }: VesselDay,
  kind: QueuedKind,
  how: Pick<QueuedDay, 'force' | 'allowShrink' | 'compared' | 'unlisted'>,
): QueuedDay {
  return {
    ...{ job, vessel, date, kind },
    ...(how.force && { force: true }),
    ...(how.allowShrink && { allowShrink: true }),
    ...(how.unlisted && { unlisted: true }),
    ...(how.compared && { compared: how.compared }),
  };
}

/** Maximum bytes of a vessel-day in the queue: the text of a failure is the longest. */
const MAX_QUEUED_BYTES = 64 << 10;

const CODE = /^[a-z0-9-]{1,60}$/;
const flag = z.boolean().optional();

const QUEUED_DAY = z.object({
  job: z.string().regex(JOB_NAME, 'expected the name of a job'),
  vessel: z.string().regex(VESSEL_ID, 'expected IMO and seven digits'),
  date: z.string().refine(isDate, 'expected a UTC date YYYY-MM-DD'),
  kind: z.enum(QUEUED_KINDS),
  force: flag,
  allowShrink: flag,
  /** With `force`: only while the published day is still the one that was compared. */
  compared: z.object({ epoch: z.int().min(0), totalsSha256: z.string().min(1).max(100) }).optional(),
  /** The job's discovery did not name the vessel, which is known from the ledger. */
  unlisted: flag,
  /** How often it was handed back because readings and counts disagreed. */
  disagreements: z.int().min(0).max(1_000).optional(),
  /** In the failed set: the failure may be temporary, and the next firing of the schedule retries it. */
  mayPass: flag,
  /** In the failed set: why; BullMQ itself keeps a text only. */
  failure: z
    .object({ code: z.string().regex(CODE), message: z.string().transform((text) => cleanMessage(text)) })
    .optional(),
});

export type QueuedDay = Readonly<z.infer<typeof QUEUED_DAY>>;

/** A vessel-day of the queue, or why it is invalid: what was found, and what was expected. */
type ReadDay = { readonly day: QueuedDay; readonly fault?: undefined } | { readonly fault: string };

/** `id`: its id in the queue. */
export function readQueuedDay(id: string | undefined, data: unknown): ReadDay {
  const parsed = QUEUED_DAY.safeParse(data, { reportInput: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue!.path.map(String).join('.') || 'its data';
    return {
      fault: `${shortName(field)}: got ${shortName(JSON.stringify(issue!.input) ?? 'nothing')}, ${issue!.message}`,
    };
  }
  const expected = formatVesselDay(parsed.data);
  if (id !== expected) return { fault: `id: got ${shortName(JSON.stringify(id))}, expected ${expected}` };
  return { day: parsed.data };
}

/** The same from the text in Redis; null: there is none, or it is too long. */
function parseQueuedDay(id: string, text: string | null): ReadDay {
  if (text === null) return { fault: `its data: got none, or more than ${MAX_QUEUED_BYTES} bytes` };
  try {
    return readQueuedDay(id, JSON.parse(text));
  } catch {
    return { fault: `its data: got ${shortName(text)}, expected JSON` };
  }
}

/** The log line about an invalid entry. */
export const NOT_A_DAY = 'a job that is no vessel-day is dropped from the queue';

const FIELDS = ['data', 'failedReason'] as const;
/** Jobs in one round trip: with MAX_QUEUED_BYTES it bounds the memory for reading. */
const CHUNK = 500;

interface ReadJob {
  readonly day: QueuedDay;
  /** Why BullMQ has failed it, uncleaned; '' where it has not. */
  readonly failedReason: string;
}

/** All functions but `facts` remove invalid entries. All throw what Redis throws. */
export function createQueueReader(redis: Redis, bull: Queue, log: Log) {
  return {
    inStates: async (states: JobType[]) => ofIds(await bull.getRanges(states, 0, -1)),
    ...{ ofIds, facts },
    /** A delayed one waits no more; nothing of it is read. Rejects where it is not delayed any more. */
    promote: async (id: string) => await (await bull.getJob(id))?.promote(),
  };

  /** One vessel-day in the queue, to show; undefined if it is not there. */
  async function facts(id: string) {
    const key = bull.toKey(id);
    const [[found], isThere] = await Promise.all([readTexts([id]), redis.exists(key)]);
    if (isThere === 0) return undefined;
    const [state, attempts] = await Promise.all([bull.getJobState(id), redis.hget(key, 'atm')]);
    const read = parseQueuedDay(id, found!.data);
    return {
      /** BullMQ's word: `waiting`, `prioritized`, `delayed`, `active`, `failed`. */
      state,
      /** Null if the entry is invalid. */
      day: read.fault === undefined ? read.day : null,
      attempts: /^\d{1,9}$/.test(attempts ?? '') ? Number(attempts) : 0,
      /** Why BullMQ has failed it, uncleaned; '' where it has not. */
      failedReason: found!.failedReason,
    };
  }

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

  /** Data and reasons of jobs, unless they are missing or too long. */
  async function readTexts(ids: readonly string[]) {
    const sizes = await ask((pipeline) => {
      for (const id of ids) for (const field of FIELDS) pipeline.hstrlen(bull.toKey(id), field);
    });
    const isBounded = (index: number) => Number(sizes[index] ?? 0) <= MAX_QUEUED_BYTES;
    const texts = await ask((pipeline) => {
      // If it is too long, a field that no job has is read instead, so that the replies keep their positions.
      for (const [n, id] of ids.entries())
        for (const [m, field] of FIELDS.entries())
          pipeline.hget(bull.toKey(id), isBounded(n * FIELDS.length + m) ? field : '');
    });
    return ids.map((id, n) => {
      const [data, failedReason] = texts.slice(n * FIELDS.length) as (string | null)[];
      return { id, data: data ?? null, failedReason: failedReason ?? '' };
    });
  }

  /** The replies of a pipeline, null where a command failed: a key in Redis may be of any type. */
  async function ask(fill: (pipeline: ChainableCommander) => void): Promise<unknown[]> {
    const pipeline = redis.pipeline();
    fill(pipeline);
    return ((await pipeline.exec()) ?? []).map(([error, answer]) => (error === null ? answer : null));
  }

  async function drop(id: string, fault: string): Promise<void> {
    const fields = { queueJob: shortName(id), fault };
    try {
      // It was removed meanwhile.
      if ((await redis.exists(bull.toKey(id))) === 0) return;
      // If it is active, its worker removes it.
      if ((await bull.remove(id)) === 1) log.error(fields, NOT_A_DAY);
    } catch (error) {
      log.error({ ...fields, error: messageOf(error) }, `${NOT_A_DAY}, which failed: remove it by hand`);
    }
  }
}

/** Vessel-days by kind and state; `other` are those that were not read, or are of no kind of ours. */
export interface KindCount {
  readonly kind: string;
  readonly waiting: number;
  readonly delayed: number;
  readonly failed: number;
}

/** Maximum that is read in each of the two states that are not ordered by kind. */
export const KINDS_COUNTED_AT_MOST = 1_000;
/** The score of a priority, as BullMQ computes it. */
const SCORES = 2 ** 32;

/** KEYS: wait, prioritized, delayed, failed. Of each kind: [waiting, delayed, failed], then all of each. */
const COUNT = `
local function ask(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return false end
  return answer
end
local kinds, most, scores = cjson.decode(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local rows, place = {}, {}
for i, kind in ipairs(kinds) do
  local from = kind.priority * scores
  local waiting = kind.priority == 0 and ask('LLEN', KEYS[1])
    or ask('ZCOUNT', KEYS[2], from, '(' .. string.format('%.0f', from + scores))
  rows[i] = { waiting or 0, 0, 0 }
  place[kind.name] = rows[i]
end
local all = { (ask('LLEN', KEYS[1]) or 0) + (ask('ZCARD', KEYS[2]) or 0) }
for state = 2, 3 do
  local key = KEYS[state + 1]
  all[state] = ask('ZCARD', key) or 0
  for _, id in ipairs(ask('ZREVRANGE', key, 0, most - 1) or {}) do
    local size = ask('HSTRLEN', ARGV[1] .. id, 'name')
    local name = size and size < 40 and ask('HGET', ARGV[1] .. id, 'name')
    local row = name and place[name]
    if row then row[state] = row[state] + 1 end
  end
end
rows[#rows + 1] = all
return rows`;

/**
 * How many vessel-days of each kind are in the queue, in one round trip and without reading all of it: waiting ones are
 * distinguished by list and score, and of delayed and failed ones a bounded number is read. `redis`: a connection whose
 * commands fail while Redis is unreachable. Throws what Redis throws.
 */
export async function countKinds(redis: Pick<Redis, 'eval'>, queue: Queue): Promise<readonly KindCount[]> {
  const keys = ['wait', 'prioritized', 'delayed', 'failed'].map((end) => queue.toKey(end));
  const kinds = QUEUED_KINDS.map((name) => ({ name, priority: PRIORITY[name] }));
  const args = [queue.toKey(''), JSON.stringify(kinds), KINDS_COUNTED_AT_MOST, SCORES];
  const answer = (await redis.eval(COUNT, keys.length, ...keys, ...args)) as unknown[];
  const countOf = (kind: string, row: unknown): KindCount => {
    const [waiting = 0, delayed = 0, failed = 0] = row as number[];
    return { kind, waiting, delayed, failed };
  };
  const all = countOf('other', answer.pop());
  const named = QUEUED_KINDS.map((kind, index) => countOf(kind, answer[index]));
  const rest = (of: 'waiting' | 'delayed' | 'failed') =>
    Math.max(0, all[of] - named.reduce((sum, each) => sum + each[of], 0));
  const other = { kind: 'other', waiting: rest('waiting'), delayed: rest('delayed'), failed: rest('failed') };
  return other.waiting + other.delayed + other.failed > 0 ? [...named, other] : named;
}
