import { afterAll, expect, test } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { fileStatistics } from '../../../src/lake/table/statistics.ts';
import {
  createEncoder,
  createMeasurementRowGroups,
  emptyParquetFooter,
} from '../../../src/parquet/write/index.ts';
import {
  batchOf,
  DAY_MICROS,
  fileOf,
  type Reading,
  sealAll,
  type Value,
} from '../../parquet/write/lake-file.ts';

const encoder = createEncoder({ threads: 0 });
afterAll(() => encoder.close());

/** Statistics of a file with these readings, `rowGroupRows` to a row group. */
async function statisticsOf(readings: readonly Reading[], rowGroupRows = 1_000): Promise<string> {
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({ rowGroupRows, dictionary, idOf: () => null, encoder });
  builder.append(batchOf(readings, dictionary), 0, readings.length);
  return fileStatistics(fileOf('measurements', await sealAll(builder)), 'a.parquet');
}

const at = (micros: number, value: Value, series = 'a'): Reading => ({
  micros: DAY_MICROS + micros,
  series,
  value,
});

test('bounds are exact, over all row groups, and times are rounded outwards', async () => {
  const text = await statisticsOf(
    [
      at(1_999, 9_007_199_254_740_993n, 'b'),
      at(2_001, 1.5),
      at(5_000_001, -3n),
      at(86_399_999_001, 2.5e-300, 'c'),
    ],
    1,
  );
  expect(text).toBe(
    '{"numRecords":4,' +
      '"minValues":{"timestamp":"2026-01-05T00:00:00.001Z","time_series_id":"a","long_value":-3,"double_value":2.5e-300},' +
      '"maxValues":{"timestamp":"2026-01-06T00:00:00.000Z","time_series_id":"c","long_value":9007199254740993,"double_value":1.5},' +
      '"nullCount":{"timestamp":0,"time_series_id":0,"id":4,"long_value":2,"double_value":2,"json_value":4}}',
  );
});

test.for([
  ['NaN', [Number.NaN, 1.5], undefined],
  ['infinity', [Number.POSITIVE_INFINITY, 1.5], undefined],
  ['minus infinity', [Number.NEGATIVE_INFINITY, 1.5], undefined],
  ['zero', [0, 1.5], ['-0.0', '1.5']],
  ['minus zero', [-0, -1.5], ['-1.5', '0.0']],
  ['the largest', [1.7976931348623157e308, 5e-324], ['5e-324', '1.7976931348623157e+308']],
] as const)('doubles with %s', async ([, values, bounds]) => {
  const text = await statisticsOf(values.map((value, i) => at(i, value)));
  const [min, max] = [
    /minValues":\{[^}]*"double_value":([^,}]+)/,
    /maxValues":\{[^}]*"double_value":([^,}]+)/,
  ].map((shape) => shape.exec(text)?.[1]);
  expect([min, max]).toEqual(bounds ?? [undefined, undefined]);
  expect(text).toContain('"double_value":0,');
});

test('a bound of one row group alone bounds nothing', async () => {
  const text = await statisticsOf([at(0, 1.5), at(1_000_000, Number.NaN)], 1);
  expect(JSON.parse(text).minValues).not.toHaveProperty('double_value');
});

test('long texts have no bounds', async () => {
  const text = await statisticsOf([at(0, 1n, 'x'.repeat(200))]);
  expect(JSON.parse(text).minValues).not.toHaveProperty('time_series_id');
  expect(JSON.parse(text).nullCount.time_series_id).toBe(0);
});

test('a file of no rows, and what is no file', () => {
  const text = fileStatistics(emptyParquetFooter({ dataset: 'measurements' }), 'a.parquet');
  expect(JSON.parse(text)).toMatchObject({ numRecords: 0, minValues: {} });
  expect(() => fileStatistics(Buffer.from('no Parquet at all'), 'a.parquet')).toThrow(DataError);
  expect(() => fileStatistics(Buffer.from('no Parquet at all'), 'a.parquet')).toThrow(/^a\.parquet: /);
});
