/** An attempt that goes on from a checkpoint, with a real service: what it may go on with, test/export/changed-source.test.ts tries. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { dayRange, MICROS_PER_HOUR } from '../../src/core/model/index.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { readClaims } from '../helpers/claims.ts';
import { expectExactDay, readObject, receiptOf, serviceNames, unfinishedFiles } from '../helpers/lake.ts';
import type { JobFile, TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  runExport,
  serviceForTests,
  serviceOfTest,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'm', vessel: VESSEL, date: DATE };
const MIDNIGHT = dayRange(DATE).fromMicros;
const SMALL = { sizes: { rowGroupRows: 130, partBytes: 1_500 }, sliceTargetRows: 300 };
const STATISTICS = { dataset: 'statistics', select: ['flat/{vessel}/*'], window: '10m' };

const service = await serviceForTests({ readingsPerDay: 14_000 });
let lake: TestLake;
let series: string;
beforeAll(async () => {
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
});
beforeEach(async () => {
  lake = await newLake();
  service.overlay.reset();
  return () => lake[Symbol.asyncDispose]();
});

/** Run until the second checkpoint, and stop there; its cursor. */
async function stopHalfWay(job: JobFile, from = service): Promise<number> {
  let seen = 0;
  const onStep = (step: string) => {
    if (step === 'checkpoint' && ++seen === 2) throw new Error('the machine is on fire');
  };
  const overrides = { ...SMALL, onStep };
  expect((await runExport({ service: from, lakeUrl: lake.url, jobs: { m: job }, overrides })).code).toBe(1);
  expect(await readObject(lake.dir, DAY)).toBeUndefined();
  return (await readClaims(createLocalStore(lake.dir), DAY))[0]!.checkpoint!.cursorMicros;
}

/** Run again to the end: the same bytes as undisturbed. */
async function goOn(job: JobFile, from = service) {
  const before = from.requests.length;
  const options = { service: from, jobs: { m: job }, overrides: SMALL };
  const ran = await mustExport({ ...options, lakeUrl: lake.url });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  const { resumed } = ran.results[0]!;
  const asked = from.requests.slice(before).filter(({ family }) => family === 'measurements');
  await using fresh = await newLake();
  await mustExport({ ...options, lakeUrl: fresh.url });
  expect(await readObject(lake.dir, DAY)).toEqual(await readObject(fresh.dir, DAY));
  return { resumed, from: Math.min(...asked.map(({ range }) => range!.fromMicros)) };
}

test.for(['ndjson', 'json', 'parquet'])('unchanged, over %s: goes on from the cursor', async (transport) => {
  const job = { ...FEW_SERIES, transport };
  const from = await stopHalfWay(job);
  expect(await goOn(job)).toEqual({ resumed: true, from });
  const millis = transport === 'parquet';
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS, millis });
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ epoch: 2, proof: 'exact' });
});

test('a reading before the cursor: the day starts clean; behind it: it goes on', async () => {
  for (const [micros, resumed] of [
    [MIDNIGHT + 77, false],
    [MIDNIGHT + 23 * MICROS_PER_HOUR, true],
  ] as const) {
    await stopHalfWay(FEW_SERIES);
    service.overlay.addReadings(series, [{ timestampMicros: micros, valueText: '1.25' }]);
    expect(await goOn(FEW_SERIES)).toMatchObject({ resumed });
    await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
    await lake[Symbol.asyncDispose]();
    lake = await newLake();
  }
});

test('windows of statistics go on as well', async () => {
  await stopHalfWay(STATISTICS);
  expect(await goOn(STATISTICS)).toMatchObject({ resumed: true });
});

test('a service whose ranges include their end: exact, whether it goes on or not', async () => {
  const inclusive = await serviceOfTest({ readingsPerDay: 14_000, toInclusive: true });
  const timestampMicros = await stopHalfWay(FEW_SERIES, inclusive);
  inclusive.overlay.addReadings(series, [{ timestampMicros, valueText: '1' }]);
  await goOn(FEW_SERIES, inclusive);
  await expectExactDay(inclusive, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
});
