import { describe, expect, it } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import type { Aggregation, StatisticsRow } from '../../../src/core/model/index.ts';
import { AGGREGATIONS, MICROS_PER_HOUR } from '../../../src/core/model/index.ts';
import { createStatisticsRowGroups } from '../../../src/parquet/write/index.ts';
import { parseCount, parseDouble, parseInstant } from '../../../src/parquet/write/statistics-row-groups.ts';
import { DAY_MICROS, fileOf, runsOf, sealAll } from './lake-file.ts';
import { encoderHere, readerHere } from './readers.ts';

const reader = await readerHere();
const encoder = encoderHere(1);

const rowAt = (micros: number, id: string, values: Record<string, string>): StatisticsRow => ({
  timestampMicros: DAY_MICROS + micros,
  id,
  values: new Map(Object.entries(values)),
});

function build(aggregations: readonly Aggregation[], rowGroupRows = 1000) {
  const idOf = (id: string) => (id === 'nameless' ? null : `IMO1/${id}`);
  return createStatisticsRowGroups({ rowGroupRows, aggregations, idOf, encoder });
}

const inFileOrder = 'from read_parquet(FILE, file_row_number = true) order by file_row_number';

describe('statistics', () => {
  it('has one column for each aggregation in the order asked, of its type', async () => {
    const builder = build(['last_val', ...AGGREGATIONS.filter((name) => name !== 'last_val')]);
    builder.append([rowAt(0, 'a', { count: '1' })], 0, 1);
    const file = fileOf('statistics', await sealAll(builder));
    const columns = await reader.query(file, 'select column_name, column_type from (describe from FILE)');
    const double = (name: string) => [name, 'DOUBLE'];
    expect(columns).toEqual([
      ['timestamp', 'TIMESTAMP WITH TIME ZONE'],
      ['time_series_id', 'VARCHAR'],
      ['id', 'VARCHAR'],
      ...[double('last_val'), ['last_val_json', 'VARCHAR'], double('avg')],
      ['count', 'BIGINT'],
      ...[double('delta'), ['first_time', 'TIMESTAMP WITH TIME ZONE']],
      ...[double('first_val'), ['first_val_json', 'VARCHAR']],
      ...['integral', 'kurtosis'].map(double),
      ['last_time', 'TIMESTAMP WITH TIME ZONE'],
      ...['max', 'mean', 'min', 'skewness', 'stddev', 'sum', 'var'].map(double),
    ]);
  });

  it('keeps values exactly and leaves absent and null ones out', async () => {
    const builder = build(['count', 'mean', 'first_val', 'last_time']);
    const rows = [
      rowAt(0, 'number', {
        count: '9007199254740993',
        mean: '0.30000000000000004',
        first_val: '-0.0',
        last_time: '"2026-01-05T00:59:59.999999Z"',
      }),
      rowAt(0, 'json', {
        count: '2',
        mean: 'null',
        first_val: '{"a": "\\u00e9"}',
        last_time: '"2026-01-05T01:30:00+01:00"',
      }),
      rowAt(0, 'nameless', { count: '12.0', first_val: '"text"' }),
      rowAt(0, 'false', { count: '1', first_val: 'false' }),
    ];
    builder.append(rows, 0, rows.length);
    const file = fileOf('statistics', await sealAll(builder));
    const found = await reader.query(
      file,
      `select time_series_id, id, count, mean, first_val, first_val_json, epoch_us(last_time) ${inFileOrder}`,
    );
    expect(found).toEqual([
      ['false', 'IMO1/false', 1n, null, null, 'false', null],
      ['json', 'IMO1/json', 2n, null, null, '{"a": "\\u00e9"}', BigInt(DAY_MICROS + MICROS_PER_HOUR / 2)],
      ['nameless', null, 12n, null, null, '"text"', null],
      [
        'number',
        'IMO1/number',
        9007199254740993n,
        0.1 + 0.2,
        -0,
        null,
        BigInt(DAY_MICROS + MICROS_PER_HOUR - 1),
      ],
    ]);
  });

  it('counts readings by series and hour from the column count', async () => {
    const builder = build(['count']);
    const minutes = (n: number) => n * 60_000_000;
    const rows = [
      rowAt(minutes(0), 'b', { count: '10' }),
      rowAt(minutes(0), 'a', { count: '1' }),
      rowAt(minutes(50), 'b', { count: '5' }),
      rowAt(minutes(60), 'b', { count: '7' }),
    ];
    builder.append(rows, 0, rows.length);
    const [group] = await sealAll(builder);
    const run = (timeSeriesId: string, count: number, first: number, last: number) => ({
      timeSeriesId,
      count,
      firstMicros: DAY_MICROS + minutes(first),
      lastMicros: DAY_MICROS + minutes(last),
    });
    expect(runsOf(group!)).toEqual([run('a', 1, 0, 0), run('b', 15, 0, 50), run('b', 7, 60, 60)]);
  });

  it('gives the same bytes in any order of arrival within a window, across row groups', async () => {
    const rows = Array.from({ length: 60 }, (_, i) =>
      rowAt(Math.floor(i / 6), `s${i % 3}`, {
        count: String(i % 4),
        max: String(i / 7),
        last_val: i % 2 === 0 ? `"${i}"` : String(i),
      }),
    );
    const aggregations: Aggregation[] = ['max', 'last_val', 'count'];
    const files: Buffer[] = [];
    for (const arriving of [
      rows,
      [...rows].reverse().sort((a, b) => a.timestampMicros - b.timestampMicros),
    ]) {
      const builder = build(aggregations, 10);
      const groups = [];
      for (let from = 0; from < arriving.length; from += 7) {
        builder.append(arriving, from, Math.min(from + 7, arriving.length));
        groups.push(...(await sealAll(builder, false)));
      }
      groups.push(...(await sealAll(builder)));
      expect(groups.map((group) => group.rows)).toEqual([12, 12, 12, 12, 12]);
      files.push(fileOf('statistics', groups));
    }
    expect(files[0]!.equals(files[1]!)).toBe(true);
    const counted = await reader.query(
      files[0]!,
      'select count(*), sum(count)::bigint, count(last_val), count(last_val_json) from FILE',
    );
    expect(counted).toEqual([[60n, 90n, 30n, 30n]]);
  });

  it('drops rows at or after an instant', async () => {
    const builder = build(['count', 'last_val']);
    const rows = [1, 2, 3].map((i) => rowAt(i, 'a', { count: String(i), last_val: `"${i}"` }));
    builder.append(rows, 0, 3);
    expect(builder.dropFrom(DAY_MICROS + 2)).toBe(2);
    builder.append([rowAt(9, 'a', { count: '9', last_val: '"nine"' })], 0, 1);
    const file = fileOf('statistics', await sealAll(builder));
    expect(await reader.query(file, `select count, last_val_json ${inFileOrder}`)).toEqual([
      [1n, '"1"'],
      [9n, '"nine"'],
    ]);
  });

  it.each([
    ['count', '1.5'],
    ['count', '-1'],
    ['count', '9223372036854775808'],
    ['mean', '1e400'],
    ['mean', '"NaN"'],
    ['first_time', '"yesterday"'],
    ['first_time', '"2026-01-05T00:00:00.0000001Z"'],
    ['last_val', '-1e999'],
  ] as const)('refuses %s %s and keeps none of its batch', (aggregation, lexeme) => {
    const builder = build(['count', 'mean', 'first_time', 'last_val']);
    const bad = rowAt(1, 'a', { count: '1', [aggregation]: lexeme });
    const append = () => builder.append([rowAt(0, 'a', { count: '1' }), bad], 0, 2);
    expect(append).toThrow(DataError);
    expect(append).toThrow(`'${aggregation}' ${lexeme}`);
    expect(builder.rows).toBe(0);
  });

  it('demands the aggregation that proves the rows', () => {
    expect(() => build(['mean'])).toThrow(/expected 'count'/);
  });
});

