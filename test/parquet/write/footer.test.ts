import { tableFromIPC } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { readOffsetIndex } from 'hyparquet/src/indexes.js';
import { readParquet } from 'parquet-wasm';
import { describe, expect, it } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import type { Dataset, EncodedRowGroup } from '../../../src/core/model/index.ts';
import { AGGREGATIONS, createSeriesDictionary, FORMAT_VERSION } from '../../../src/core/model/index.ts';
import {
  createMeasurementRowGroups,
  createStatisticsRowGroups,
  emptyParquetFooter,
  encodeMetadata,
  PARQUET_MAGIC,
  parquetFooter,
} from '../../../src/parquet/write/index.ts';
import type { Reading } from './lake-file.ts';
import { bareSeries, batchOf, DAY_MICROS, fileOf, READINGS_SQL, rowOf, sealAll } from './lake-file.ts';
import { arrayBuffer, byArrow, byHyparquet, encoderHere, readerHere, zstd } from './readers.ts';

const reader = await readerHere();
const encoder = encoderHere();

const uuid = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

/** Rows of 25 series; group `g` covers one microsecond step of its own, in file order within. */
function readingsOf(groups: number, rowsPerGroup: number): Reading[] {
  return Array.from({ length: groups * rowsPerGroup }, (_, i) => {
    const row = i % rowsPerGroup;
    const value = row % 3 === 0 ? BigInt(i) : row % 3 === 1 ? i + 0.5 : `{"row":${i}}`;
    return { micros: DAY_MICROS + Math.floor(i / rowsPerGroup), series: uuid(row), value };
  });
}

async function encodeGroups(readings: readonly Reading[], rowGroupRows: number): Promise<EncodedRowGroup[]> {
  const dictionary = createSeriesDictionary();
  const idOf = (id: string) => `IMO9321483/${id}`;
  const builder = createMeasurementRowGroups({ rowGroupRows, dictionary, idOf, encoder });
  builder.append(batchOf(readings, dictionary), 0, readings.length);
  return sealAll(builder);
}

describe.each([1, 2, 300])('a file of %i row groups', (count) => {
  const readings = readingsOf(count, 25);

  it('reads the same in DuckDB, hyparquet and parquet-wasm', async () => {
    const groups = await encodeGroups(readings, 25);
    expect(groups.length).toBe(count);
    const file = fileOf('measurements', groups);
    const expected = readings.map((reading) => rowOf(reading, `IMO9321483/${reading.series}`));
    expect(await reader.query(file, READINGS_SQL)).toEqual(expected);

    expect(await byHyparquet(file)).toEqual(expected);
    expect(byArrow(file)).toEqual(expected);
    const table = tableFromIPC(readParquet(file).intoIPCStream());
    expect(String(table.schema.fields[0]!.type)).toBe('Timestamp<MICROSECOND, UTC>');
  });

  it('says what each row group holds', async () => {
    const file = fileOf('measurements', await encodeGroups(readings, 25));
    const metadata = parquetMetadata(arrayBuffer(file), {
      parsers: { timestampFromMicroseconds: (micros) => micros },
    });
    expect(Number(metadata.num_rows)).toBe(readings.length);
    for (const [g, group] of metadata.row_groups.entries()) {
      const [timestamp, series] = group.columns.map((column) => column.meta_data!.statistics!);
      expect(timestamp).toMatchObject({
        min_value: BigInt(DAY_MICROS + g),
        max_value: BigInt(DAY_MICROS + g),
      });
      // Longer than the sixteen bytes at which the footer's writer cuts by default.
      expect(series).toMatchObject({ min_value: uuid(0), max_value: uuid(24), is_max_value_exact: true });
      expect(group.sorting_columns).toEqual([
        { column_idx: 1, descending: false, nulls_first: false },
        { column_idx: 0, descending: false, nulls_first: false },
      ]);
    }
  });

  it('lists in each offset index the pages of its column chunk, end to end', async () => {
    const file = fileOf('measurements', await encodeGroups(readings, 25));
    const view = new DataView(arrayBuffer(file));
    for (const group of parquetMetadata(view.buffer).row_groups) {
      expect(group.columns.length).toBe(6);
      for (const { meta_data: meta, offset_index_offset: indexAt } of group.columns) {
        const { page_locations: pages } = readOffsetIndex({ view, offset: Number(indexAt) });
        let end = meta!.data_page_offset;
        for (const page of pages) {
          expect(page.offset).toBe(end);
          end += BigInt(page.compressed_page_size);
        }
        const chunkAt = meta!.dictionary_page_offset ?? meta!.data_page_offset;
        expect(end).toBe(chunkAt + meta!.total_compressed_size);
      }
    }
  });

  it('finds single pages through the shifted indexes', async () => {
    const file = fileOf('measurements', await encodeGroups(readings, 25));
    const found = await parquetReadObjects({
      file: arrayBuffer(file),
      compressors: { ZSTD: zstd },
      filter: { time_series_id: { $eq: uuid(7) } },
      useOffsetIndex: true,
      usePageIndex: true,
    });
    expect(found.length).toBe(count);
    expect(found.every((row) => row.time_series_id === uuid(7))).toBe(true);
  });
});

