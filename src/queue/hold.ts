/**
 * The hold: a fault that every vessel-day would meet (a refused credential, a full disk) stops the queue instead
 * of failing all of them. A marker in Redis says why and since when; it is placed once, and only who placed it
 * says so as an error. Whoever finds that the fault has passed lifts it.
 */
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

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
  /** Let the queue go on. True: it was on hold. */
  lift(): Promise<boolean>;
}

/** A marker of its own tells a hold from a queue that somebody paused by hand. */
export function createQueueHold(redis: Redis, queue: Queue): QueueHold {
  const key = queue.toKey('hold');
  return {
    async place(hold) {
      const placed = (await redis.set(key, JSON.stringify(hold), 'NX')) === 'OK';
      await queue.pause();
      return placed;
    },
    async read() {
      const text = await redis.get(key);
      return text === null ? undefined : (JSON.parse(text) as Hold);
    },
    async lift() {
      await queue.resume();
      return (await redis.del(key)) === 1;
    },
  };
}
