/**
 * The hold: a fault that every vessel-day would meet (a refused credential, a full disk) stops the queue instead
 * of failing all of them. A marker in Redis says why and since when; it is placed once, and only who placed it
 * says so as an error. Whoever finds that the fault has passed lifts it.
 */
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { cleanMessage, shortName } from '../model/index.ts';

export interface Hold {
  readonly code: string;
  readonly message: string;
  readonly host: string;
  readonly sinceMs: number;
}

export interface QueueHold {
  /** Pause the queue for all workers. True: nobody had done so before. */
  place(hold: Hold): Promise<boolean>;
  read(): Promise<Hold | undefined>;
  /**
   * Let the queue go on, if it was on hold; true then. A queue that was paused by hand stays so. `byHand`: somebody wants
   * every process to try, whatever its probe says.
   */
  lift(how?: { readonly byHand: boolean }): Promise<boolean>;
  /** How often somebody has lifted one by hand. */
  handLifts(): Promise<number>;
}

/**
 * Marker and pause change in one step: between two, somebody could place what is being lifted, and the queue would
 * stand still without a reason. So BullMQ's way to pause a queue (a field of its `meta`, and no `marker` for those who
 * wait for work) is repeated here. KEYS: the hold, `meta`, `marker`, the count of those lifted by hand.
 */
const PLACE = `
redis.call('hset', KEYS[2], 'paused', 1)
redis.call('del', KEYS[3])
return redis.call('set', KEYS[1], ARGV[1], 'NX') and 1 or 0`;

const LIFT = `
if redis.call('del', KEYS[1]) == 0 then return 0 end
redis.call('hdel', KEYS[2], 'paused')
redis.call('zadd', KEYS[3], 0, '0')
if ARGV[1] == '1' then redis.call('incr', KEYS[4]) end
return 1`;

/** A marker of its own tells a hold from a queue that somebody paused by hand. */
export function createQueueHold(redis: Redis, queue: Queue): QueueHold {
  const key = queue.toKey('hold');
  const liftsKey = queue.toKey('hold-lifts');
  const keys = [key, queue.toKey('meta'), queue.toKey('marker'), liftsKey];
  return {
    place: async (hold) => (await redis.eval(PLACE, keys.length, ...keys, JSON.stringify(hold))) === 1,
    async read() {
      const text = await redis.get(key);
      return text === null ? undefined : parseHold(text);
    },
    lift: async ({ byHand } = { byHand: false }) =>
      (await redis.eval(LIFT, keys.length, ...keys, byHand ? '1' : '0')) === 1,
    handLifts: async () => Number(await redis.get(liftsKey)) || 0,
  };
}

const HOLD = z.object({
  code: z.string().regex(/^[a-z0-9-]{1,60}$/),
  message: z.string().transform((text) => cleanMessage(text)),
  host: z.string().transform(shortName),
  sinceMs: z.number(),
});

/** Whatever stands in its place stops the queue, and is lifted like any other. */
const UNREADABLE: Hold = { code: 'unknown', message: 'its marker cannot be read', host: '-', sinceMs: 0 };

function parseHold(text: string): Hold {
  try {
    return HOLD.parse(JSON.parse(text));
  } catch {
    return UNREADABLE;
  }
}
