import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ColumnBatch, TimeRange } from '../../src/core/model/index.ts';
import {
  createSeriesDictionary,
  dateToMicros,
  dayRange,
  JSON_TEXT,
  jsonTextAt,
  LONG,
  microsToIso,
} from '../../src/core/model/index.ts';
import { createEncoder, createMeasurementRowGroups } from '../../src/parquet/write/index.ts';
import { BatchBuilder } from '../../src/service/data/batch-builder.ts';
import { createEngine } from '../../src/service/data/engine.ts';
import type { LakeFile } from '../../src/service/data/lake-files.ts';
import { listLakeFiles } from '../../src/service/data/lake-files.ts';
import { openLakeQueries } from '../../src/service/data/lake-queries.ts';
import { appendSmallDay, codesOf, readSmallDay } from '../../src/service/data/lake-small-day.ts';
import type { SeriesRecord } from '../../src/service/data/source.ts';
import type { Value } from '../parquet/write/lake-file.ts';
import { batchOf, fileOf, sealAll } from '../parquet/write/lake-file.ts';
import { openService } from './running-service.ts';
import type { LakeReading, TestLake } from './test-lake.ts';
import { createTestLake } from './test-lake.ts';
import { neverDue } from './work.ts';

const VESSEL = 'IMO9074729';
const OTHER = 'IMO9321483';
const DATE = '2026-01-05';
const VALUES = [
  '5',
  '-7',
  '9007199254740993',
  '1.5',
  '-0.0',
  '0.0',
  '1e300',
  '"é"',
  '"ｦ"',
  '"😀"',
  '{"a": [1]}',
  'null',
];

const id = (n: number) => `11111111-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`;
const records = (numbers: readonly number[]) => numbers.map((n) => ({ timeSeriesId: id(n) }) as SeriesRecord);

/** Readings at few instants, many of them at the same one, not in order. */
function readings(numbers: readonly number[], rows: number, seed: number): LakeReading[] {
  let state = seed;
  const next = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  return Array.from({ length: rows }, () => ({
    timeSeriesId: id(numbers[next(numbers.length)]!),
    // Those at the edges of the day too.
    timestamp: microsToIso(dateToMicros(DATE) + next(5) * 21_599_999_999 + next(3)),
    valueText: VALUES[next(VALUES.length)]!,
  }));
}

/** Rows as text, so that a double is told from a long and one zero from the other. */
function rowsOf({ rows, ...batch }: ColumnBatch): string[] {
  const textOf = (row: number) => {
    if (batch.kinds[row] === LONG) return `long ${batch.longs[row]}`;
    if (batch.kinds[row] !== JSON_TEXT)
      return `double ${Object.is(batch.doubles[row], -0) ? '-0' : batch.doubles[row]}`;
    return `json ${new TextDecoder().decode(jsonTextAt(batch.jsonText, batch.words[2 * row]!))}`;
  };
  return Array.from({ length: rows }, (_, row) => {
    const at = `${batch.timestampMicros[row]} ${batch.seriesCodes[row]}`;
    return `${at} ${textOf(row)}`;
  });
}

