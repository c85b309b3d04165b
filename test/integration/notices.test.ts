/**
 * Every row of the table "What becomes of a vessel-day that fails" (docs/operating.md) is made to happen, and gives exactly
 * one message and one recovery. Which error is in which row: test/fleet/queue/settle-job.test.ts.
 */
import { mkdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AppOverrides } from '../../src/app.ts';
import { acceptCommand } from '../../src/cli/commands/accept.ts';
import type { VesselDay } from '../../src/core/model/index.ts';
import { dayRange, systemClock } from '../../src/core/model/index.ts';
import type { QueuedDay } from '../../src/fleet/queue/queued-day.ts';
import { removeBackfill } from '../../src/lake/backfills.ts';
import { captureKey, receiptKey } from '../../src/lake/keys.ts';
import { readReceipt } from '../../src/lake/ledger/ledger.ts';
import { readSnapshotDates } from '../../src/lake/marks.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { noteOf, receiptOf, serviceNames } from '../helpers/lake.ts';
import { writeReceipt } from '../helpers/ledger.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../helpers/run.ts';
import { FEW_EXPRESSIONS, FEW_SERIES, newLake, OTHER_VESSEL, VESSEL } from '../helpers/run.ts';
import type { NoticeBench } from './fleet-in-process.ts';
import { expectSilence, MINUTE_MS, NIGHT, openNoticeBench, publishNightsBefore } from './fleet-in-process.ts';

const redis = await redisForTests();
const JOB: JobFile = {
  ...FEW_SERIES,
  since: '2026-01-05',
  schedule: { cron: '15 6 * * *', settle: '6h' },
};
const LOOKING_BACK: JobFile = { ...JOB, reconcile: { cron: '45 7 * * *', lookback: '4d' } };
const PUBLISHED: VesselDay = { ...NIGHT, date: '2026-01-06' };
const HOUR_MS = 60 * MINUTE_MS;

/** One look-back at that time, and what people are told from then on. */
async function lookBack(bench: NoticeBench, at: string): Promise<string[]> {
  bench.advance(Date.parse(at) - bench.nowMs());
  const before = bench.said('looked back').length;
  const news = await bench.look();
  await expect.poll(() => bench.said('looked back').length).toBe(before + 1);
  bench.advance(MINUTE_MS);
  return [...news, ...(await bench.look())];
}

