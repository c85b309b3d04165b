/**
 * The hold: a fault that affects every vessel-day (a refused credential, a full disk) pauses the queue instead of failing all
 * of them. A paused queue is on hold, with a reason or without one; a reason without a pause has no effect. Both are fields of
 * one key, so that no eviction removes only the reason.
 */
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { cleanMessage, shortName } from '../../core/model/index.ts';

export type QueueHold = ReturnType<typeof createQueueHold>;

/** The reason, and where it was found, if that is known. */
export function describeHold({ code, message, host }: Hold): string {
  return `${host === null ? code : `${code} at ${host}`}: ${message}`;
}

export const PAUSED = 'paused';
/** A field of BullMQ's `meta`, as its `paused` is. */
const REASON = 'vessel-export:hold';

/**
 * Reason and pause change in one step: between two steps another process could place a hold while it is lifted. So BullMQ's
 * way to pause a queue (a field of its `meta`, and no `marker` for workers that wait) is repeated here. KEYS: `meta`,
 * `marker`, the count of holds that were lifted by hand.
 */
const PLACE = `
if redis.call('hexists', KEYS[1], 'paused') == 1 then return 0 end
redis.call('hset', KEYS[1], 'paused', 1, '${REASON}', ARGV[1])
redis.call('del', KEYS[2])
return 1`;

const LIFT = `
local reasons = redis.call('hdel', KEYS[1], '${REASON}')
if reasons == 0 and ARGV[1] == '0' then return 0 end
if redis.call('hdel', KEYS[1], 'paused') == 0 then return 0 end
redis.call('zadd', KEYS[2], 0, '0')
if ARGV[1] == '1' then redis.call('incr', KEYS[3]) end
return 1`;

/** `redis`: its commands wait while Redis is unreachable, so that a fault is not lost; those of `client` reject at once. */
export function createQueueHold(redis: Redis, client: Redis, toKey: (end: string) => string) {
  const keys = ['meta', 'marker', 'hold-lifts'].map(toKey);
  return {
    /** Pause the queue for all workers. True: it was not paused before. */
    place: async (hold: Hold) => (await redis.eval(PLACE, keys.length, ...keys, JSON.stringify(hold))) === 1,
    async read(): Promise<Hold | undefined> {
      const [paused, reason] = await client.hmget(keys[0]!, 'paused', REASON);
      if (typeof paused !== 'string') return undefined;
      return typeof reason === 'string' ? parseHold(reason) : WITHOUT_REASON;
    },
    /** `byHand`: every process tries again; only this resumes a queue that was paused without a reason. True: it was on hold. */
    lift: async ({ byHand } = { byHand: false }) =>
      (await client.eval(LIFT, keys.length, ...keys, byHand ? '1' : '0')) === 1,
    handLifts: async () => Number(await client.get(keys[2]!)) || 0,
  };
}

const HOLD = z.object({
  code: z.string().regex(/^[a-z0-9-]{1,60}$/),
  message: z.string().transform((text) => cleanMessage(text)),
  /** Host of the process that placed it, and when; null: unknown. */
  host: z.string().transform(shortName).nullable(),
  sinceMs: z.number().nullable(),
});
export type Hold = Readonly<z.infer<typeof HOLD>>;

const WITHOUT_REASON: Hold = {
  code: PAUSED,
  message:
    "the queue is paused for an unknown reason: it was paused by hand, or the reason was lost; 'vessel-export hold lift' resumes it",
  ...{ host: null, sinceMs: null },
};

/** A reason that cannot be read holds the queue too, and is lifted like any other. */
const UNREADABLE: Hold = { code: 'unknown', message: 'its reason cannot be read', host: null, sinceMs: null };

function parseHold(text: string): Hold {
  try {
    return HOLD.parse(JSON.parse(text));
  } catch {
    return UNREADABLE;
  }
}

const NOT_ON_HOLD = 'the queue is not on hold';

/** Whether the queue is on hold, since when and why, as a sentence. */
export async function sayHold({ hold }: { readonly hold: QueueHold }): Promise<string> {
  const found = await hold.read();
  if (found === undefined) return NOT_ON_HOLD;
  const since = found.sinceMs === null ? '' : ` since ${new Date(found.sinceMs).toISOString()}`;
  return `the queue is on hold${since}: ${describeHold(found)}`;
}

/** Resume the queue, so that every worker tries whatever its probe says; returns what was done, as a sentence. It can be repeated. */
export async function liftHold({ hold }: { readonly hold: QueueHold }): Promise<string> {
  const before = await hold.read();
  if (!(await hold.lift({ byHand: true }))) return NOT_ON_HOLD;
  return `the queue continues; it was on hold for '${before?.code ?? 'unknown'}'. Workers try within seconds: if the fault lasts, the queue is on hold again with its reason`;
}
