/** The fleet under its concurrency limit, and under chaos. With CHAOS_DAYS it does the second for longer. */
import { afterEach, describe, expect, test } from 'vitest';
import { addDays, datesBetween } from '../../src/core/model/index.ts';
import { backfillId } from '../../src/lake/backfills.ts';
import type { Ingredient } from '../chaos/chaos.ts';
import { INGREDIENTS, runChaos } from '../chaos/chaos.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import { OTHER_VESSEL, VESSEL } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import type { FleetBench } from './fleet-bench.ts';
import { metricOf, openFleetBench, publishedBy } from './fleet-bench.ts';

const s3 = await s3ForTests();
/** Days of the chaos; two vessels each. */
const DAYS = Number(process.env.CHAOS_DAYS ?? 11);
const FROM = '2026-01-05';
/** What strikes is shown only where somebody asked for more of it. */
const say = process.env.CHAOS_DAYS === undefined ? () => {} : console.log;
/** What strikes: all of it, or the named ones, as `CHAOS=late-writes,poison`. */
const CHAOS: ReadonlySet<Ingredient> = new Set(
  (process.env.CHAOS?.split(',') as Ingredient[] | undefined) ?? [...INGREDIENTS, 'poison'],
);
/** Of the days before it every reading is compared. */
const READ_TO = '2026-01-09';
/** Readings a day that take the service long enough for requests to overlap. */
const OVERLAPPING = 60_000;

describe.skipIf(!canStartOwnRedis())('a fleet of three workers', { timeout: 480_000 + DAYS * 10_000 }, () => {
  let bench: FleetBench;
  afterEach(() => bench[Symbol.asyncDispose]());

  test('under a cap of what the service takes at once, not one request is refused', async () => {
    bench = await openFleetBench({
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

  test.for([
    ['in a folder', 'plain', undefined],
    ['on S3', 'plain', s3],
    ['on S3', 'delta', s3],
    // A folder is quick to tell a process that it was overtaken: for longer only.
    ...(process.env.CHAOS_DAYS === undefined ? [] : [['in a folder', 'delta', undefined] as const]),
  ] as const)(
    'killed at random, with all around it failing, it loses and doubles no day %s, %s',
    async ([where, layout, store], { skip }) => {
      if (where === 'on S3' && store === undefined) skip();
      const env = { LAKE_LAYOUT: layout };
      bench = await openFleetBench({ service: { vessels: 2, readingsPerDay: 1_500 }, s3: store, env });
      const to = addDays(FROM, DAYS);
      const happened = await runChaos(bench, {
        vessels: [VESSEL, OTHER_VESSEL],
        dates: datesBetween(FROM, to),
        workers: 3,
        seed: 20_260_105,
        ingredients: CHAOS,
        say,
      });
      expect(happened.progress).toContain(`${2 * DAYS} done, 0 failed`);
      expect(happened.kills).toBeGreaterThan(3);
      // Each struck at least once.
      expect([...happened.strikes.keys()].sort()).toEqual([...CHAOS].sort());
      expect(happened.refusedRequests > 0).toBe(CHAOS.has('busy-service'));
      expect(happened.illAnswers > 0).toBe(CHAOS.has('ill-service'));
      await bench.expectExact([VESSEL, OTHER_VESSEL], FROM, to);
      if (layout === 'delta') await bench.expectTable();
      const { code, stdout } = await bench.verify();
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(new RegExp(`${2 * DAYS} vessel-days verified .*: no findings`)),
      });
    },
  );
});
