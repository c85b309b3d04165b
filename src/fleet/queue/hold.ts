/**
 * The hold: a fault that every vessel-day would meet (a refused credential, a full disk) stops the queue instead of failing
 * all of them. The pause stops workers, so the pause decides: a paused queue is on hold, with its reason or without one, and
 * a reason beside no pause counts for nothing. Both are fields of one key, so that no eviction takes the reason alone.
 */
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { cleanMessage, shortName } from '../../core/model/index.ts';

export type QueueHold = ReturnType<typeof createQueueHold>;

/** Why, and what is known of where it was found. */
export function describeHold({ code, message, host }: Hold): string {
  return `${host === null ? code : `${code} at ${host}`}: ${message}`;
}

export const PAUSED = 'paused';
/** A field of BullMQ's `meta`, as its `paused` is. */
const REASON = 'vessel-export:hold';

/**
 * Reason and pause change in one step: between two, somebody could place what is being lifted. So BullMQ's way to pause a
 * queue (a field of its `meta`, and no `marker` for those who wait for work) is repeated here. KEYS: `meta`, `marker`, the
 * count of those lifted by hand.
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

/** `redis`: its commands wait while Redis is away, so that a fault is not forgotten; those of `client` reject at once. */
export function createQueueHold(redis: Redis, client: Redis, toKey: (end: string) => string) {
  const keys = ['meta', 'marker', 'hold-lifts'].map(toKey);
  return {
    /** Pause the queue for all workers. True: nobody had done so before. */
    place: async (hold: Hold) => (await redis.eval(PLACE, keys.length, ...keys, JSON.stringify(hold))) === 1,
    async read(): Promise<Hold | undefined> {
      const [paused, reason] = await client.hmget(keys[0]!, 'paused', REASON);
      if (typeof paused !== 'string') return undefined;
      return typeof reason === 'string' ? parseHold(reason) : WITHOUT_REASON;
    },
    /** `byHand`: every process tries; only so does a queue go on that was paused without a reason. True: it was on hold. */
    lift: async ({ byHand } = { byHand: false }) =>
      (await client.eval(LIFT, keys.length, ...keys, byHand ? '1' : '0')) === 1,
    handLifts: async () => Number(await client.get(keys[2]!)) || 0,
  };
}

const HOLD = z.object({
  code: z.string().regex(/^[a-z0-9-]{1,60}$/),
  message: z.string().transform((text) => cleanMessage(text)),
  /** Of the process that placed it, and when; null: nobody knows. */
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

/** Whatever stands in its place stops the queue, and is lifted like any other. */
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

/** Let every worker try, whatever its probe says, and say what was done; done twice it is done. */
export async function liftHold({ hold }: { readonly hold: QueueHold }): Promise<string> {
  const before = await hold.read();
  if (!(await hold.lift({ byHand: true }))) return NOT_ON_HOLD;
  return `the queue continues; it was on hold for '${before?.code ?? 'unknown'}'. Workers try within seconds: if the fault lasts, the queue is on hold again with its reason`;
}