describe('lexemes', () => {
  it('are read as numbers only where they are JSON numbers', () => {
    expect(['1', '-0.5', '1e3', '1E-2'].map(parseDouble)).toEqual([1, -0.5, 1000, 0.01]);
    expect(['', '01', '.5', '1.', '0x10', 'Infinity', ' 1'].map(parseDouble)).toEqual(
      Array(7).fill(undefined),
    );
  });

  it('are read as counts where they are whole', () => {
    expect(['0', '9223372036854775807', '7.000'].map(parseCount)).toEqual([0n, 2n ** 63n - 1n, 7n]);
    expect(['', '1e3', '7.1'].map(parseCount)).toEqual(Array(3).fill(undefined));
  });

  it('are read as instants to the microsecond', () => {
    const day = '"2026-01-05T00:00:00';
    const instants = [`${day}Z"`, `${day}.5Z"`, `${day}.000001Z"`, `${day}.123456000Z"`, `${day}.1+00:00"`];
    expect(instants.map(parseInstant)).toEqual(
      [0, 500_000, 1, 123_456, 100_000].map((micros) => DAY_MICROS + micros),
    );
    expect([`"2026-01-05T01:00:00+0100"`, `"2026-01-05T00:00Z"`].map(parseInstant)).toEqual([
      DAY_MICROS,
      DAY_MICROS,
    ]);
    const none = ['2026-01-05', '2026-13-05T00:00:00Z', '2026-02-31T00:00:00Z', '2026-01-05T24:00:00Z'];
    for (const text of [...none, '2300-01-05T00:00:00Z', '2026-01-05T00:00:00'])
      expect([text, parseInstant(`"${text}"`)]).toEqual([text, undefined]);
    expect(['2026', '2026-01-05T00:00:00Z'].map(parseInstant)).toEqual([undefined, undefined]);
  });
});