it('leads to the right one of many pages of a row group', async () => {
  const readings = Array.from({ length: 90_000 }, (_, i) => ({
    micros: DAY_MICROS + Math.floor(i / 25),
    series: uuid(i % 25),
    value: BigInt(i),
  }));
  const groups = await encodeGroups(readings, 45_000);
  expect(groups.length).toBe(2);
  const pages = new Set<number>();
  const found = await parquetReadObjects({
    file: arrayBuffer(fileOf('measurements', groups)),
    compressors: { ZSTD: zstd },
    columns: ['time_series_id', 'long_value'],
    filter: { time_series_id: { $eq: uuid(20) } },
    useOffsetIndex: true,
    usePageIndex: true,
    onPage: ({ rowStart }) => pages.add(rowStart),
  });
  const expected = readings.filter((reading) => reading.series === uuid(20)).map((reading) => reading.value);
  expect(found.map((row) => row.long_value)).toEqual(expected);
  // Six pages a column; only those around the series were read.
  expect(pages.size).toBeLessThan(6);
});

it('names the format version and its writer, and nothing of the run', async () => {
  const file = fileOf('measurements', await encodeGroups(readingsOf(2, 4), 4));
  expect(
    await reader.query(file, 'select decode(key), decode(value) from parquet_kv_metadata(FILE)'),
  ).toEqual([['vessel_export.format_version', String(FORMAT_VERSION)]]);
  expect(await reader.query(file, 'select created_by from parquet_file_metadata(FILE)')).toEqual([
    ['vessel-export'],
  ]);
});

it('keeps long string statistics and negative zero in the footer as the encoder wrote them', async () => {
  const long = `IMO9321483/${'ø'.repeat(40)}`;
  const readings = [-0, -1.5].map((value, i) => ({ micros: DAY_MICROS + i, series: long, value }));
  const file = fileOf('measurements', await encodeGroups(readings, 10));
  const { row_groups: groups } = parquetMetadata(arrayBuffer(file));
  const [, series, , , double] = groups[0]!.columns.map((column) => column.meta_data!.statistics);
  const [min, max] = [String(series!.min_value), String(series!.max_value)];
  expect(long.startsWith(min)).toBe(true);
  expect(min.length).toBeGreaterThan(16);
  expect(max >= long).toBe(true);
  expect([double!.min_value, double!.max_value]).toEqual([-1.5, 0]);
  expect(await reader.query(file, `select count(*) from FILE where time_series_id = '${long}'`)).toEqual([
    [2n],
  ]);
});

it('answers a filter on time, for which DuckDB trusts the statistics', async () => {
  const file = fileOf('measurements', await encodeGroups(readingsOf(20, 25), 25));
  const micros = DAY_MICROS + 13;
  expect(
    await reader.query(
      file,
      `select count(*), min(long_value) from FILE where timestamp = make_timestamptz(${micros})`,
    ),
  ).toEqual([[25n, 13n * 25n]]);
});

it('refuses row groups of different columns, and none', async () => {
  const [measurements] = await encodeGroups(readingsOf(1, 3), 3);
  const builder = createStatisticsRowGroups({
    rowGroupRows: 1,
    aggregations: ['count'],
    idOf: (id) => id,
    encoder,
  });
  builder.append([{ timestampMicros: DAY_MICROS, id: 'a', values: new Map([['count', '1']]) }], 0, 1);
  const [statistics] = await sealAll(builder);
  const spliced = [measurements!, statistics!].map(({ body, tail, rows }) => ({
    bodyBytes: body.length,
    tail,
    rows,
  }));
  expect(() => parquetFooter('measurements', spliced)).toThrow(FatalError);
  expect(() => parquetFooter('measurements', [])).toThrow(RangeError);
});

describe('a file of no rows', () => {
  const aggregations = AGGREGATIONS;
  const empty = (dataset: Dataset) =>
    Buffer.concat([PARQUET_MAGIC, emptyParquetFooter({ dataset, aggregations })]);

  async function withRows(dataset: Dataset): Promise<Buffer> {
    if (dataset === 'measurements') return fileOf(dataset, await encodeGroups(readingsOf(1, 25), 25));
    if (dataset === 'metadata')
      return fileOf(dataset, [await encodeMetadata([bareSeries('IMO9321483/bare', 'b')], encoder)]);
    const builder = createStatisticsRowGroups({ rowGroupRows: 10, aggregations, idOf: (id) => id, encoder });
    builder.append([{ timestampMicros: DAY_MICROS, id: 'a', values: new Map([['count', '1']]) }], 0, 1);
    return fileOf(dataset, await sealAll(builder));
  }

  it.each(['measurements', 'statistics', 'metadata'] as const)('has the columns of %s', async (dataset) => {
    const [none, some] = [empty(dataset), await withRows(dataset)].map((file) =>
      parquetMetadata(arrayBuffer(file)),
    );
    expect(none!.schema).toEqual(some!.schema);
    const { version, key_value_metadata, created_by } = some!;
    expect(none).toMatchObject({ version, key_value_metadata, created_by, num_rows: 0n, row_groups: [] });
    const describe = 'select column_name, column_type from (describe from FILE)';
    expect(await reader.query(empty(dataset), describe)).toEqual(
      await reader.query(await withRows(dataset), describe),
    );
  });

  it('reads as nothing in DuckDB, hyparquet and parquet-wasm', async () => {
    const file = empty('measurements');
    expect(await reader.query(file, READINGS_SQL)).toEqual([]);
    expect(await parquetReadObjects({ file: arrayBuffer(file) })).toEqual([]);
    expect(tableFromIPC(readParquet(file).intoIPCStream()).numRows).toBe(0);
  });
});
