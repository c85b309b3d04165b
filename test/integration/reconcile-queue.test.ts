/** `reconcile --enqueue`: what changed goes to the workers through the queue. */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { backfillCommand } from '../../src/cli/commands/backfill.ts';
import type { ReconcileOptions } from '../../src/cli/commands/reconcile.ts';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { DataError } from '../../src/core/errors.ts';
import type { VesselDay } from '../../src/core/model/index.ts';
import { addDays, dateToMicros, dayRange, silentLog, systemClock } from '../../src/core/model/index.ts';
import { startVesselDayWorker } from '../../src/fleet/queue/vessel-day-worker.ts';
import { receiptKey } from '../../src/lake/keys.ts';
import { commandRun } from '../helpers/command-run.ts';
import { expectExactDay, noteOf, receiptOf, serviceNames } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../helpers/run.ts';
import { mustExport, newLake, QUICK_LIMITS, startTestService, VESSEL } from '../helpers/run.ts';
import type { InProcessFleet } from './fleet-in-process.ts';
import { openInProcessFleet } from './fleet-in-process.ts';

const redis = await redisForTests();
const FROM = '2026-01-05';
const TO = addDays(FROM, 3);
const NOW_MS = Date.parse(`${TO}T12:00:00Z`);
const clock = { ...systemClock, nowMs: () => NOW_MS };
const JOB: JobFile = { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/S*'] };
const JOBS = { measurements: JOB };
const dayOf = (offset: number): VesselDay => ({
  job: 'measurements',
  vessel: VESSEL,
  date: addDays(FROM, offset),
});

describe.skipIf(redis === undefined)('reconcile --enqueue', () => {
  let base: TestLake;
  let series: string[];
  let service: TestService;
  let bench: InProcessFleet;

  beforeAll(async () => {
    base = await newLake();
    const source = await startTestService({ readingsPerDay: 1_000 });
    const args = { from: FROM, to: TO };
    await mustExport({ service: source, lakeUrl: base.url, jobs: JOBS, args, overrides: { clock } });
    series = [...(await serviceNames(source, [`flat/${VESSEL}/S*`])).keys()].sort();
    await source.close();
  });
  afterAll(async () => {
    await base[Symbol.asyncDispose]();
    await redis!.stop();
  });
  beforeEach(async () => {
    service = await startTestService({ readingsPerDay: 1_000 });
    bench = await openInProcessFleet({
      service,
      lakeDir: base.dir,
      job: JOBS.measurements,
      redis: redis!,
      startMs: NOW_MS,
    });
    return async () => {
      await bench[Symbol.asyncDispose]();
      await service.close();
    };
  });

  const overrides = { clock, encoderThreads: 0 as const, clientLimits: QUICK_LIMITS };

  async function reconcile(options: ReconcileOptions, env: Record<string, string> = queueEnv()) {
    return await commandRun({ service, lakeUrl: bench.lake.url, jobs: JOBS, env }, (context) =>
      reconcileCommand(context, [], { from: FROM, to: TO, ...options }, overrides),
    );
  }

  function queueEnv(): Record<string, string> {
    const { REDIS_URL, REDIS_PREFIX } = bench.env;
    return { REDIS_URL: REDIS_URL!, REDIS_PREFIX: REDIS_PREFIX! };
  }

  async function enqueue(options: ReconcileOptions = {}) {
    const { code, stdout } = await reconcile({ enqueue: true, json: true, ...options });
    const { days } = JSON.parse(stdout) as { days: readonly object[] };
    return { code, days };
  }

  function addReadings({ date }: VesselDay, id = series[2]!): void {
    const fromMicros = dateToMicros(date) + 3_600_000_000;
    const readings = Array.from({ length: 60 }, (_, n) => ({
      timestampMicros: fromMicros + n,
      valueText: '7',
    }));
    service.overlay.addReadings(id, readings);
  }

  const expectExact = (day: VesselDay, emptied = false) =>
    expectExactDay(service, { lakeDir: bench.lake.dir, day, expressions: [`flat/${VESSEL}/S*`], emptied });

  test('what changed and what is missing is queued, and nothing else is done here', async () => {
    addReadings(dayOf(1));
    await rm(join(bench.lake.dir, receiptKey(dayOf(2))));
    expect(await enqueue()).toEqual({
      code: 0,
      days: [
        { ...dayOf(1), state: 'enqueued', exported: false },
        { ...dayOf(2), state: 'enqueued', exported: false },
      ],
    });
    const compared = { epoch: 1, totalsSha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(await bench.queued()).toEqual([
      { ...dayOf(1), kind: 'reconcile', force: true, compared },
      { ...dayOf(2), kind: 'reconcile' },
    ]);
    const job = await bench.fleet.queue.bull.getJob(`measurements/${VESSEL}/${dayOf(1).date}`);
    expect(job?.opts.priority).toBe(50);
    expect(service.requests.some(({ family }) => family === 'measurements')).toBe(false);
    expect(await receiptOf(bench.lake.dir, dayOf(1))).toMatchObject({ epoch: 1 });

    expect(await enqueue()).toMatchObject({
      code: 0,
      days: [{ state: 'queued' }, { state: 'queued' }],
    });
    expect(await bench.queued()).toHaveLength(2);
    bench.work();
    await bench.idle();
    for (const offset of [0, 1, 2]) await expectExact(dayOf(offset));
    expect(await enqueue()).toEqual({ code: 0, days: [] });
  });

  test('in words', async () => {
    addReadings(dayOf(0));
    addReadings(dayOf(1));
    await bench.fleet.queue.add([{ ...dayOf(0), kind: 'nightly' }]);
    const { code, stdout } = await reconcile({ enqueue: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n2 vessel-days: 1 enqueued, 1 in the queue already; 4 requests to compare\n$/);
    // One that is there stays as it is.
    expect((await bench.queued()).find(({ date }) => date === FROM)).toEqual({
      ...dayOf(0),
      kind: 'nightly',
    });
    await bench.flush();
    const none = await reconcile({ enqueue: true, from: dayOf(2).date });
    expect(none).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing to enqueue; 2 requests'),
    });
  });

  test('one in the failed set is reported, and backfill --failed puts it back', async () => {
    addReadings(dayOf(1));
    await enqueue();
    const failer = startVesselDayWorker({
      redis: bench.fleet.redis,
      prefix: bench.env.REDIS_PREFIX!,
      concurrency: 1,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      perform: async () => {
        throw new DataError('bad-record', 'record 5 has no timestamp');
      },
      onFault: async () => true,
      onTrouble: () => {},
    });
    await expect.poll(async () => (await bench.fleet.queue.deadLetters()).length).toBe(1);
    await failer.stop();
    expect(await enqueue()).toEqual({
      code: 1,
      days: [
        {
          ...dayOf(1),
          state: 'failed',
          exported: false,
          code: 'bad-record',
          message: 'record 5 has no timestamp',
        },
      ],
    });
    const { code, stdout } = await reconcile({ enqueue: true });
    expect(code).toBe(1);
    expect(stdout).toContain('1 vessel-day: 1 in the failed set');
    expect(stdout).toContain(`failed  ${VESSEL}/${dayOf(1).date}: bad-record: record 5 has no timestamp`);
    expect(stdout).toContain("'vessel-export backfill measurements --failed' tries");
    expect(await bench.queued()).toEqual([]);

    const place = { service, lakeUrl: bench.lake.url, jobs: JOBS, env: queueEnv() };
    const { stderr } = await commandRun(place, (context) =>
      backfillCommand(context, 'measurements', { failed: true, detach: true }, overrides),
    );
    expect(stderr).toContain('1 failed vessel-days are retried');
    expect(await bench.queued()).toMatchObject([
      { ...dayOf(1), kind: 'reconcile', force: true, compared: { epoch: 1 } },
    ]);
    bench.work();
    await bench.idle();
    await expectExact(dayOf(1));
  });

  test('a day that would lose readings is queued only where that is allowed', async () => {
    for (const id of series) service.overlay.removeReadings(id, dayRange(dayOf(1).date));
    expect(await enqueue()).toEqual({ code: 1, days: [] });
    expect(await noteOf(bench.lake.dir, dayOf(1))).toMatchObject({ state: 'refused' });
    expect(await enqueue()).toEqual({ code: 0, days: [] });
    expect(await enqueue({ allowShrink: true })).toMatchObject({
      code: 0,
      days: [{ state: 'enqueued' }],
    });
    expect(await bench.queued()).toMatchObject([{ ...dayOf(1), force: true, allowShrink: true }]);
    bench.work();
    await bench.idle();
    await expectExact(dayOf(1), true);
    expect(await noteOf(bench.lake.dir, dayOf(1))).toBeUndefined();
  });

  test('wrong combinations, and no Redis, are said before anything is asked', async () => {
    const both = await reconcile({ enqueue: true, run: true });
    expect(both).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--enqueue: given together with --run'),
    });
    expect(await reconcile({ enqueue: true, takeover: true })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--takeover'),
    });
    const without = await reconcile({ enqueue: true }, {});
    expect(without).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/REDIS_URL: not set.*reconcile --run/),
    });
    expect(service.requests).toEqual([]);
  });
});
