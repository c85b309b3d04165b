/** A fleet's processes end when they are told to, also while Redis is out of reach. */
import { afterEach, describe, expect, test } from 'vitest';
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
});