describe.skipIf(redis === undefined)('people are told', () => {
  let base: TestLake;
  let service: TestService;
  let bench: NoticeBench;
  let series: string[];

  beforeAll(async () => {
    ({ service, base } = await publishNightsBefore('2026-01-05', JOB));
    series = [...(await serviceNames(service, FEW_EXPRESSIONS)).keys()].sort();
  });
  afterAll(async () => {
    await service.close();
    await base[Symbol.asyncDispose]();
    await redis!.stop();
  });
  const open = (job: JobFile, env = {}, overrides: AppOverrides = {}, lakeDir = base.dir) =>
    openNoticeBench({ env, overrides, service, lakeDir, job, redis: redis! });
  beforeEach(async () => {
    bench = await open(JOB);
  });
  afterEach(async () => {
    service.faults = undefined;
    service.hiddenSeries.clear();
    await bench[Symbol.asyncDispose]();
  });

  /** The service answers so to everything that is asked of readings and counts. */
  function answer(fault: Fault, families: readonly string[] = ['measurements', 'statistics']): void {
    service.faults = ({ family }) => (families.includes(family) ? fault : undefined);
  }
  const failures = () => expect.poll(() => bench.fleet.queue.deadLetters());
  const published = () => expect.poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();
  /** The vessel-day has failed for good: told once. */
  async function expectFailure(cause: string): Promise<void> {
    await failures().toHaveLength(1);
    bench.advance(MINUTE_MS);
    expect(await bench.look()).toEqual([`begun ${cause}`]);
    await expectSilence(bench);
  }
  /** Noon has come and the vessel-day is not there: told once. */
  async function expectLateNight(): Promise<void> {
    bench.advance(5 * HOUR_MS);
    await bench.look();
    bench.advance(3 * MINUTE_MS);
    expect(await bench.look()).toEqual([]);
    bench.advance(30 * MINUTE_MS);
    await bench.look();
    bench.advance(3 * MINUTE_MS);
    const news = await bench.look();
    expect([...news, ...bench.listener.news()]).toEqual(['begun night/measurements']);
    await expectSilence(bench);
  }
  async function expectRecovery(cause: string): Promise<void> {
    await published();
    // It goes just after the receipt has come.
    await expect.poll(() => noteOf(bench.lake.dir, NIGHT)).toBeUndefined();
    bench.advance(6 * MINUTE_MS);
    expect(await bench.look()).toEqual([`over ${cause}`]);
    await expectSilence(bench);
  }
  /** As `backfill --failed` does. */
  async function tryAgain(day: QueuedDay): Promise<void> {
    await bench.fleet.queue.remove(day);
    await bench.fleet.queue.add([day]);
  }
  /** The next firing tries what may have passed. */
  async function nextFiring(): Promise<void> {
    bench.advance(Date.parse('2026-01-09T06:20:00Z') - bench.nowMs());
    await bench.look();
  }

  /** A job that looks back, once its night is published. */
  async function startLookingBack(): Promise<void> {
    await reopen(LOOKING_BACK);
    bench.work();
    expect(await lookBack(bench, '2026-01-08T06:31:00Z')).toEqual([]);
    await published();
    await bench.idle();
  }
  const reopen = async (...args: Parameters<typeof open>) => {
    await bench[Symbol.asyncDispose]();
    bench = await open(...args);
  };

  test.for<[what: string, fault: Fault, families?: string[]]>([
    ['5xx', { kind: 'status', status: 500 }],
    ['counts that disagree', { kind: 'statistics-counts', offset: 1 }, ['statistics']],
  ])('of a vessel-day that fails by %s, and recovers with the next firing', async ([, fault, families]) => {
    answer(fault, families);
    bench.work();
    expect(await bench.look()).toEqual([]);
    await expectFailure('failed/measurements');
    service.faults = undefined;
    bench.listener.news();
    await nextFiring();
    await expectRecovery('failed/measurements');
  });

  test('of a defect of ours', async () => {
    let isBroken = true;
    const onStep = (step: string) => {
      if (isBroken && step === 'fetched') throw new TypeError('undefined is not a function');
    };
    await reopen(JOB, {}, { onStep });
    bench.work();
    await bench.look();
    await expectFailure('failed/measurements');
    expect(await noteOf(bench.lake.dir, NIGHT)).toMatchObject({ code: 'internal-error' });
    isBroken = false;
    await nextFiring();
    await expectRecovery('failed/measurements');
  });

  test('nothing of a vessel-day that was told to have failed, and fails again with the next firing', async () => {
    answer({ kind: 'status', status: 500 });
    bench.work();
    await bench.look();
    await expectFailure('failed/measurements');
    bench.advance(Date.parse('2026-01-09T05:00:00Z') - bench.nowMs());
    service.faults = ({ range }) =>
      range !== undefined && range.fromMicros < dayRange(NIGHT.date).toMicros
        ? { kind: 'status', status: 500 }
        : undefined;
    await nextFiring();
    await failures().toHaveLength(1);
    bench.advance(MINUTE_MS);
    expect(await bench.look()).toEqual([]);
    await expectSilence(bench);
  });

  test('of statistics that always lack values', async () => {
    const aggregations = ['count', 'mean', 'min', 'max'];
    const select = ['flat/{vessel}/Shaft Power'];
    const more: JobFile = { dataset: 'statistics', select, window: '1h', aggregations, transport: 'json' };
    // An element a value: an answer that ends sooner looks whole. Those that confirm are shorter, and are left.
    await reopen({ ...JOB, ...more, since: NIGHT.date }, { QUERY_API_VERSION: '2025-10-31' });
    let longest = 0;
    const rewrite = (body: string) => {
      const values: unknown[] = JSON.parse(body);
      longest = Math.max(longest, values.length);
      return values.length === longest ? JSON.stringify(values.slice(0, -1)) : body;
    };
    service.faults = ({ family, url }) =>
      family === 'statistics' && url.includes('mean') ? { kind: 'rewrite', rewrite } : undefined;
    bench.work();
    await bench.look();
    await expectFailure('failed/measurements');
    expect(await noteOf(bench.lake.dir, NIGHT)).toMatchObject({ code: 'answer-cut' });
    service.faults = undefined;
    await nextFiring();
    await expectRecovery('failed/measurements');
  });

  test.for<[what: string, fault: Fault]>([
    ['a question that the service calls wrong (400)', { kind: 'status', status: 400 }],
    [
      'a record that breaks the contract',
      { kind: 'garbage', body: '{"id":"x"}\n', contentType: 'application/x-ndjson' },
    ],
  ])('of %s, and that it is fixed, once somebody tries it again', async ([, fault]) => {
    answer(fault, ['measurements']);
    bench.work();
    await bench.look();
    await expectFailure('failed/measurements');
    service.faults = undefined;
    await tryAgain({ ...NIGHT, kind: 'backfill' });
    await expectRecovery('failed/measurements');
  });

  test("of a day that is not over by the service's clock only where the night is not whole by noon", async () => {
    service.faults = () => ({ kind: 'date', value: 'Wed, 07 Jan 2026 12:00:00 GMT' });
    bench.work();
    await bench.look();
    await expect.poll(() => bench.said('waiting').length).toBeGreaterThan(0);
    await expectLateNight();
    service.faults = undefined;
    // What it said of the time is believed for an hour.
    bench.advance(HOUR_MS + MINUTE_MS);
    await expectRecovery('night/measurements');
  });

  test('of a vessel with fewer series once its day is published without them, until it is accepted', async () => {
    for (const id of series.slice(2)) service.hiddenSeries.add(id);
    bench.work();
    await bench.look();
    await expect.poll(() => noteOf(bench.lake.dir, NIGHT)).toMatchObject({ state: 'waiting' });
    bench.advance(2 * MINUTE_MS);
    expect(await bench.look()).toEqual([]);
    bench.advance(2 * HOUR_MS + 40 * MINUTE_MS);
    await published();
    await bench.idle();
    expect(await bench.look()).toEqual(['begun fewer-series/measurements']);
    await expectSilence(bench);
    const screen = { write() {} };
    const context = { env: bench.env, stdout: screen, stderr: screen, signal: new AbortController().signal };
    const clock = { ...systemClock, nowMs: bench.nowMs };
    expect(await acceptCommand(context, 'measurements', [VESSEL], {}, { clock })).toBe(0);
    await expectRecovery('fewer-series/measurements');
  });

  test('of a vessel-day of the queue that would shrink, and that its readings are back', async () => {
    bench.work();
    await bench.look();
    await published();
    answer({ kind: 'statistics-counts', scale: 0.5 }, ['statistics']);
    await bench.fleet.queue.add([{ ...PUBLISHED, kind: 'backfill', force: true }]);
    await failures().toHaveLength(1);
    bench.advance(MINUTE_MS);
    expect(await bench.look()).toEqual(['begun refused/measurements']);
    await expectSilence(bench);
    service.faults = undefined;
    await tryAgain({ ...PUBLISHED, kind: 'backfill', force: true });
    await expect.poll(() => noteOf(bench.lake.dir, PUBLISHED)).toBeUndefined();
    await expectRecovery('refused/measurements');
  });

  test('of readings that the source has lost, which look-backs refuse, and that they are back', async () => {
    await startLookingBack();
    answer({ kind: 'statistics-counts', scale: 0.5 }, ['statistics']);
    expect(await lookBack(bench, '2026-01-08T07:50:00Z')).toEqual(['begun refused/measurements']);
    await expectSilence(bench);
    // One of them is in the failed set, too.
    await bench.fleet.queue.add([{ ...PUBLISHED, kind: 'backfill', force: true }]);
    await failures().toHaveLength(1);
    service.faults = undefined;
    expect(await lookBack(bench, '2026-01-09T07:50:00Z')).toEqual(['over refused/measurements']);
    // Nothing says so any more: the map, the page of the day and the failed set agree.
    expect(await noteOf(bench.lake.dir, PUBLISHED)).toBeUndefined();
    expect(await bench.fleet.queue.deadLetters()).toEqual([]);
    await expectSilence(bench);
  });

  test('of look-backs that always fail, until one has ended', async () => {
    await startLookingBack();
    answer({ kind: 'status', status: 500 }, ['statistics']);
    bench.advance(Date.parse('2026-01-08T07:50:00Z') - bench.nowMs());
    const news: string[] = [];
    /** Five minutes later it is begun again. */
    const goOn = async () => {
      news.push(...(await bench.look()));
      bench.advance(5 * MINUTE_MS);
      return news.splice(0);
    };
    await expect.poll(goOn).toEqual(['begun look-back/measurements']);
    await expectSilence(bench);
    service.faults = undefined;
    await expect.poll(goOn).toEqual(['over look-back/measurements']);
    await expectSilence(bench);
  });

  test('of a published day that a look-back cannot compare, until the next one can', async () => {
    await startLookingBack();
    // By the day it counts other readings than by the hour.
    service.faults = ({ url }) =>
      url.includes('window=1d') ? { kind: 'statistics-counts', offset: 3 } : undefined;
    expect(await lookBack(bench, '2026-01-08T07:50:00Z')).toEqual(['begun not-compared/measurements']);
    await expectSilence(bench);
    service.faults = undefined;
    expect(await lookBack(bench, '2026-01-09T07:50:00Z')).toEqual(['over not-compared/measurements']);
  });

  test('of late data beyond the usual, until a look-back finds no more', async () => {
    await startLookingBack();
    const timestampMicros = dayRange(PUBLISHED.date).fromMicros + 3_600_000_000;
    service.overlay.addReadings(series[0]!, [{ timestampMicros, valueText: '4711' }]);
    expect(await lookBack(bench, '2026-01-08T07:50:00Z')).toEqual(['begun late-data/measurements']);
    await bench.idle();
    await expectSilence(bench);
    expect(await lookBack(bench, '2026-01-09T07:50:00Z')).toEqual(['over late-data/measurements']);
    await expectSilence(bench);
  });

  test('of a backfill that cannot go on, until it is cancelled', async () => {
    const range = { job: 'gone', from: '2025-01-01', to: '2025-01-03', vessels: [], allowShrink: false };
    const createdAt = '2026-01-08T06:00:00.000Z';
    const backfill = { backfillVersion: 1, id: 'gone-1', ...range, paused: false, createdAt } as const;
    await defineBackfill(bench.fleet.app.store, backfill);
    expect(await bench.look()).toEqual([]);
    bench.advance(16 * MINUTE_MS);
    expect(await bench.look()).toEqual(['begun backfill']);
    await expectSilence(bench);
    await removeBackfill(bench.fleet.app.store, 'gone-1');
    expect(await bench.look()).toEqual(['over backfill']);
    await expectSilence(bench);
  });

  test('of vessel-days that wait without a worker, until there is one', async () => {
    bench.elsewhere.workers = 0;
    expect(await bench.look()).toEqual([]);
    bench.advance(16 * MINUTE_MS);
    expect(await bench.look()).toEqual(['begun no-worker']);
    // Past noon, too: that the night is not whole has this cause.
    bench.advance(6 * HOUR_MS);
    await expectSilence(bench);
    bench.work();
    await expectRecovery('no-worker');
  });

  test('of snapshots of metadata that have stopped, until they are taken again', async () => {
    await using empty = await newLake();
    const schedule = { cron: '0 6 * * *' };
    const job = { ...FEW_SERIES, dataset: 'metadata', schedule };
    await reopen(job, {}, {}, empty.dir);
    const taken = (date: string) =>
      expect.poll(() => bench.fleet.app.store.head(captureKey({ ...NIGHT, date }))).toBeDefined();
    let stop = bench.work();
    await bench.look();
    await taken('2026-01-08');
    // The next one equals it, and leaves no receipt.
    bench.advance(24 * HOUR_MS);
    await bench.look();
    await taken('2026-01-09');
    // The one before goes after that.
    await expect.poll(lastSnapshotDateDates).toEqual(['2026-01-09']);
    await stop();
    bench.advance(Date.parse('2026-01-10T06:05:00Z') - bench.nowMs());
    expect(await bench.look()).toEqual([]);
    bench.advance(Date.parse('2026-01-11T00:06:00Z') - bench.nowMs());
    expect(await bench.look()).toEqual(['begun snapshots/measurements']);
    await expectSilence(bench);
    bench.advance(Date.parse('2026-01-11T06:05:00Z') - bench.nowMs());
    stop = bench.work();
    expect(await bench.look()).toEqual([]);
    await taken('2026-01-11');
    bench.advance(6 * MINUTE_MS);
    expect(await bench.look()).toEqual(['over snapshots/measurements']);
    async function lastSnapshotDateDates() {
      return (await readSnapshotDates(bench.fleet.app.store, NIGHT.job)).get(VESSEL);
    }
  });

  test('of a vessel that has left discovery, until it is named or taken to have left', async () => {
    await reopen({ ...JOB, vessels: { discover: 'flat/*/*' } });
    const { store } = bench.fleet.app;
    const days = ['2026-01-05', '2026-01-06'].map((date) => ({ ...NIGHT, date }));
    for (const day of days)
      await writeReceipt(store, { ...(await readReceipt(store, day))!, vessel: OTHER_VESSEL });
    expect(await bench.look()).toEqual(['begun discovery/measurements']);
    await expectSilence(bench);
    for (const day of days) await store.remove(receiptKey({ ...day, vessel: OTHER_VESSEL }));
    bench.advance(Date.parse('2026-01-09T06:20:00Z') - bench.nowMs());
    expect(await bench.look()).toEqual(['over discovery/measurements']);
  });

  test('of a fault that everybody meets, which holds the queue, and that it goes on', async () => {
    answer({ kind: 'status', status: 401 }, ['token']);
    service.revokeTokens();
    bench.work();
    await bench.look();
    await expect.poll(() => bench.fleet.queue.bull.isPaused()).toBe(true);
    expect(await bench.look()).toEqual(['begun hold']);
    // Past noon, too: that the night is not whole has this cause.
    bench.advance(6 * HOUR_MS);
    await expectSilence(bench);
    service.faults = undefined;
    await expectRecovery('hold');
  });

  test('of a folder that is closed, while others go on', async () => {
    const folder = join(bench.lake.dir, NIGHT.job, `vessel=${VESSEL}`, `date=${NIGHT.date}`);
    await mkdir(dirname(folder), { recursive: true });
    // Root, too, may not write there.
    await symlink('/sys/fs', folder);
    bench.work();
    await bench.look();
    await expectFailure('failed/measurements');
    await rm(folder);
    await nextFiring();
    await expectRecovery('failed/measurements');
  });

  test('nothing of a worker that is told to stop and hands its vessel-day back', async () => {
    answer({ kind: 'stall', at: 'headers' }, ['measurements']);
    const stop = bench.work();
    await bench.look();
    await expect.poll(async () => (await bench.fleet.queue.depth()).active).toBe(1);
    await stop();
    expect(await bench.look()).toEqual([]);
    service.faults = undefined;
    bench.work();
    await published();
    await expectSilence(bench);
  });

  test('of a rate limit only where the night is not whole by noon', async () => {
    answer({ kind: 'status', status: 429, retryAfter: '1' });
    bench.work();
    await bench.look();
    await expect.poll(() => bench.fleet.app.concurrencyLimit.current).toBe(1);
    await expectLateNight();
    service.faults = undefined;
    await expectRecovery('night/measurements');
  });
});
