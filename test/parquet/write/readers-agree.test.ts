/** What our own encoder writes is the same in three readers, and is what was put in, whichever encodings it chose. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { decompress } from 'fzstd';
import { describe, expect, it } from 'vitest';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import { readMetadata } from '../../../src/parquet/write/parquet-tail.ts';
import { clickHouseForTests } from '../../helpers/clickhouse.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { isLong } from '../../helpers/tiers.ts';
import { pagesOf } from '../read/page-checksums.ts';
import type { Reading, Value } from './lake-file.ts';
import { batchOf, DAY_MICROS, fileOf, READINGS_SQL, rowOf, sealAll } from './lake-file.ts';
import { byArrow, byHyparquet, encoderHere, inFileOrder, orderOf, readerHere } from './readers.ts';

const reader = await readerHere();
const encoder = encoderHere();

const nameOf = (series: string): string | null => (series === 's0' ? null : `IMO1/${series}`);

async function encode(readings: readonly Reading[], rowGroupRows: number): Promise<Buffer> {
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({ rowGroupRows, dictionary, idOf: nameOf, encoder });
  builder.append(batchOf(readings, dictionary), 0, readings.length);
  return fileOf('measurements', await sealAll(builder));
}

const someLong = fc.oneof(
  fc.bigInt({ min: -3n, max: 3n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 51n, -(2n ** 51n) - 1n),
);
const someDouble = fc.oneof(
  fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324),
  fc.double({ noNaN: true }),
  fc.integer({ min: 0, max: 40 }).map((tenths) => tenths / 10),
);
const someText = fc.oneof(
  fc.constantFrom('"on"', '"off"', 'true', '{}'),
  fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => JSON.stringify(text)),
);
const value: fc.Arbitrary<Value> = fc.oneof({ weight: 3, arbitrary: someDouble }, someLong, someText);
/** Few values that repeat, or each its own; few times that repeat, or a long way between them. */
const readings = fc
  .record({
    pool: fc.array(value, { minLength: 1, maxLength: 30 }),
    series: fc.integer({ min: 1, max: 5 }),
    rows: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constantFrom(1, 128, 129, 2_000, 21_000)),
    stepMicros: fc.constantFrom(0, 1, 1_000, 86_400_000_000),
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
  })
  .map(({ pool, series, rows, stepMicros, seed }) => {
    let state = seed;
    const next = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    let micros = DAY_MICROS;
    return Array.from({ length: rows }, (): Reading => {
      micros += next(3) * stepMicros;
      return { micros, series: `s${next(series)}`, value: pool[next(pool.length)]! };
    });
  });

it('reads the same in DuckDB, hyparquet and arrow-rs, whatever the values', async () => {
  const encodings = new Set<string>();
  await fc.assert(
    fc.asyncProperty(readings, async (all) => {
      const file = await encode(all, all.length);
      const expected = inFileOrder(all).map((reading) => rowOf(reading, nameOf(reading.series)));
      expect(await reader.query(file, READINGS_SQL)).toEqual(expected);
      expect(await byHyparquet(file)).toEqual(expected);
      // As a browser reads it: frames of raw blocks, pages that were not worth compressing.
      const inBrowser = await byHyparquet(file, (bytes, length) => decompress(bytes, new Uint8Array(length)));
      expect(inBrowser).toEqual(expected);
      expect(byArrow(file)).toEqual(expected);
      for (const { meta_data: meta } of readMetadata(file).row_groups[0]!.columns)
        encodings.add(`${meta!.path_in_schema[0]} ${meta!.encodings.at(-1)} ${meta!.codec}`);
    }),
    { numRuns: isLong ? 100 : 20, seed: 1 },
  );
  // The cases were such that every way of writing numbers was taken.
  for (const way of ['RLE_DICTIONARY ZSTD', 'PLAIN ZSTD', 'PLAIN UNCOMPRESSED'])
    expect(encodings).toContain(`double_value ${way}`);
  for (const way of ['RLE_DICTIONARY', 'DELTA_BINARY_PACKED'])
    expect([...encodings].join()).toContain(`long_value ${way}`);
});

/**
 * Some series at fixed steps and some at random times, of doubles that repeat and are more than a byte tells apart, in so
 * many rows that pages end with series: pages of timestamps are compressed or not side by side, codes take two bytes.
 */
function manyReadings(seed: number): Reading[] {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const special = [0, -0, Number.NaN, Number.POSITIVE_INFINITY, 5e-324, -273.15];
  const all: Reading[] = [];
  for (let series = 0; series < 24; series++) {
    const stepMicros = 10_000_000 + series;
    const rows = [200, 1_300, 2_900][series % 3]!;
    for (let row = 0; row < rows; row++) {
      const micros = DAY_MICROS + row * stepMicros + (series < 8 ? next(stepMicros) : 0);
      const double = next(50) === 0 ? special[next(special.length)]! : (next(2_000) - 300) / 100;
      const value = series === 10 ? BigInt(row) : series === 20 ? `"${next(9)}"` : double;
      all.push({ micros, series: `s${String(series).padStart(2, '0')}`, value });
    }
  }
  return all.sort((a, b) => a.micros - b.micros);
}

/** Columns of a file with one row group, by name. */
const chunksOf = (file: Buffer) =>
  new Map(
    readMetadata(file).row_groups[0]!.columns.map(({ meta_data: meta }) => [meta!.path_in_schema[0], meta!]),
  );

