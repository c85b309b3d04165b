/**
 * One process at work under the shared cap: asks the listener again and again, as many at once as its limit, until
 * it is killed or told to stop (its standard input ends). Says who it is and what it knows in the request's headers.
 */

import { systemClock } from '../../src/model/ports.ts';
import { openRedis } from '../../src/queue/redis.ts';
import { createSharedCap } from '../../src/queue/shared-cap.ts';
import { createSharedPace } from '../../src/queue/shared-pace.ts';

export interface ChildOptions {
  readonly name: string;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly origin: string;
  readonly limit: number;
  readonly leaseMs: number;
  readonly settleMs: number;
}

const { name, redisUrl, prefix, origin, limit, leaseMs, settleMs }: ChildOptions = JSON.parse(
  process.argv[2]!,
);
const connection = await openRedis(redisUrl);
const common = { connection, prefix, clock: systemClock, random: Math.random, leaseMs, pollMs: 200 };
const pace = createSharedPace({ ...common, group: 'all' });
const cap = createSharedCap({ ...common, credential: 'reader', limit, pace, settleMs, patienceMs: 600 });
const stop = new AbortController();
process.stdin.resume().once('end', () => stop.abort());

async function work(): Promise<void> {
  while (!stop.signal.aborted) {
    const lease = await cap.acquire(stop.signal);
    try {
      const headers = { 'x-name': name, 'x-current': `${cap.current}` };
      const answer = await fetch(origin, { headers });
      await answer.arrayBuffer();
      if (answer.status === 429) cap.limited();
    } finally {
      lease.release();
    }
  }
}

await Promise.allSettled(Array.from({ length: limit * 2 }, work));
await cap.close();
await pace.close();
await connection.close();
