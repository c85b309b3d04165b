/** A service that lies or loses readings, over the wire: exact or refused. What else it may say: test/export/false-answers.test.ts. */
import { beforeAll, expect, test } from 'vitest';
import { dayRange, MICROS_PER_HOUR } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { runVerify } from '../audit/verify/audit-lake.ts';
import {
  duckRows,
  expectExactDay,
  lakeFiles,
  noteOf,
  receiptOf,
  serviceNames,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  runExport,
  serviceForTests,
  serviceOfTest,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const MIDNIGHT = dayRange(DATE).fromMicros;
const EXACT = { day: DAY, expressions: FEW_EXPRESSIONS };
const SMALL = { sizes: { rowGroupRows: 600, partBytes: 15_000 }, sliceTargetRows: 700 };

const service = await serviceForTests({ readingsPerDay: 28_000 });
let series: string;
beforeAll(async () => {
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
});
const run = (lake: TestLake, args = {}, from = service, job = FEW_SERIES) =>
  runExport({ service: from, lakeUrl: lake.url, jobs: { measurements: job }, overrides: SMALL, args });

test('a service that drops readings publishes nothing, and replaces nothing by force', async () => {
  await using lake = await newLake();
  const drop = () => {
    service.faults = ({ family }) =>
      family === 'measurements' ? { kind: 'drop-rows', every: 100 } : undefined;
  };
  drop();
  const first = await run(lake);
  expect(first).toMatchObject({ code: 1, results: [{ code: 'counts-disagree' }] });
  expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
  expect(await noteOf(lake.dir, DAY)).toMatchObject({ ...DAY, message: first.results[0]!.message });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  service.faults = undefined;
  await mustExport({ service, lakeUrl: lake.url, overrides: SMALL });
  await expectExactDay(service, { ...EXACT, lakeDir: lake.dir });
  const published = await lakeFiles(lake.dir);
  drop();
  expect((await run(lake, { force: true })).code).toBe(1);
  const after = await lakeFiles(lake.dir);
  after.delete(`_notes/measurements/date=${DATE}/vessel=${VESSEL}.json`);
  expect(after).toEqual(published);
});

test('readings that arrive behind us while we fetch: the day starts clean', async () => {
  const growing = await serviceOfTest({ readingsPerDay: 28_000 });
  await using lake = await newLake();
  let slices = 0;
  growing.faults = ({ family }) => {
    if (family === 'measurements' && ++slices === 4)
      growing.overlay.addReadings(
        series,
        [5, 23 * MICROS_PER_HOUR].map((micros) => ({ timestampMicros: MIDNIGHT + micros, valueText: '7' })),
      );
    return undefined;
  };
  const { stderr } = await mustExport({ service: growing, lakeUrl: lake.url, overrides: SMALL });
  expect(stderr).toContain('starting clean');
  await expectExactDay(growing, { ...EXACT, lakeDir: lake.dir });
});

test.for(['measurements', 'statistics'])(
  'a day of %s that was emptied is an object of no rows',
  async (dataset) => {
    const emptied = await startTestService({ readingsPerDay: 1_000 });
    await using lake = await newLake();
    const job = {
      ...FEW_SERIES,
      ...(dataset === 'statistics' && { dataset, aggregations: ['mean', 'first_val'], window: '1h' }),
    };
    const expectSound = async () => {
      const verified = await runVerify({
        service: emptied,
        lakeUrl: lake.url,
        jobs: { measurements: job },
        deep: true,
      });
      expect([verified.code, verified.found]).toEqual([0, []]);
    };
    try {
      expect((await run(lake, {}, emptied, job)).results[0]!.rows).toBeGreaterThan(0);
      emptied.overlay.removeReadings(undefined);
      const refused = await run(lake, { force: true }, emptied, job);
      expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
      const allowed = await run(lake, { force: true, allowShrink: true }, emptied, job);
      expect(allowed).toMatchObject({ code: 0, results: [{ state: 'empty', rows: 0 }] });
      expect(await receiptOf(lake.dir, DAY)).toMatchObject({
        rows: 0,
        series: 0,
        object: { key: objectKey(DAY) },
      });
      const lakeSql = `read_parquet('${lake.dir}/measurements/**/data.parquet', hive_partitioning = true)`;
      expect(await duckRows(`SELECT count(*), count(time_series_id) FROM ${lakeSql}`)).toEqual([[0n, 0n]]);
      await expectSound();
      // It fills again.
      emptied.overlay.addReadings(series, [{ timestampMicros: MIDNIGHT, valueText: '1.5' }]);
      const filled = await run(lake, { force: true }, emptied, job);
      expect(filled.results).toMatchObject([{ state: 'published', rows: 1 }]);
      await expectSound();
    } finally {
      await emptied.close();
    }
  },
);
