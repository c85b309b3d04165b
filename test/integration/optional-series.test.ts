/** Expressions that match no series: a service that is ill says so too, so that only a job may call it fine. */
import { beforeEach, expect, test } from 'vitest';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { expectExactDay, noteOf, readObject, receiptOf, serviceNames } from '../helpers/lake.ts';
import type { JobFile, TestLake } from '../helpers/run.ts';
import {
  DATE,
  mustExport,
  newLake,
  QUICK_LIMITS,
  runExport,
  serviceForTests,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const NEXT = { ...DAY, date: addDays(DATE, 1) };
const THIRD = { ...DAY, date: addDays(DATE, 2) };
const SHAFT = 'flat/{vessel}/Shaft *';
const SPEED = 'flat/{vessel}/Speed *';
const EXPRESSIONS = [SHAFT, SPEED].map((one) => one.replace('{vessel}', VESSEL));
const jobOf = (more: JobFile): JobFile => ({ dataset: 'measurements', vessels: [VESSEL], ...more });
const NEEDED = jobOf({ select: [SHAFT, SPEED] });
const OPTIONAL = jobOf({ select: [SHAFT, { expression: SPEED, optional: true }] });
const clock = { ...systemClock, nowMs: () => Date.parse(`${addDays(DATE, 4)}T12:00:00Z`) };
const overrides = { clock, clientLimits: QUICK_LIMITS, encoderThreads: 0 };
const NOTHING: readonly (readonly [string, Fault])[] = [
  ['404', { kind: 'status', status: 404 }],
  ['an empty list', { kind: 'garbage', body: '[]', contentType: 'application/json' }],
];

const service = await serviceForTests({ readingsPerDay: 2_000 });
let lake: TestLake;
beforeEach(async () => {
  service.faults = undefined;
  lake = await newLake();
  return () => lake[Symbol.asyncDispose]();
});

/** One of the expressions matches nothing from now on. */
function lose(fault: Fault, times = Number.POSITIVE_INFINITY): void {
  let left = times;
  service.faults = ({ family, url }) =>
    family === 'metadata' && url.includes('Speed') && left-- > 0 ? fault : undefined;
}

const run = (job: JobFile, { date }: { readonly date: string } = DAY, more = {}) =>
  runExport({
    ...{ service, lakeUrl: lake.url, jobs: { measurements: job } },
    ...{ args: { from: date, ...more }, overrides },
  });
const published = (job: JobFile, day = DAY) =>
  mustExport({
    ...{ service, lakeUrl: lake.url, jobs: { measurements: job } },
    ...{ args: { from: day.date }, overrides },
  });

for (const [what, fault] of NOTHING) {
  test(`${what} for one of several expressions, once: the day fails, and is whole the next time`, async () => {
    lose(fault, 1);
    const { code, results } = await run(NEEDED);
    expect(code).toBe(1);
    expect(results).toMatchObject([{ state: 'failed', code: 'no-series' }]);
    expect(await readObject(lake.dir, DAY)).toBeUndefined();
    expect(await noteOf(lake.dir, DAY)).toMatchObject({ state: 'failed', code: 'no-series' });
    await published(NEEDED);
    await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: EXPRESSIONS });
  });

  test(`${what} for an optional expression that never matched: the others are exported`, async () => {
    lose(fault);
    for (const day of [DAY, NEXT]) {
      await published(OPTIONAL, day);
      expect(await receiptOf(lake.dir, day)).toMatchObject({ unmatchedExpressions: [1] });
      const expressions = EXPRESSIONS.slice(0, 1);
      await expectExactDay(service, { lakeDir: lake.dir, day, expressions });
    }
  });

  test(`${what} for an optional expression that had series on the last published day: the day fails`, async () => {
    await published(OPTIONAL);
    lose(fault);
    const { code, results } = await run(OPTIONAL, NEXT);
    expect(code).toBe(1);
    expect(results).toMatchObject([{ state: 'failed', code: 'no-series' }]);
    expect(results[0]!.message).toMatch(/Speed.*did for 2026-01-05.*--allow-shrink/);
    expect(await receiptOf(lake.dir, NEXT)).toBeUndefined();
    await mustExport({
      ...{ service, lakeUrl: lake.url, jobs: { measurements: OPTIONAL } },
      ...{ args: { from: NEXT.date, allowShrink: true }, overrides },
    });
    expect(await receiptOf(lake.dir, NEXT)).toMatchObject({ unmatchedExpressions: [1] });
    expect((await run(OPTIONAL, THIRD)).results).toMatchObject([{ state: 'published' }]);
  });
}

test('a snapshot of metadata is held to the same', async () => {
  const metadata = (job: JobFile) => ({ ...job, dataset: 'metadata' });
  const take = async (job: JobFile, date: string) => {
    const at = { ...systemClock, nowMs: () => Date.parse(`${date}T12:00:00Z`) };
    const { results } = await runExport({
      ...{ service, lakeUrl: lake.url, jobs: { metadata: metadata(job) } },
      ...{ args: { from: date }, overrides: { ...overrides, clock: at } },
    });
    return results;
  };
  lose(NOTHING[0]![1], 1);
  expect(await take(NEEDED, DATE)).toMatchObject([{ state: 'failed', code: 'no-series' }]);
  expect(await take(OPTIONAL, DATE)).toMatchObject([{ state: 'published' }]);
  lose(NOTHING[0]![1]);
  expect(await take(OPTIONAL, NEXT.date)).toMatchObject([{ state: 'failed', code: 'no-series' }]);
});

test('a job that makes an expression optional has the days that it had', async () => {
  await published(NEEDED);
  const { results } = await published(OPTIONAL);
  expect(results).toMatchObject([{ state: 'published', exported: false }]);
});

test('a malformed IMO number among the series of a vessel fails its days', async () => {
  const body = JSON.stringify([
    { id: `${VESSEL}/Shaft Power`, timeSeriesId: crypto.randomUUID(), vessel: { imo: '93\u202e21483x' } },
  ]);
  service.faults = ({ family, url }) =>
    family === 'metadata' && url.includes('Shaft')
      ? { kind: 'garbage', body, contentType: 'application/json' }
      : undefined;
  const { results } = await run(NEEDED);
  expect(results).toMatchObject([
    { state: 'failed', code: 'malformed-imo', message: expect.stringContaining("'93 21483x'") },
  ]);
});

test('a malformed IMO number among ids of several vessels is left out, and named in the log', async () => {
  const ids = [...(await serviceNames(service, EXPRESSIONS.slice(1))).keys()].slice(0, 2);
  const elements = [
    { id: 'a', timeSeriesId: ids[0], vessel: { imo: '93214830' } },
    { id: 'b', timeSeriesId: ids[1], vessel: { imo: '9322853' } },
  ];
  service.faults = ({ family, url }) =>
    family === 'metadata' && url.includes('/id/')
      ? { kind: 'garbage', body: JSON.stringify(elements), contentType: 'application/json' }
      : undefined;
  const { code, stderr } = await run(jobOf({ select: [SHAFT, `id/${ids.join(',')}`] }));
  expect(code).toBe(0);
  expect(stderr).toContain("found '93214830' as the IMO number of series 'a'");
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: EXPRESSIONS.slice(0, 1) });
});
