import { describe, expect, it } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { createColumnBatch, createSeriesDictionary, MICROS_PER_HOUR } from '../../../src/core/model/index.ts';
import { createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import type { Reading } from './lake-file.ts';
import { batchOf, DAY_MICROS, fileOf, READINGS_SQL, rowOf, runsOf, sealAll } from './lake-file.ts';
import { encoderHere, readerHere } from './readers.ts';

const reader = await readerHere();
const encoder = encoderHere();

function build(rowGroupRows = 1000, idOf: (id: string) => string | null = (id) => `IMO1/${id}`) {
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({ rowGroupRows, dictionary, idOf, encoder });
  return {
    builder,
    append(readings: readonly Reading[]) {
      builder.append(batchOf(readings, dictionary), 0, readings.length);
    },
  };
}

const at = (micros: number, series: string, value: Reading['value']): Reading => ({
  micros: DAY_MICROS + micros,
  series,
  value,
});

describe('what DuckDB reads', () => {
  it('has the schema of the design', async () => {
    const { builder, append } = build();
    append([at(0, 'a', 1n)]);
    const file = fileOf('measurements', await sealAll(builder));
    const columns = await reader.query(file, 'select column_name, column_type from (describe from FILE)');
    expect(columns).toEqual([
      ['timestamp', 'TIMESTAMP WITH TIME ZONE'],
      ['time_series_id', 'VARCHAR'],
      ['id', 'VARCHAR'],
      ['long_value', 'BIGINT'],
      ['double_value', 'DOUBLE'],
      ['json_value', 'VARCHAR'],
    ]);
    const schema = await reader.query(
      file,
      `select name, repetition_type, coalesce(logical_type::varchar, '') from parquet_schema(FILE) where type is not null`,
    );
    expect(schema.map(([name, repetition]) => [name, repetition])).toEqual([
      ['timestamp', 'REQUIRED'],
      ['time_series_id', 'REQUIRED'],
      ['id', 'OPTIONAL'],
      ['long_value', 'OPTIONAL'],
      ['double_value', 'OPTIONAL'],
      ['json_value', 'OPTIONAL'],
    ]);
    expect(schema[0]![2]).toMatch(/TimestampType\(isAdjustedToUTC=1, unit=TimeUnit\(.*MICROS=MicroSeconds/);
  });

  it('keeps every kind of value exactly', async () => {
    const { builder, append } = build();
    const values = [
      9_007_199_254_740_993n,
      -9_223_372_036_854_775_808n,
      9_223_372_036_854_775_807n,
      0n,
      -0,
      0,
      5e-324,
      -1.7976931348623157e308,
      0.1 + 0.2,
      '""',
      '{"text":"a \\"quoted\\" word","é":"Ærø 🚢"}',
      'true',
      '',
    ];
    const readings = values.map((value, i) => at(i, 'one', value));
    append(readings);
    const rows = await reader.query(fileOf('measurements', await sealAll(builder)), READINGS_SQL);
    // toEqual tells -0 from 0.
    expect(rows).toEqual(readings.map((reading) => rowOf(reading, 'IMO1/one')));
  });

  it('keeps microseconds before 1970 and in 2199', async () => {
    const { builder, append } = build();
    const instants = [-1, 0, 1, Date.UTC(2199, 11, 31, 23, 59, 59, 999) * 1000 + 999];
    const readings = instants.map((micros) => ({ micros, series: 's', value: 1n }));
    append(readings);
    const groups = await sealAll(builder);
    const rows = await reader.query(fileOf('measurements', groups), READINGS_SQL);
    expect(rows.map(([micros]) => micros)).toEqual(instants.map(BigInt));
    expect(groups[0]).toMatchObject({ minMicros: -1, maxMicros: instants[3] });
  });

  it('sorts series by the bytes of their ids, then time, then value', async () => {
    const { builder, append } = build(1000, (id) => (id === 'é' ? null : id.toUpperCase()));
    // UTF-16 order would put the ship (a surrogate pair) before the private use character.
    const ids = ['🚢', '\ue000', 'é', 'b', 'B', ''];
    append(ids.flatMap((id) => [at(5, id, 2.5)]));
    append(ids.map((id) => at(6, id, 1n)));
    const rows = await reader.query(fileOf('measurements', await sealAll(builder)), READINGS_SQL);
    const expected = ['', 'B', 'b', 'é', '\ue000', '🚢'].flatMap((id) => [
      rowOf(at(5, id, 2.5), id === 'é' ? null : id.toUpperCase()),
      rowOf(at(6, id, 1n), id === 'é' ? null : id.toUpperCase()),
    ]);
    expect(rows).toEqual(expected);
  });

  it('orders equal timestamps by kind and value and keeps duplicates', async () => {
    const { builder, append } = build();
    const sorted: Reading['value'][] = [
      ...[-(2n ** 63n), -5n, -5n, 3n, 2n ** 31n, 2n ** 32n, 2n ** 53n + 1n],
      // Doubles by their bits as a signed integer: negative ones first, from -0 downwards.
      ...[-0, -1.5, -1e300, 0, 1.5, 1.5, 1e300],
      ...['"B"', '"a"', '"a"', '"é"', '[', '{}'],
    ];
    append([...sorted].reverse().map((value) => at(7, 's', value)));
    const rows = await reader.query(fileOf('measurements', await sealAll(builder)), READINGS_SQL);
    expect(rows).toEqual(sorted.map((value) => rowOf(at(7, 's', value), 'IMO1/s')));
  });

  it('reads columns that are all null and series without any name', async () => {
    const { builder, append } = build(1000, () => null);
    append([at(0, 'a', 1.5), at(1, 'b', 2.5)]);
    const file = fileOf('measurements', await sealAll(builder));
    expect(
      await reader.query(file, 'select count(id), count(long_value), count(json_value) from FILE'),
    ).toEqual([[0n, 0n, 0n]]);
    const nulls = await reader.query(
      file,
      `select path_in_schema, stats_null_count from parquet_metadata(FILE) where path_in_schema like '%value'`,
    );
    expect(nulls).toEqual([
      ['long_value', 2n],
      ['double_value', 0n],
      ['json_value', 2n],
    ]);
  });
});

describe('row group boundaries', () => {
  it('are at the first timestamp change at or after the row count', () => {
    const { builder, append } = build(3);
    append([at(1, 'a', 1n), at(1, 'b', 1n)]);
    expect(builder.sealableRows()).toBe(0);
    append([at(2, 'a', 1n)]);
    expect(builder.sealableRows()).toBe(0);
    append([at(2, 'b', 1n), at(2, 'c', 1n)]);
    expect(builder.sealableRows()).toBe(0);
    append([at(3, 'a', 1n)]);
    expect(builder.sealableRows()).toBe(5);
    expect(builder.sealableRows()).toBe(5);
  });

  it('are exactly at the row count when the timestamp changes there', () => {
    const { builder, append } = build(2);
    append([at(1, 'a', 1n), at(2, 'a', 1n), at(3, 'a', 1n), at(4, 'a', 1n)]);
    expect(builder.sealableRows()).toBe(2);
  });

  it('are found again after rows are dropped', () => {
    const { builder, append } = build(2);
    append([at(1, 'a', 1n), at(2, 'a', 1n), at(2, 'b', 1n), at(2, 'c', 1n), at(3, 'a', 1n)]);
    expect(builder.sealableRows()).toBe(4);
    expect(builder.dropFrom(DAY_MICROS + 2)).toBe(4);
    expect(builder.sealableRows()).toBe(0);
    append([at(2, 'b', 1n), at(4, 'c', 1n)]);
    expect(builder.sealableRows()).toBe(2);
  });

  it('never part equal timestamps', async () => {
    const { builder, append } = build(2);
    for (let i = 0; i < 30; i++) append([at(Math.floor(i / 5), 'abc'[i % 3]!, BigInt(i))]);
    const groups = await sealAll(builder);
    expect(
      groups.map(({ rows, minMicros, maxMicros }) => [rows, minMicros - DAY_MICROS, maxMicros - DAY_MICROS]),
    ).toEqual([0, 1, 2, 3, 4, 5].map((micros) => [5, micros, micros]));
  });
});

describe('gathering', () => {
  it('drops rows at or after an instant with their texts', async () => {
    const { builder, append } = build();
    append([at(1, 'a', '"one"'), at(2, 'a', '"two"'), at(3, 'a', '"three"'), at(3, 'b', 4n)]);
    expect(builder.lastTimestampMicros).toBe(DAY_MICROS + 3);
    expect(builder.dropFrom(DAY_MICROS + 2)).toBe(3);
    expect(builder.dropFrom(DAY_MICROS + 2)).toBe(0);
    expect([builder.rows, builder.lastTimestampMicros]).toEqual([1, DAY_MICROS + 1]);
    append([at(2, 'a', '"zwei"'), at(4, 'a', '"vier"')]);
    const rows = await reader.query(fileOf('measurements', await sealAll(builder)), READINGS_SQL);
    expect(rows.map((row) => row[5])).toEqual(['"one"', '"zwei"', '"vier"']);
  });

  it('refuses to drop sealed rows', async () => {
    const { builder, append } = build(1);
    append([at(1, 'a', 1n), at(2, 'a', 1n)]);
    await builder.seal(1);
    expect(() => builder.dropFrom(DAY_MICROS + 1)).toThrow(RangeError);
    expect(builder.dropFrom(DAY_MICROS + 2)).toBe(1);
    expect(builder.lastTimestampMicros).toBe(DAY_MICROS + 1);
  });

  it('refuses a timestamp that goes down and keeps none of its batch', () => {
    const { builder, append } = build();
    append([at(5, 'a', '"kept"')]);
    expect(() => append([at(5, 'a', '"x"'), at(6, 'a', '"y"'), at(4, 'a', 1n)])).toThrow(DataError);
    expect(() => append([at(4, 'a', 1n)])).toThrow(/00:00:00.000004Z after one of .*00:00:00.000005Z/);
    expect([builder.rows, builder.lastTimestampMicros]).toEqual([1, DAY_MICROS + 5]);
  });

  it('takes part of a batch and does not keep its arrays', async () => {
    const dictionary = createSeriesDictionary();
    const builder = createMeasurementRowGroups({ rowGroupRows: 10, dictionary, idOf: (id) => id, encoder });
    const batch = batchOf(
      [1, 2, 3, 4].map((i) => at(i, 'a', `"${i}"`)),
      dictionary,
    );
    builder.append(batch, 1, 3);
    batch.timestampMicros.fill(0);
    batch.words.fill(0);
    batch.jsonText.bytes.fill(0);
    const rows = await reader.query(fileOf('measurements', await sealAll(builder)), READINGS_SQL);
    expect(rows).toEqual([2, 3].map((i) => rowOf(at(i, 'a', `"${i}"`), 'a')));
  });

  it('goes on while a row group is being encoded', async () => {
    const { builder, append } = build(2);
    append([at(1, 'a', '"1"'), at(2, 'b', '"2"'), at(3, 'a', '"3"')]);
    const first = builder.seal(builder.sealableRows());
    expect(builder.rows).toBe(1);
    append([at(4, 'a', '"4"'), at(5, 'a', '"5"')]);
    const second = builder.seal(2);
    append([at(6, 'b', '"6"')]);
    const groups = [await first, await second, ...(await sealAll(builder))];
    const rows = await reader.query(fileOf('measurements', groups), READINGS_SQL);
    expect(rows.map((row) => row[5])).toEqual(['"1"', '"2"', '"3"', '"4"', '"5"', '"6"']);
  });

  it('refuses to seal more rows than there are, or none', async () => {
    const { builder, append } = build();
    append([at(1, 'a', 1n)]);
    for (const rows of [0, 2, 0.5]) await expect(builder.seal(rows)).rejects.toThrow(RangeError);
  });

  it('grows beyond the row count for a long run of equal timestamps', async () => {
    const { builder, append } = build(10);
    const run = Array.from({ length: 20_000 }, (_, i) => at(1, `s${i % 7}`, BigInt(i)));
    append(run);
    append([at(2, 's1', 1n)]);
    expect(builder.sealableRows()).toBe(20_000);
    const [group] = await sealAll(builder, false);
    const rows = await reader.query(fileOf('measurements', [group!]), READINGS_SQL);
    const sorted = [...run].sort((a, b) =>
      a.series < b.series ? -1 : a.series > b.series ? 1 : Number(a.value) - Number(b.value),
    );
    expect(rows).toEqual(sorted.map((reading) => rowOf(reading, `IMO1/${reading.series}`)));
  });
});

it('refuses rows of one instant without end, and keeps those before', () => {
  const dictionary = createSeriesDictionary(['s']);
  const builder = createMeasurementRowGroups({ rowGroupRows: 10, dictionary, idOf: (id) => id, encoder });
  const many = createColumnBatch(262_144);
  many.rows = 262_144;
  many.timestampMicros.fill(DAY_MICROS);
  for (let n = 0; n < 4; n++) builder.append(many, 0, many.rows);
  expect(() => builder.append(many, 0, 1)).toThrow(/more than 1048576 rows at 2026-01-05T00:00:00.000000Z/);
  expect(builder.rows).toBe(1_048_576);
  many.timestampMicros.fill(DAY_MICROS + 1);
  builder.append(many, 0, 1);
  expect(builder.sealableRows()).toBe(1_048_576);
});

describe('runs', () => {
  it('count each series and hour of the rows as encoded', async () => {
    const { builder, append } = build();
    append([
      at(0, 'b', 1n),
      at(5, 'a', 1n),
      at(MICROS_PER_HOUR - 1, 'b', 1n),
      at(MICROS_PER_HOUR, 'b', 1n),
      at(3 * MICROS_PER_HOUR, 'b', 1n),
      at(3 * MICROS_PER_HOUR, 'b', 1n),
    ]);
    const [group] = await sealAll(builder);
    const run = (timeSeriesId: string, count: number, first: number, last: number) => ({
      timeSeriesId,
      count,
      firstMicros: DAY_MICROS + first,
      lastMicros: DAY_MICROS + last,
    });
    expect(runsOf(group!)).toEqual([
      run('a', 1, 5, 5),
      run('b', 2, 0, MICROS_PER_HOUR - 1),
      run('b', 1, MICROS_PER_HOUR, MICROS_PER_HOUR),
      run('b', 2, 3 * MICROS_PER_HOUR, 3 * MICROS_PER_HOUR),
    ]);
  });
});