it('reads the same of many rows, in pages that end with a series', async () => {
  for (const seed of isLong ? [1, 2] : [1]) {
    const all = manyReadings(seed);
    const file = await encode(all, all.length);
    const expected = inFileOrder(all).map((reading) => rowOf(reading, nameOf(reading.series)));
    expect(await reader.query(file, READINGS_SQL)).toEqual(expected);
    expect(await byHyparquet(file, (bytes, length) => decompress(bytes, new Uint8Array(length)))).toEqual(
      expected,
    );
    expect(byArrow(file)).toEqual(expected);
    const doubles = chunksOf(file).get('double_value')!;
    expect([doubles.encodings.at(-1), doubles.codec]).toEqual(['RLE_DICTIONARY', 'ZSTD']);
    const times = chunksOf(file).get('timestamp')!;
    expect([times.encodings.at(-1), times.codec]).toEqual(['DELTA_BINARY_PACKED', 'ZSTD']);
    // Random times alone are not put into zstd: nothing is gained, and a reader would have to take them out again.
    const random = await encode(
      all.filter(({ series }) => series < 's08'),
      all.length,
    );
    expect(chunksOf(random).get('timestamp')!.codec).toBe('UNCOMPRESSED');
  }
});

const openClickHouse = clickHouseForTests();

describe.skipIf(openClickHouse === undefined)('ClickHouse', () => {
  it('reads the same by both of its readers, whatever the values', async () => {
    await using clickHouse = openClickHouse!();
    await using folder = await newTempFolder();
    const path = join(folder.path, 'data.parquet');
    const rowsOf = (all: readonly Reading[]) =>
      inFileOrder(all).map((reading) =>
        rowOf(reading, nameOf(reading.series)).map((cell, column) =>
          cell === null ? null : column === 4 ? String(orderOf(cell as number)) : String(cell),
        ),
      );
    const check = async (all: readonly Reading[]) => {
      await writeFile(path, await encode(all, all.length));
      for (const isNative of [0, 1])
        expect(
          await clickHouse.rows(
            `SELECT toString(toUnixTimestamp64Micro(timestamp)), time_series_id, id, toString(long_value),
               toString(reinterpretAsInt64(double_value)), json_value FROM file('${path}', Parquet)
             SETTINGS input_format_parquet_use_native_reader_v3 = ${isNative}, max_threads = 1,
               input_format_parquet_preserve_order = 1`,
          ),
        ).toEqual(rowsOf(all));
    };
    await check(manyReadings(3));
    await fc.assert(fc.asyncProperty(readings, check), { numRuns: isLong ? 50 : 6, seed: 2 });
  });

  it('refuses a page of which a bit has changed, by its checksum', async () => {
    await using clickHouse = openClickHouse!();
    await using folder = await newTempFolder();
    const path = join(folder.path, 'data.parquet');
    const file = await encode(manyReadings(3), 100_000);
    for (const column of ['timestamp', 'time_series_id', 'long_value', 'double_value', 'json_value']) {
      const { start, bytes } = pagesOf(file).findLast((page) => page.column === column)!;
      const flipped = Buffer.from(file);
      flipped[start + (bytes.length >> 1)]! ^= 4;
      await writeFile(path, flipped);
      const read = clickHouse.rows(`SELECT sum(cityHash64(${column})) FROM file('${path}', Parquet)`);
      await expect(read).rejects.toThrow(/CRC checksum/);
    }
  });
});

it('answers filters on doubles as without statistics, NaN and zeros of either sign among them', async () => {
  const of = (values: number[]) =>
    values.map((value, i): Reading => ({ micros: DAY_MICROS + i, series: 's1', value }));
  const groups = [
    [1, 2, Number.NaN],
    [-0, 3, 3],
    [0, 4, 4],
    [Number.NaN, Number.NaN, Number.NaN],
    [5, 6, 7],
  ];
  const file = await encode(of(groups.flat()), 3);
  expect(readMetadata(file).row_groups).toHaveLength(groups.length);
  for (const filter of ['> 100', "= 'NaN'::double", '= 0', '< 0', '>= 0', '<= 0', '<= 4', '> 4', 'IS NULL']) {
    const [[found]] = (await reader.query(
      file,
      `SELECT count(*) FROM FILE WHERE double_value ${filter}`,
    )) as [[bigint]];
    const all = `SELECT count(*) FROM (SELECT double_value + 0 AS d FROM FILE) WHERE d ${filter}`;
    expect([filter, [[found]]]).toEqual([filter, await reader.query(file, all)]);
  }
});

it('has a field id for each column, the same for a name in every job', async () => {
  const file = await encode([{ micros: DAY_MICROS, series: 's1', value: 1n }], 1);
  const ids = readMetadata(file)
    .schema.slice(1)
    .map(({ name, field_id: id }) => [name, id]);
  expect(ids).toEqual([
    ['timestamp', 1],
    ['time_series_id', 2],
    ['id', 3],
    ['long_value', 4],
    ['double_value', 5],
    ['json_value', 6],
  ]);
  expect(
    await reader.query(file, 'SELECT field_id FROM parquet_schema(FILE) WHERE type IS NOT NULL'),
  ).toEqual([1n, 2n, 3n, 4n, 5n, 6n].map((id) => [id]));
});
