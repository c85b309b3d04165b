/**
 * One process at work under the shared concurrency limit: asks the listener again and again, as many at once as its limit, until
 * it is killed or told to stop (its standard input ends). Says who it is and what it knows in the request's headers.
 */

import { systemClock } from '../../src/core/model/ports.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { SharedConcurrencyLimit } from '../../src/redis/shared-concurrency-limit.ts';
import { SharedRateLimit } from '../../src/redis/shared-rate-limit.ts';

export interface ChildOptions {
  readonly name: string;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly origin: string;
  readonly limit: number;
  readonly ttlMs: number;
  readonly settleMs: number;
}

const { name, redisUrl, prefix, origin, limit, ttlMs, settleMs }: ChildOptions = JSON.parse(process.argv[2]!);
const connection = await openRedis(redisUrl);
const common = { connection, prefix, clock: systemClock, random: Math.random, ttlMs, pollMs: 200 };
const rateLimit = new SharedRateLimit({ ...common, group: 'all' });
const concurrencyLimit = new SharedConcurrencyLimit({
  ...common,
  credential: 'reader',
  limit,
  rateLimit,
  settleMs,
  patienceMs: 600,
});
const stop = new AbortController();
process.stdin.resume().once('end', () => stop.abort());

async function work(): Promise<void> {
  while (!stop.signal.aborted) {
    const slot = await concurrencyLimit.acquire(stop.signal);
    try {
      const headers = { 'x-name': name, 'x-current': `${concurrencyLimit.current}` };
      const answer = await fetch(origin, { headers });
      await answer.arrayBuffer();
      if (answer.status === 429) concurrencyLimit.limited();
    } finally {
      slot.release();
    }
  }
}

await Promise.allSettled(Array.from({ length: limit * 2 }, work));
await concurrencyLimit.close();
await rateLimit.close();
await connection.close();
