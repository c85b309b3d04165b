/** The fleet of three workers under its concurrency limit. */
import { afterEach, describe, expect, test } from 'vitest';
import { addDays } from '../../src/core/model/index.ts';
import { backfillId } from '../../src/lake/backfills.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import { OTHER_VESSEL, VESSEL } from '../helpers/run.ts';
import type { FleetBench } from '../integration/fleet-bench.ts';
import { metricOf, openFleetBench, publishedBy } from '../integration/fleet-bench.ts';

const FROM = '2026-01-05';
/** Of the days before it every reading is compared. */
const READ_TO = '2026-01-09';
/** Readings a day that take the service long enough for requests to overlap. */
const OVERLAPPING = 60_000;

describe.skipIf(!canStartOwnRedis())('a fleet of three workers', () => {
  let bench: FleetBench;
  afterEach(() => bench[Symbol.asyncDispose]());

  test('under a cap of what the service takes at once, not one request is refused', async () => {
    bench = await openFleetBench({
      job: { select: ['flat/{vessel}/*'] },
      service: { vessels: 2, readingsPerDay: OVERLAPPING, maxConcurrency: 3 },
      // Fewer places than vessel-days, even where one worker is quicker to ask.
      env: { QUERY_MAX_CONCURRENCY: '3', WORKER_CONCURRENCY: '2' },
    });
    const workers = [1, 2, 3].map(() => bench.start({ command: 'worker' }));
    await Promise.all(workers.map((worker) => worker.until(/worker is ready/)));
    const { said } = await bench.backfill({ from: FROM, to: '2026-01-09' });
    expect(said).toContain('8 done, 0 failed');
    for (const worker of workers) expect(publishedBy(worker).length).toBeGreaterThan(0);
    expect(bench.service.requests.filter(({ status }) => status === 429)).toEqual([]);
    await bench.expectExact([VESSEL, OTHER_VESSEL], FROM, '2026-01-09');
  });

  test('under a cap far above that, it settles near it and every day is exact', async () => {
    const takes = 2;
    bench = await openFleetBench({
      job: { select: ['flat/{vessel}/*'] },
      service: { vessels: 2, readingsPerDay: OVERLAPPING, maxConcurrency: takes },
      env: { QUERY_MAX_CONCURRENCY: '20' },
    });
    const workers = [1, 2, 3].map(() => bench.start({ command: 'worker', maxAttempts: 100 }));
    await Promise.all(workers.map((worker) => worker.until(/worker is ready/)));
    // More than can be done before it settles: every halving of the concurrency limit takes five seconds.
    const range = {
      job: 'measurements',
      from: FROM,
      to: addDays(FROM, 300),
      vessels: [],
      allowShrink: false,
    };
    await bench.backfill({ from: FROM, to: range.to, detach: true });
    const caps = () => Promise.all(workers.map((worker) => metricOf(worker, 'vessel_export_cap')));
    const refusals = (answers: typeof bench.service.requests) =>
      answers.filter(({ status }) => status === 429).length;
    // Twelve vessel-days want their turn all the time: at the concurrency limit of the beginning most answers are refusals. It
    // creeps up by one every 30 seconds, which may cost one again.
    const settled = async () => {
      const last = bench.service.requests.slice(-30);
      const isRare = last.length === 30 && refusals(last) <= 3;
      return isRare && (await caps()).every((concurrencyLimit) => concurrencyLimit <= takes + 1);
    };
    await expect.poll(settled, { interval: 500 }).toBe(true);
    expect(refusals(bench.service.requests)).toBeGreaterThan(0);
    const isRead = async () => (await bench.firstOpenDate(FROM)) >= READ_TO;
    await expect.poll(isRead, { interval: 500 }).toBe(true);
    await bench.cancel(backfillId(range));
    const to = await bench.firstOpenDate(FROM);
    expect((await bench.backfill({ from: FROM, to })).said).toContain(' done, 0 failed');
    // Every reading of the first days, which came while most requests were refused; receipts of all.
    await bench.expectExact([VESSEL, OTHER_VESSEL], FROM, to, READ_TO);
  });
});
