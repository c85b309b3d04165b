/**
 * The lake equals the service's data. The truth is the service's raw NDJSON, asked for and taken apart by
 * test/helpers/lake.ts; the lake is read by DuckDB. Nothing of the pipeline judges itself here.
 */

import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiVersion } from '../../src/core/model/index.ts';
import { addDays } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { expectExactDay, lakeReadings, readObject, receiptOf, unfinishedFiles } from '../helpers/lake.ts';
import type { TestService } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  MEASUREMENTS,
  mustExport,
  newLake,
  OTHER_VESSEL,
  serviceForTests,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const FLAT = [`flat/${VESSEL}/*`];
const ALL = { measurements: MEASUREMENTS };
const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };

const service = await serviceForTests({ vessels: 2, readingsPerDay: 30_000 });
let inclusive: TestService;

beforeAll(async () => {
  inclusive = await startTestService({ seed: 2, readingsPerDay: 30_000, toInclusive: true });
});

afterAll(async () => {
  await inclusive.close();
});

test('a day has the schema, the rows and the receipt of the format', async () => {
  await using lake = await newLake();
  const ran = await mustExport({ service, lakeUrl: lake.url, jobs: ALL });
  const lines = await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FLAT });
  const sizeBytes = (await readObject(lake.dir, DAY))!.length;
  const rows = lines.length;
  expect(ran.results).toEqual([
    { ...DAY, state: 'published', exported: true, rows, sizeBytes, resumed: false },
  ]);

  const { schema, rowGroupRows } = await lakeReadings(join(lake.dir, objectKey(DAY)));
  expect(schema).toEqual([
    'timestamp TIMESTAMP WITH TIME ZONE',
    'time_series_id VARCHAR',
    'id VARCHAR',
    'long_value BIGINT',
    'double_value DOUBLE',
    'json_value VARCHAR',
  ]);
  expect(rowGroupRows).toEqual([lines.length]);
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({
    proof: 'exact',
    epoch: 1,
    source: { rows: lines.length },
    clippedRows: 0,
    retries: 0,
    object: { key: objectKey(DAY), sizeBytes: (await readObject(lake.dir, DAY))!.length },
  });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  // The data have what is hard to keep.
  const values = lines.map((line) => line.split('\t').slice(3).join('\t'));
  expect(values.some((value) => value.startsWith('L') && BigInt(value.slice(1)) > 2n ** 53n)).toBe(true);
  for (const kind of ['J{"lat":', 'J"', 'D'])
    expect(values.some((value) => value.startsWith(kind))).toBe(true);
  expect(lines.some((line) => !/000\t/.test(line.slice(0, 17)))).toBe(true);
  expect(new Set(lines.map((line) => line.split('\t').slice(0, 2).join())).size).toBeLessThan(lines.length);
});

const VERSIONS: readonly ApiVersion[] = ['2025-10-31', '2026-09-10', '2026-01-01-beta'];
for (const transport of ['ndjson', 'json', 'parquet'] as const) {
  for (const version of VERSIONS) {
    for (const toInclusive of version === '2026-09-10' ? [false, true] : [false]) {
      test(`${transport}, version ${version}, to ${toInclusive ? 'inclusive' : 'exclusive'}: exact`, async () => {
        await using lake = await newLake();
        const from = toInclusive ? inclusive : service;
        await mustExport({
          service: from,
          lakeUrl: lake.url,
          jobs: { measurements: { ...FEW_SERIES, transport } },
          env: { QUERY_API_VERSION: version },
          overrides: { sizes: { rowGroupRows: 700, partBytes: 20_000 }, sliceTargetRows: 500 },
        });
        const millis = transport === 'parquet';
        const exact = { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS, version, millis };
        const lines = await expectExactDay(from, exact);
        const { rowGroupRows } = await lakeReadings(join(lake.dir, objectKey(DAY)));
        expect(rowGroupRows.length).toBeGreaterThan(5);
        expect(lines.length).toBeGreaterThan(4_000);
        expect(await receiptOf(lake.dir, DAY)).toMatchObject({ proof: 'exact', apiVersion: version });
      });
    }
  }
}

test('any seed, any day, any sizes, any page length', async () => {
  const shape = fc.record({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    daysBack: fc.integer({ min: 0, max: 900 }),
    readingsPerDay: fc.integer({ min: 1_000, max: 8_000 }),
    toInclusive: fc.boolean(),
    rowGroupRows: fc.integer({ min: 1, max: 3_000 }).filter((rows) => rows >= 50),
    partBytes: fc.integer({ min: 1, max: 100_000 }),
    sliceTargetRows: fc.integer({ min: 20, max: 20_000 }),
    transport: fc.constantFrom('ndjson', 'json'),
    version: fc.constantFrom(...VERSIONS),
  });
  await fc.assert(
    fc.asyncProperty(shape, async (choice) => {
      const { seed, readingsPerDay, toInclusive, rowGroupRows, partBytes, sliceTargetRows } = choice;
      const any = await startTestService({ seed, readingsPerDay, toInclusive });
      await using lake = await newLake();
      const day = { ...DAY, date: addDays('2026-10-01', -choice.daysBack) };
      try {
        await mustExport({
          service: any,
          lakeUrl: lake.url,
          jobs: { measurements: { ...MEASUREMENTS, transport: choice.transport } },
          env: { QUERY_API_VERSION: choice.version },
          args: { from: day.date },
          overrides: { sizes: { rowGroupRows, partBytes }, sliceTargetRows },
        });
        await expectExactDay(any, { lakeDir: lake.dir, day, expressions: FLAT });
        expect(await unfinishedFiles(lake.dir)).toEqual([]);
      } finally {
        await any.close();
      }
    }),
    { numRuns: 6 },
  );
});

test('several days and vessels, all of them at once', async () => {
  await using lake = await newLake();
  const jobs = { measurements: { ...FEW_SERIES, vessels: { discover: 'flat/*/*' } } };
  const { results } = await mustExport({ service, lakeUrl: lake.url, jobs, args: { to: '2026-01-08' } });
  expect(results).toHaveLength(6);
  for (const { job, vessel, date } of results)
    await expectExactDay(service, {
      lakeDir: lake.dir,
      day: { job, vessel, date },
      expressions: [`flat/${vessel}/S*`],
    });
  expect(new Set(results.map(({ vessel }) => vessel))).toEqual(new Set([VESSEL, OTHER_VESSEL]));
});

test('a day without readings has a receipt of no rows, and no object', async () => {
  await using lake = await newLake();
  // Every made-up vessel is silent on one day a month.
  const args = { from: '2026-01-01', to: '2026-02-01' };
  const { results } = await mustExport({ service, lakeUrl: lake.url, args });
  const empty = results.filter(({ state }) => state === 'empty');
  expect(results).toHaveLength(31);
  expect(empty).toHaveLength(1);
  const day = { ...DAY, date: empty[0]!.date };
  await expectExactDay(service, { lakeDir: lake.dir, day, expressions: FEW_EXPRESSIONS });
  expect(await receiptOf(lake.dir, day)).toMatchObject({
    ...{ rows: 0, series: 0, object: null, proof: 'exact', source: { rows: 0 } },
    ...{ firstTimestamp: null, lastTimestamp: null },
  });
});
