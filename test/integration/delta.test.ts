/** A delta lake as its users meet it: first loads, replaced, unchanged and emptied days, other aggregations, refusals. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { addDays, dayRange } from '../../src/core/model/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { duckRows, receiptOf, serviceNames, unfinishedFiles } from '../helpers/lake.ts';
import type { RunExportOptions, TestLake } from '../helpers/run.ts';
import { DATE, mustExport, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';
import { expectTableAgrees, replayTable } from '../helpers/table.ts';

const NOON_MICROS = Date.parse(`${DATE}T12:00:00Z`) * 1_000;
const JOB = { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/Shaft Power'] };
const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const ALWAYS_EMPTY = '2026-02-01';
const DELTA = { LAKE_LAYOUT: 'delta' };

const service = await serviceForTests({ readingsPerDay: 1_000, vessels: 2 });
let series: string;
let lake: TestLake;
let store: ObjectStore;

beforeAll(async () => {
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
});
beforeEach(async () => {
  lake = await newLake();
  store = await openStore(lake.url, {});
  return async () => {
    await store.close();
    await lake[Symbol.asyncDispose]();
  };
});

function options(
  args: RunExportOptions['args'] = {},
  more: Partial<RunExportOptions> = {},
): RunExportOptions {
  return { service, lakeUrl: lake.url, jobs: { measurements: JOB }, env: DELTA, args, ...more };
}

test('a day is one file under a name of its own, and one entry; replaced in one entry, and unchanged in none', async () => {
  await mustExport(options());
  const first = (await expectTableAgrees(store, 'measurements')).get(`vessel=${VESSEL}/date=${DATE}`)!;
  expect(first.object?.key).toMatch(
    new RegExp(`^measurements/vessel=${VESSEL}/date=${DATE}/[0-9a-f]{16}\\.parquet$`),
  );
  expect(first.table).toEqual({ version: 1 });

  await mustExport(options({ force: true }));
  expect((await replayTable(store, 'measurements')).operations).toEqual(['CREATE TABLE', 'WRITE']);
  const unchanged = await receiptOf(lake.dir, DAY);
  expect(unchanged).toMatchObject({ epoch: 2, object: first.object, table: { version: 1 } });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);

  service.overlay.addReadings(series, [{ timestampMicros: NOON_MICROS + 1, valueText: '1.5' }]);
  await mustExport(options({ force: true }));
  const second = (await expectTableAgrees(store, 'measurements')).get(`vessel=${VESSEL}/date=${DATE}`)!;
  expect(second).toMatchObject({ rows: first.rows + 1, table: { version: 2 } });
  // Readers of version 1 still have their file.
  expect(await store.head(first.object!.key)).toBeDefined();
  const [[count]] = (await duckRows(`SELECT count(*) FROM '${lake.dir}/${second.object!.key}'`)) as [
    [bigint],
  ];
  expect(Number(count)).toBe(second.rows);
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
});

test('a day that is emptied leaves the table, and one that always was empty has no file in it', async () => {
  await mustExport(options());
  for (const date of [DATE, ALWAYS_EMPTY]) service.overlay.removeReadings(series, dayRange(date));
  await mustExport(options({ force: true, allowShrink: true }));
  const receipt = (await expectTableAgrees(store, 'measurements')).get(`vessel=${VESSEL}/date=${DATE}`)!;
  expect(receipt).toMatchObject({ rows: 0, object: null, table: { version: 2 } });
  const next = await runExport(options({ from: ALWAYS_EMPTY }));
  expect([next.code, next.results]).toMatchObject([0, [{ state: 'empty', rows: 0 }]]);
  expect((await replayTable(store, 'measurements')).operations).toHaveLength(3);
  await expectTableAgrees(store, 'measurements');
});

test('vessel-days that wait for their commit hold no place: more share an entry than there are places', async () => {
  const days = 12;
  const { code } = await runExport({
    ...options({ to: addDays(DATE, days) }),
    env: { ...DELTA, WORKER_CONCURRENCY: '1' },
  });
  expect(code).toBe(0);
  expect((await expectTableAgrees(store, 'measurements')).size).toBe(days);
  const { operations } = await replayTable(store, 'measurements');
  // With the place held every entry would have one.
  expect(operations.length - 1).toBeLessThan(days);
});
