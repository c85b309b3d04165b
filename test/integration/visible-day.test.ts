/** What a new attempt makes of a day that is sealed, or visible without its receipt; and a day that is emptied. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { runVerify } from '../audit/verify/audit-lake.ts';
import { duckRows, receiptOf, serviceNames, unfinishedFiles } from '../helpers/lake.ts';
import type { RunExportOptions, TestLake, TestService } from '../helpers/run.ts';
import { DATE, mustExport, newLake, runExport, startTestService, VESSEL } from '../helpers/run.ts';

const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const NOON_MICROS = Date.parse(`${DATE}T12:00:00Z`) * 1_000;
const job = (more: object = {}) => ({
  measurements: {
    dataset: 'measurements',
    vessels: [VESSEL],
    select: ['flat/{vessel}/Shaft Power'],
    ...more,
  },
});
let service: TestService;
let lake: TestLake;
let series: string;

beforeEach(async () => {
  service = await startTestService({ readingsPerDay: 1_000 });
  lake = await newLake();
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
});
afterEach(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
});

const perform = (args: NonNullable<RunExportOptions['args']> = {}, more: object = {}) =>
  runExport({ service, lakeUrl: lake.url, jobs: job(more), args });

/** A run that ends at a step, as if the machine had. */
async function dieAt(step: string, args: NonNullable<RunExportOptions['args']> = {}): Promise<void> {
  const onStep = (taken: string) => {
    if (taken === step) throw new Error('the machine is on fire');
  };
  const ran = await runExport({ service, lakeUrl: lake.url, jobs: job(), args, overrides: { onStep } });
  expect(ran.code).toBe(1);
}

const add = (count: number) =>
  service.overlay.addReadings(
    series,
    Array.from({ length: count }, (_, i) => ({ timestampMicros: NOON_MICROS + i, valueText: '1.5' })),
  );

async function expectSound(): Promise<void> {
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  const { code, found } = await runVerify({ service, lakeUrl: lake.url, jobs: job(), deep: true });
  expect([code, found]).toEqual([0, []]);
}

test('a forced run after a kill at the sealed draft asks again, and publishes what the source has now', async () => {
  await dieAt('sealed');
  add(10);
  const before = service.requests.length;
  const { results } = await perform({ force: true });
  expect(service.requests.length).toBeGreaterThan(before);
  const truth = await perform({ force: true });
  expect(results[0]).toMatchObject({ state: 'published', rows: truth.results[0]!.rows });
  await expectSound();
});

test('a day that is visible without its receipt is what the never-shrink guard compares with', async () => {
  const { results } = await mustExport({ service, lakeUrl: lake.url, jobs: job() });
  const rows = results[0]!.rows!;
  add(10);
  await dieAt('published', { force: true });
  expect((await receiptOf(lake.dir, DAY))!.rows).toBe(rows);
  service.overlay.removeReadings(series, { fromMicros: NOON_MICROS, toMicros: NOON_MICROS + 10 });
  // Other settings: the draft is of no use, but what it has published is there.
  const refused = await perform({}, { transport: 'json' });
  expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
  expect(refused.results[0]!.message).toContain(`${rows + 10} published, ${rows} now`);
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ rows: rows + 10, epoch: 2 });
  const { code, found } = await runVerify({ lakeUrl: lake.url, jobs: job() });
  expect([code, found]).toEqual([0, []]);
});

test('a forced run finds a published day without receipt, and replaces it', async () => {
  await dieAt('published');
  add(10);
  const { results } = await perform({ force: true });
  expect(results[0]).toMatchObject({ state: 'published' });
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ rows: results[0]!.rows, epoch: 2 });
  await expectSound();
});

test('an object that no receipt and no claim knows is replaced', async () => {
  await mustExport({ service, lakeUrl: lake.url, jobs: job() });
  await using other = await newLake();
  const bytes = Buffer.from('left by somebody');
  const { mkdir, writeFile } = await import('node:fs/promises');
  const path = join(other.dir, objectKey(DAY));
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, bytes);
  await mustExport({ service, lakeUrl: other.url, jobs: job() });
  const { code, found } = await runVerify({ service, lakeUrl: other.url, jobs: job(), deep: true });
  expect([code, found]).toEqual([0, []]);
});

test.each(['measurements', 'statistics'])(
  'a day of %s that was emptied is an object of no rows',
  async (dataset) => {
    const more =
      dataset === 'statistics' ? { dataset, window: '1h', aggregations: ['mean', 'first_val'] } : {};
    const first = await perform({}, more);
    expect(first.results[0]!.rows).toBeGreaterThan(0);
    service.overlay.removeReadings(undefined);
    const refused = await perform({ force: true }, more);
    expect(refused.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
    const emptied = await perform({ force: true, allowShrink: true }, more);
    expect(emptied.results).toMatchObject([{ state: 'empty', rows: 0 }]);
    const receipt = (await receiptOf(lake.dir, DAY))!;
    expect(receipt).toMatchObject({
      rows: 0,
      series: 0,
      firstTimestamp: null,
      object: { key: objectKey(DAY) },
    });
    const lakeSql = `read_parquet('${lake.dir}/measurements/**/data.parquet', hive_partitioning = true)`;
    expect(await duckRows(`SELECT count(*), count(time_series_id) FROM ${lakeSql}`)).toEqual([[0n, 0n]]);
    const options = { lakeUrl: lake.url, jobs: job(more) };
    for (const deep of [{}, { service, deep: true }])
      expect((await runVerify({ ...options, ...deep })).found).toEqual([]);
    // It fills again.
    service.overlay.addReadings(series, [{ timestampMicros: NOON_MICROS, valueText: '1.5' }]);
    const filled = await perform({ force: true }, more);
    expect(filled.results).toMatchObject([{ state: 'published', rows: 1 }]);
    expect((await runVerify({ ...options, service, deep: true })).found).toEqual([]);
  },
);