describe('small vessel-days of a lake', () => {
  let dir: string;
  let lake: TestLake;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'service-small-days-'));
    lake = await createTestLake(dir);
  });
  afterEach(() => {
    lake.close();
    rmSync(dir, { recursive: true });
  });
  const day = (job: string, vessel = VESSEL) => ({ job, vessel, date: DATE });

  async function bySmallDay(
    files: readonly LakeFile[],
    series: readonly number[],
    range: TimeRange,
    values: boolean,
  ) {
    const small = await readSmallDay(files, values);
    if (small === undefined) return undefined;
    const builder = new BatchBuilder();
    await appendSmallDay(builder, small, codesOf(records(series)), range, neverDue);
    return rowsOf(builder.batch);
  }

  async function byDuckDb(
    files: readonly LakeFile[],
    series: readonly number[],
    range: TimeRange,
    values: boolean,
  ) {
    const engine = createEngine(dir);
    const builder = new BatchBuilder();
    {
      await using queries = openLakeQueries(engine, records(series), neverDue);
      await queries.append(builder, files, range, values);
    }
    await engine.close();
    return rowsOf(builder.batch);
  }

  test.each([1, 2, 3, 4])('are read as DuckDB reads them, in the same order (%i)', async (seed) => {
    await lake.writeMeasurements(day('engine'), readings([1, 2, 3], 400, seed));
    await lake.writeMeasurements(day('everything'), readings([2, 3, 4, 5], 400, seed + 10));
    await lake.writeMeasurements(day('everything', OTHER), readings([6, 7], 400, seed + 20));
    const files = await listLakeFiles(dir);
    const whole = dayRange(DATE);
    const part = { fromMicros: whole.fromMicros + 1, toMicros: whole.fromMicros + 43_199_999_999 };
    for (const series of [[7, 5, 3, 1, 2, 4, 6], [3], [9]])
      for (const range of [whole, part])
        for (const values of [true, false]) {
          const rows = await bySmallDay(files, series, range, values);
          expect(rows).toEqual(await byDuckDb(files, series, range, values));
          expect(rows!.length > 0).toBe(series[0] !== 9);
        }
  });

  /** A file as an export writes it, of one series: values at each of some instants. */
  async function exportDay(values: readonly Value[], instants: number): Promise<void> {
    const dictionary = createSeriesDictionary();
    const encoder = createEncoder({ threads: 0 });
    const builder = createMeasurementRowGroups({
      rowGroupRows: 10_000,
      dictionary,
      idOf: () => null,
      encoder,
    });
    const from = dateToMicros(DATE);
    const all = Array.from({ length: instants }, (_, at) =>
      values.map((value) => ({ micros: from + at, series: id(1), value })),
    ).flat();
    builder.append(batchOf(all, dictionary), 0, all.length);
    const folder = join(dir, 'exported', `vessel=${VESSEL}`, `date=${DATE}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'data.parquet'), fileOf('measurements', await sealAll(builder)));
    await encoder.close();
  }

  test('zeros of either sign, NaN and infinities at one instant have one order', async () => {
    const values = [NaN, 2, 0, -0, Infinity, 0, -0, -1, NaN, -Infinity, 0, 7n, '"a"'];
    await exportDay(values, 200);
    const files = await listLakeFiles(dir);
    const rows = await bySmallDay(files, [1], dayRange(DATE), true);
    expect(rows).toEqual(await byDuckDb(files, [1], dayRange(DATE), true));
    const inOrder = ['long 7', '-Infinity', '-1', '-0', '-0', '0', '0', '0', '2', 'Infinity', 'NaN', 'NaN'];
    expect(rows!.slice(-values.length).map((row) => row.split(' ').slice(2).join(' '))).toEqual([
      ...inOrder.map((text) => (text.startsWith('long') ? text : `double ${text}`)),
      'json "a"',
    ]);
  });

  test('what JSON has no number for is null, and Parquet has it', async () => {
    await exportDay([NaN, 1.5, -Infinity], 1);
    await using s = await openService({ data: { dataDir: dir } });
    const query = `/measurements/id/${id(1)}?from=${DATE}T00:00&to=${DATE}T01:00`;
    const points = JSON.parse(await s.text(query)) as { value: unknown }[];
    expect(points.map(({ value }) => value)).toEqual([null, 1.5, null]);
    const body = await s.get(`${query}&format=parquet`);
    const rows = await parquetReadObjects({
      file: await body.arrayBuffer(),
      compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
    });
    expect(rows.map(({ double_value }) => double_value)).toEqual([-Infinity, 1.5, NaN]);
    const aggregations = 'count,first_val,last_val,min,max,sum,mean';
    const windows = `from=${DATE}&to=${DATE.slice(0, -2)}06&window=1d&aggregations=${aggregations}`;
    const answer = await s.text(`/statistics/id/${id(1)}?${windows}`, { 'x-api-version': '2026-09-10' });
    expect(JSON.parse(answer)).toMatchObject([{ aggregations: { count: 3 } }]);
  });

  test('zeros come in one order, however a file has them', async () => {
    const timestamp = `${DATE}T10:00:00.000000Z`;
    const zeros = ['0.0', '-0.0', '5', '0.0', '-0.0', '-1.5'];
    await lake.writeMeasurements(
      day('foreign'),
      zeros.map((valueText) => ({ timeSeriesId: id(1), timestamp, valueText })),
    );
    const files = await listLakeFiles(dir);
    for (const rows of [
      await bySmallDay(files, [1], dayRange(DATE), true),
      await byDuckDb(files, [1], dayRange(DATE), true),
    ])
      expect(rows!.map((row) => row.split(' ').at(-1))).toEqual(['5', '-1.5', '-0', '-0', '0', '0']);
  });

  test('without any file nothing was read, and nothing is missing', async () => {
    expect(await bySmallDay([], [1], dayRange(DATE), true)).toEqual([]);
  });

  test('many rows, many files, and files that cannot be read here are left to DuckDB', async () => {
    await lake.writeMeasurements(day('large'), readings([1], 10_000, 1));
    await lake.writeMeasurements(day('small'), readings([1], 10, 1));
    const [large, small] = await listLakeFiles(dir);
    expect(await readSmallDay([small!], true)).toHaveLength(1);
    expect(await readSmallDay([large!], true)).toBeUndefined();
    expect(
      await readSmallDay(
        Array.from({ length: 5 }, () => small!),
        true,
      ),
    ).toBeUndefined();
    truncateSync(small!.path, 100);
    expect(await readSmallDay([small!], true)).toBeUndefined();
  });

  test('a vessel-day that is replaced while it is asked for is seen as it was or as it is', async () => {
    const variants = ['1', '2.5'].map((value, n) =>
      Array.from({ length: 3_000 + n }, (_, second) => ({
        timeSeriesId: id(1),
        timestamp: microsToIso(dateToMicros(DATE) + second * 1_000_000),
        valueText: value,
      })),
    );
    const paths: string[] = [];
    const folder = join(dir, 'readings', `vessel=${VESSEL}`, `date=${DATE}`);
    for (const [n, variant] of variants.entries()) {
      await lake.writeMeasurements(day('readings'), variant);
      paths.push(join(dir, `variant-${n}.parquet`));
      copyFileSync(join(folder, 'data.parquet'), paths[n]!);
    }
    await using s = await openService({ data: { dataDir: dir } });
    const next = `${DATE.slice(0, -2)}06`;
    const seen = new Set<string>();
    const replace = (n: number) => {
      copyFileSync(paths[n % 2]!, join(folder, 'data.parquet.new'));
      renameSync(join(folder, 'data.parquet.new'), join(folder, 'data.parquet'));
    };
    for (let round = 0; round < 40; round++) {
      const asked = s.text(`/measurements/id/${id(1)}?from=${DATE}&to=${next}&format=ndjson`);
      // Whatever it is at now, the day is another one.
      for (let turn = 0; turn < round % 8; turn++) await new Promise(setImmediate);
      replace(round);
      const lines = (await asked).trim().split('\n');
      const values = new Set(lines.map((line) => /"value":(.*)\}$/.exec(line)![1]!));
      seen.add(`${lines.length} × ${[...values].join()}`);
    }
    expect([...seen].sort()).toEqual(['3000 × 1', '3001 × 2.5']);
  });
});
