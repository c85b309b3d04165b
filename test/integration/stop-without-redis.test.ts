/** A fleet's processes end when they are told to, also while Redis is out of reach. */
import { afterEach, describe, expect, test } from 'vitest';
import { CancelledError } from '../../src/core/errors.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import type { FleetBench } from './fleet-bench.ts';
import { openFleetBench } from './fleet-bench.ts';

describe.skipIf(!canStartOwnRedis())('without Redis', () => {
  let bench: FleetBench;
  afterEach(() => bench[Symbol.asyncDispose]());

  test.for(['worker', 'schedule'] as const)('a %s ends when it is told to', async (command) => {
    bench = await openFleetBench({
      job: { schedule: { cron: '15 6 * * *', timezone: 'UTC', settle: '6h' } },
    });
    const started = bench.start({ command });
    await started.until(/is ready/);
    await bench.redis.kill();
    await started.until(/lost Redis/);
    started.child.kill('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(started.output).toContain('"stopped"');
    await bench.redis.start();
  });

  test('an attached backfill ends when it is interrupted', async () => {
    bench = await openFleetBench();
    const interrupt = new AbortController();
    const followed = bench.backfill({ from: '2026-01-05', to: '2026-01-07' }, interrupt.signal);
    const interrupted = expect(followed).rejects.toThrow(CancelledError);
    // No worker takes them.
    await expect.poll(() => bench.queue.depth()).toMatchObject({ prioritized: 2 });
    await bench.redis.kill();
    interrupt.abort();
    await interrupted;
    await bench.redis.start();
  });
});
