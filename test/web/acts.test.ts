/** What a person does by the page is done: with a real queue, lake, worker and service. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dayRange, formatVesselDay, systemClock, type VesselDay } from '../../src/core/model/index.ts';
import { listBackfills } from '../../src/lake/backfills.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { noteOf, receiptOf, serviceNames } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../helpers/run.ts';
import {
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  OTHER_VESSEL,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';
import { type NoticeBench, openNoticeBench } from '../integration/fleet-in-process.ts';
import { type ActsPage, openActs } from './acts-bench.ts';

const redis = await redisForTests();
const JOB: JobFile = { ...FEW_SERIES, since: '2026-01-04', schedule: { cron: '15 6 * * *', settle: '6h' } };
const OLD: VesselDay = { job: 'measurements', vessel: VESSEL, date: '2026-01-05' };
const OLDER: VesselDay = { ...OLD, date: '2026-01-04' };
const NIGHT: VesselDay = { ...OLD, date: '2026-01-07' };

describe.skipIf(redis === undefined)('by the page', () => {
  let base: TestLake;
  let service: TestService;
  let bench: NoticeBench;
  let page: ActsPage;
  let series: string[];

  beforeAll(async () => {
    base = await newLake();
    service = await startTestService({ readingsPerDay: 1_000, vessels: 2 });
    series = [...(await serviceNames(service, FEW_EXPRESSIONS)).keys()].sort();
    const clock = { ...systemClock, nowMs: () => Date.parse('2026-01-07T07:00:00Z') };
    const args = { from: OLDER.date, to: NIGHT.date };
    await mustExport({ service, lakeUrl: base.url, jobs: { measurements: JOB }, args, overrides: { clock } });
  });
  afterAll(async () => {
    await service.close();
    await base[Symbol.asyncDispose]();
    await redis!.stop();
  });
  const open = async (job: JobFile) => {
    bench = await openNoticeBench({
      ...{ service, lakeDir: base.dir, job, redis: redis! },
    });
    const { fleet } = bench;
    const { store, ports, config } = fleet.app;
    page = await openActs({ store, jobs: config.jobs, clock: ports.clock, fleet });
  };
  beforeEach(() => open(JOB));
  afterEach(async () => {
    service.faults = undefined;
    service.hiddenSeries.clear();
    await page[Symbol.asyncDispose]();
    await bench[Symbol.asyncDispose]();
  });

  function answer(fault: Fault, families: readonly string[] = ['measurements', 'statistics']): void {
    service.faults = ({ family }) => (families.includes(family) ? fault : undefined);
  }
  const poll = <T>(look: () => T | Promise<T>) => expect.poll(look);
  const inQueue = async (day: VesselDay) => (await bench.fleet.queue.find(day))?.state;
  const again = (day: VesselDay, allowShrink = false) => page.act({ act: 'try-again', ...day, allowShrink });
  async function fail(): Promise<() => Promise<void>> {
    answer({ kind: 'status', status: 400 }, ['measurements']);
    const stop = bench.work();
    await bench.look();
    await poll(() => inQueue(NIGHT)).toBe('failed');
    service.faults = undefined;
    return stop;
  }

  describe('a vessel-day is tried again', () => {
    test('that is in the failed set, once however often it is pressed', async () => {
      const stop = await fail();
      await stop();
      const both = await Promise.all([again(NIGHT), again(NIGHT)]);
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
      expect(await again(NIGHT)).toMatchObject({
        status: 200,
        message: expect.stringContaining('its turn comes'),
      });
      const { waiting, prioritized, failed } = await bench.fleet.queue.depth();
      expect([waiting + prioritized, failed]).toEqual([1, 0]);
      bench.work();
      await poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();
      await poll(() => inQueue(NIGHT)).toBeUndefined();
      expect(await again(NIGHT)).toMatchObject({
        status: 200,
        message: `${formatVesselDay(NIGHT)} is published as its job asks: there is nothing to try again`,
      });
    });

    test('that waits for series, without the rest of its wait', async () => {
      for (const id of series.slice(2)) service.hiddenSeries.add(id);
      const stop = bench.work();
      await bench.look();
      await poll(() => noteOf(bench.lake.dir, NIGHT)).toMatchObject({ state: 'waiting' });
      await stop();
      service.hiddenSeries.clear();
      // The queue has a clock of its own, by which the wait of the test's days was over long ago.
      await bench.fleet.queue.remove(NIGHT);
      const opts = { jobId: formatVesselDay(NIGHT), delay: 3_600_000 };
      await bench.fleet.queue.bull.add('nightly', { ...NIGHT, kind: 'nightly', disagreements: 2 }, opts);
      expect(await inQueue(NIGHT)).toBe('delayed');
      expect((await again(NIGHT)).message).toContain('is tried now');
      expect(await bench.fleet.queue.find(NIGHT)).toEqual({
        state: 'waiting',
        queued: { ...NIGHT, kind: 'nightly' },
      });
      bench.work();
      await poll(async () => (await receiptOf(bench.lake.dir, NIGHT))?.remark ?? 'none').toBe('none');
      await poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();
    });

    test('with three dead workers behind it: it has them no more', async () => {
      await bench.look();
      const { bull } = bench.fleet.queue;
      await bench.fleet.redis.hset(bull.toKey(formatVesselDay(NIGHT)), 'stc', 3);
      const stop = bench.work();
      await poll(() => inQueue(NIGHT)).toBe('failed');
      await stop();
      expect((await again(NIGHT)).message).toContain('out of the failed set');
      bench.work();
      await poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();
    });

    test('that is under way: it is left alone', async () => {
      answer({ kind: 'stall', at: 'headers' }, ['measurements']);
      bench.work();
      await bench.look();
      await poll(() => inQueue(NIGHT)).toBe('active');
      expect(await again(NIGHT)).toMatchObject({
        status: 200,
        message: expect.stringContaining('being exported'),
      });
      expect(await again(NIGHT, true)).toMatchObject({ status: 409, code: 'under-way' });
      service.faults = undefined;
    });

    test('not before its day is over', async () => {
      expect(await again({ ...NIGHT, date: '2026-01-08' })).toMatchObject({ status: 409, code: 'not-due' });
      expect(await again({ ...NIGHT, date: '2199-12-31' })).toMatchObject({ status: 409, code: 'not-due' });
      const { waiting, prioritized, delayed } = await bench.fleet.queue.depth();
      expect(waiting + prioritized + delayed).toBe(0);
    });

    test('that was refused: refused again, and published with fewer readings by a decision alone', async () => {
      const rows = async () => (await receiptOf(bench.lake.dir, OLD))?.rows;
      const before = await rows();
      service.overlay.removeReadings(series[0]!, dayRange(OLD.date));
      await bench.fleet.queue.add([{ ...OLD, kind: 'reconcile', force: true }]);
      const stop = bench.work();
      await poll(() => inQueue(OLD)).toBe('failed');
      expect((await page.act({ act: 'try-failed-again', job: OLD.job })).message).toBe(
        'measurements has no failed vessel-day to try again; 1 vessel-day would lose readings and stays refused: decide on the page of each',
      );
      expect((await again(OLD)).message).toContain('out of the failed set');
      await poll(() => inQueue(OLD)).toBe('failed');
      await stop();
      expect(await rows()).toBe(before);
      const said = (await again(OLD, true)).message;
      expect(said).toContain('fewer readings than are published are accepted');
      bench.work();
      await poll(rows).toBeLessThan(before!);
      await poll(() => noteOf(bench.lake.dir, OLD)).toBeUndefined();
    });
  });

  test('all failed vessel-days of a job are tried again, and those of others are not', async () => {
    const stop = await fail();
    const other: VesselDay = { ...NIGHT, vessel: OTHER_VESSEL };
    answer({ kind: 'status', status: 400 }, ['measurements']);
    await bench.fleet.queue.add([
      { ...other, kind: 'backfill' },
      { ...other, job: 'gone', kind: 'nightly' },
    ]);
    await poll(async () => (await bench.fleet.queue.depth()).failed).toBe(3);
    await stop();
    service.faults = undefined;
    expect(await page.act({ act: 'try-failed-again', job: 'measurements' })).toMatchObject({
      status: 200,
      message: '2 vessel-days of measurements are in the queue again',
    });
    expect((await page.act({ act: 'try-failed-again', job: 'measurements' })).message).toBe(
      'measurements has no failed vessel-day to try again',
    );
    bench.work();
    await poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();
    await poll(() => receiptOf(bench.lake.dir, other)).toBeDefined();
    expect((await bench.fleet.queue.depth()).failed).toBe(1);
  });

  test('a backfill is started, paused, resumed and cancelled, each twice', async () => {
    const body = { act: 'start-backfill', job: 'measurements', vessels: [OTHER_VESSEL], allowShrink: false };
    const range = { from: OLD.date, to: NIGHT.date };
    const started = await page.act({ ...body, ...range });
    expect(started).toMatchObject({ status: 200, message: expect.stringContaining(' is started: ') });
    const id = started.message.split(' ')[0]!;
    expect(id).toMatch(/^measurements-2026-01-05-2026-01-07-[0-9a-f]{6}$/);
    expect((await page.act({ ...body, ...range })).message).toBe(`${id} is under way already`);
    await bench.look();
    // The night's own vessel-day and the backfill's two.
    const depth = async () => (await bench.fleet.queue.depth()).prioritized;
    expect(await depth()).toBe(2);

    expect((await page.act({ act: 'pause-backfill', id })).message).toBe(
      `${id} is paused; 2 vessel-days left the queue`,
    );
    expect((await page.act({ act: 'pause-backfill', id })).message).toBe(`${id} is paused`);
    await bench.look();
    expect(await depth()).toBe(0);

    for (const _ of [1, 2]) expect((await page.act({ act: 'resume-backfill', id })).status).toBe(200);
    await bench.look();
    expect(await depth()).toBe(2);
    expect((await page.act({ act: 'cancel-backfill', id })).message).toBe(
      `${id} is cancelled; 2 vessel-days left the queue`,
    );
    expect(await page.act({ act: 'cancel-backfill', id })).toMatchObject({
      status: 200,
      message: `${id} is not under way any more: it was covered or cancelled`,
    });
    expect(await page.act({ act: 'pause-backfill', id })).toMatchObject({
      status: 404,
      code: 'unknown-backfill',
    });
    await bench.look();
    expect(await depth()).toBe(0);
  });

  test('a backfill of a job without a past is not started', async () => {
    await page[Symbol.asyncDispose]();
    const { store, ports, config } = bench.fleet.app;
    const jobs = [{ ...config.jobs[0]!, dataset: 'metadata' as const }];
    page = await openActs({ store, jobs, clock: ports.clock, fleet: bench.fleet });
    const body = { act: 'start-backfill', job: 'measurements', vessels: [], allowShrink: false };
    const range = { from: OLD.date, to: NIGHT.date };
    expect(await page.act({ ...body, ...range })).toMatchObject({ code: 'no-history' });
    expect(await listBackfills(store)).toEqual([]);
  });

  test('a hold is lifted: while its fault lasts it comes back with its reason, and else the queue continues', async () => {
    answer({ kind: 'status', status: 401 }, ['token']);
    service.revokeTokens();
    bench.work();
    await bench.look();
    const isPaused = () => bench.fleet.queue.bull.isPaused();
    await poll(isPaused).toBe(true);
    expect(await bench.look()).toEqual(['begun hold']);
    const holds = bench.said('the hold was lifted by hand: trying again').length;
    expect(await page.act({ act: 'lift-hold' })).toMatchObject({
      status: 200,
      message: expect.stringContaining("it was on hold for 'credentials-refused'"),
    });
    await poll(() => bench.said('the hold was lifted by hand: trying again').length).toBe(holds + 1);
    await poll(isPaused).toBe(true);
    service.faults = undefined;
    // So long it is remembered that the credentials were refused.
    bench.advance(10_000);
    await poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();
    await poll(isPaused).toBe(false);
    expect(await page.act({ act: 'lift-hold' })).toMatchObject({
      status: 200,
      message: 'the queue is not on hold',
    });
  });

  test('each act is logged: who, from where, what, to what, and how it ended', async () => {
    await page.act({ act: 'lift-hold' });
    await again({ ...NIGHT, date: '2026-01-08' });
    await page.act({ act: 'try-again\u001b[31m', job: '<script>' });
    await page.act({ act: 'try-failed-again', job: 'no-such-job' });
    const who = { by: 'Nora', address: '127.0.0.1' };
    expect(page.lines).toMatchObject([
      { ...who, act: 'lift-hold', target: 'the queue', outcome: 'done', said: 'the queue is not on hold' },
      {
        ...who,
        act: 'try-again',
        target: `measurements/${VESSEL}/2026-01-08`,
        outcome: 'refused',
        code: 'not-due',
      },
      { ...who, act: 'try-again [31m', target: '-', outcome: 'refused', code: 'usage' },
      { ...who, act: 'try-failed-again', target: 'no-such-job', outcome: 'refused', code: 'unknown-job' },
    ]);
    expect(page.lines).toHaveLength(4);
  });
});
