/** A fleet's processes end when they are told to, also while Redis is out of reach. */
import { expect, test } from 'vitest';
import { CancelledError } from '../../src/core/errors.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import { openFleetBench } from './fleet-bench.ts';

test.skipIf(!canStartOwnRedis())(
  'a worker, a scheduler and an attached backfill end when they are told to',
  async () => {
    await using bench = await openFleetBench({
      job: { schedule: { cron: '15 6 1 1 *', timezone: 'UTC', settle: '6h' } },
    });
    const interrupt = new AbortController();
    const followed = bench.backfill({ from: '2026-01-05', to: '2026-01-07' }, interrupt.signal);
    const interrupted = expect(followed).rejects.toThrow(CancelledError);
    await expect.poll(() => bench.queue.depth()).toMatchObject({ prioritized: 2 });
    bench.service.faults = () => ({ kind: 'stall', at: 'headers' });
    const started = (['worker', 'schedule'] as const).map((command) => bench.start({ command }));
    await Promise.all(started.map((one) => one.until(/is ready/)));
    await bench.redis.kill();
    interrupt.abort();
    await interrupted;
    for (const one of started) {
      await one.until(/lost Redis/);
      one.child.kill('SIGTERM');
      expect(await one.ended).toEqual({ code: 0, signal: null });
      expect(one.output).toContain('"stopped"');
    }
    await bench.redis.start();
  },
);
