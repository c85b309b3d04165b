import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ColumnBatch } from '../../src/core/model/index.ts';
import {
  createSeriesDictionary,
  dateToMicros,
  dayRange,
  JSON_TEXT,
  jsonTextAt,
  LONG,
} from '../../src/core/model/index.ts';
import { createEncoder, createMeasurementRowGroups } from '../../src/parquet/write/index.ts';
import { BatchBuilder } from '../../src/service/data/batch-builder.ts';
import { createEngine } from '../../src/service/data/engine.ts';
import { connectFor, fill } from '../../src/service/data/lake.ts';
import { listLakeFiles } from '../../src/service/data/lake-files.ts';
import type { SeriesRecord } from '../../src/service/data/source.ts';
import { batchOf, fileOf, sealAll, type Value } from '../parquet/write/lake-file.ts';
import { openService } from './running-service.ts';
import { createTestLake } from './test-lake.ts';
import { neverDue } from './work.ts';

const VESSEL = 'IMO9074729';
const DATE = '2026-01-05';
const id = (n: number) => `11111111-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`;

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

describe('odd values of a lake', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'service-lake-values-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  /** The day's readings of one series, in the order in which they are answered. */
  async function readDay(): Promise<string[]> {
    const engine = createEngine(dir);
    const builder = new BatchBuilder();
    {
      await using connection = await connectFor(engine, [{ timeSeriesId: id(1) } as SeriesRecord], neverDue);
      await fill(connection, builder, await listLakeFiles(dir), dayRange(DATE), true, neverDue);
    }
    await engine.close();
    return rowsOf(builder.batch);
  }

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
    const rows = await readDay();
    const inOrder = ['long 7', '-Infinity', '-1', '-0', '-0', '0', '0', '0', '2', 'Infinity', 'NaN', 'NaN'];
    expect(rows.slice(-values.length).map((row) => row.split(' ').slice(2).join(' '))).toEqual([
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
    const lake = await createTestLake(dir);
    const timestamp = `${DATE}T10:00:00.000000Z`;
    const zeros = ['0.0', '-0.0', '5', '0.0', '-0.0', '-1.5'];
    await lake.writeMeasurements(
      { job: 'foreign', vessel: VESSEL, date: DATE },
      zeros.map((valueText) => ({ timeSeriesId: id(1), timestamp, valueText })),
    );
    lake.close();
    const rows = await readDay();
    expect(rows.map((row) => row.split(' ').at(-1))).toEqual(['5', '-1.5', '-0', '-0', '0', '0']);
  });
});
