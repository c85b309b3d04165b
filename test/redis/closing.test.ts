/** How a process leaves the shared limits when Redis stands still: what it holds there runs out by itself. */
import { expect, test } from 'vitest';
import { openRedis } from '../../src/redis/connection.ts';
import { SharedConcurrencyLimit } from '../../src/redis/shared-concurrency-limit.ts';
import { SharedRateLimit } from '../../src/redis/shared-rate-limit.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';

test.skipIf(!canStartOwnRedis())('a Redis that stands still keeps nobody who leaves', async () => {
  await using redis = await startOwnRedis();
  // No answer is waited for any longer than this test lasts.
  const connection = await openRedis(redis.url, { answerTimeoutMs: 3_600_000 });
  const clock = createManualClock(Date.parse('2026-01-10T12:00:00Z'));
  const common = { connection, clock, prefix: 'closing', random: () => 0.5 };
  const rateLimit = new SharedRateLimit({ ...common, group: 'all', perMinute: 600 });
  const limit = new SharedConcurrencyLimit({ ...common, credential: 'one', limit: 2, rateLimit });
  await rateLimit.take();
  // It stands in the line in Redis, and is to leave it.
  void limit.acquire();
  await clock.untilSleeping();
  redis.freeze();
  const left = Promise.all([limit.close(), rateLimit.close()]);
  expect(clock.sleeping().filter((delayMs) => delayMs === 2_000)).toHaveLength(2);
  await clock.advance(2_000);
  await left;
  await connection.close();
});
