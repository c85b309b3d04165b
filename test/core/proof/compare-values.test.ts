import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SeriesRows } from '../../../src/core/model/index.ts';
import { compareValues, isWindowValue } from '../../../src/core/proof/compare-values.ts';

function rowsOf(more: Partial<SeriesRows>): SeriesRows {
  const none = { longs: 0, doubles: 0, jsons: 0, min: undefined, max: undefined, sum: 0, magnitude: 0 };
  return { ...none, first: [], last: [], ...more };
}

/** Of readings in the order of their time. */
function rowsOfAll(values: readonly number[] | readonly bigint[]): SeriesRows {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : 1));
  const longs = values.filter((value) => typeof value === 'bigint');
  const doubles = values.map(Number);
  return rowsOf({
    ...{ longs: longs.length, doubles: values.length - longs.length },
    ...{ min: sorted[0], max: sorted.at(-1), first: [values[0]!], last: [values.at(-1)!] },
    sum: longs.length > 0 ? longs.reduce((total, value) => total + value, 0n) : sumOf(doubles),
    magnitude: sumOf(doubles.map(Math.abs)),
  });
}
const sumOf = (all: readonly number[]) => all.reduce((total, value) => total + value, 0);

const DOUBLES = { ...rowsOfAll([2, 0.25, -1.5]), last: [0.25, -1.5] };
const LONGS = { ...rowsOfAll([1n, 9_007_199_254_740_993n]), magnitude: 9_007_199_254_740_994 };

/** Aggregations that differ. */
function differing(rows: SeriesRows, answered: Record<string, string>): string[] {
  return compareValues(rows, new Map(Object.entries(answered))).differences.map(
    ({ aggregation }) => aggregation,
  );
}

test('equal values are equal however the service spells them', () => {
  const spelled = { first_val: '2', last_val: '-15e-1', min: '-1.50', max: '2.0', sum: '0.75' };
  expect(compareValues(DOUBLES, new Map(Object.entries(spelled)))).toEqual({ differences: [], missing: [] });
});

test('each value that differs is named with both sides', () => {
  const answered = { first_val: '2.5', last_val: '0.26', min: '-1.4', max: '3', sum: '0.76' };
  expect(compareValues(DOUBLES, new Map(Object.entries(answered))).differences).toEqual([
    { aggregation: 'first_val', lake: '2', source: '2.5' },
    { aggregation: 'last_val', lake: '0.25 or -1.5', source: '0.26' },
    { aggregation: 'min', lake: '-1.5', source: '-1.4' },
    { aggregation: 'max', lake: '2', source: '3' },
    { aggregation: 'sum', lake: '0.75', source: '0.76' },
  ]);
});

test('values that the service does not give are named as missing', () => {
  const { differences, missing } = compareValues(DOUBLES, new Map([['min', 'null']]));
  expect({ differences, missing }).toEqual({
    differences: [],
    missing: ['first_val', 'last_val', 'min', 'max', 'sum'],
  });
});

test('a NaN among the values, which is the greatest to one engine and no number to another, differs from none', () => {
  const rows = rowsOf({
    ...{ doubles: 3, min: -1.5, max: Number.NaN, sum: Number.NaN, magnitude: Number.NaN },
    ...{ first: [-1.5], last: [2] },
  });
  const answered = { first_val: '-1.5', last_val: '2.0', min: '-1.5', max: '2.0', sum: '0.5' };
  expect(compareValues(rows, new Map(Object.entries(answered)))).toEqual({ differences: [], missing: [] });
  expect(differing(rows, { ...answered, min: '-1.0', last_val: '3' })).toEqual(['last_val', 'min']);
  const only = rowsOf({ doubles: 1, min: Number.NaN, max: Number.NaN, magnitude: Number.NaN });
  expect(differing(only, { min: '1', max: '1', sum: '1' })).toEqual([]);
});

test('integers beyond 2^53 are compared as doubles where the statistics may be doubles, exactly where they cannot', () => {
  const exact = {
    first_val: '1',
    last_val: '9007199254740993',
    min: '1',
    max: '9007199254740993',
    sum: '9007199254740994',
  };
  expect(differing(LONGS, exact)).toEqual([]);
  // No double is one of these.
  expect(differing(LONGS, { ...exact, max: '9007199254740991', sum: '9007199254740995' })).toEqual([
    'max',
    'sum',
  ]);
  // However a service that computes in doubles spells them.
  for (const max of ['9007199254740992', '9007199254740992.0', '9.007199254740992e15'])
    expect(differing(LONGS, { ...exact, max, last_val: max, sum: '9007199254740992' })).toEqual([]);
  expect(differing(LONGS, { ...exact, max: '9007199254740996' })).toEqual(['max']);
  const most = rowsOf({ longs: 1, min: 2n ** 63n - 1n, max: 2n ** 63n - 1n, first: [2n ** 63n - 1n] });
  for (const text of ['9223372036854775807', '9223372036854775808', '9223372036854776000'])
    expect(differing(most, { min: text, max: text, first_val: text })).toEqual([]);
  for (const text of ['9223372036854775806', '9223372036854774784', '9223372036854775000'])
    expect(differing(most, { min: text, max: text, first_val: text })).toEqual(['first_val', 'min', 'max']);
});

test('a sum of longs is exact as long as doubles add them exactly', () => {
  const small = rowsOf({ longs: 3, sum: 4n, magnitude: 2 ** 53 });
  expect(differing(small, { sum: '4' })).toEqual([]);
  expect(differing(small, { sum: '5' })).toEqual(['sum']);
  const large = rowsOf({ longs: 3, sum: 4n, magnitude: 2 ** 60 });
  expect(differing(large, { sum: '0' })).toEqual([]);
  expect(differing(large, { sum: String(2 ** 40) })).toEqual(['sum']);
});

test('whatever a service that computes in doubles says of longs, it differs from none of them', () => {
  const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const spell = fc.constantFrom<(value: number) => string>(
    String,
    (value) => BigInt(value).toString(),
    (value) => value.toExponential(),
  );
  fc.assert(
    fc.property(fc.array(long, { minLength: 1, maxLength: 50 }), spell, (values, spelled) => {
      const doubles = values.map(Number);
      const answered = {
        ...{ first_val: spelled(doubles[0]!), last_val: spelled(doubles.at(-1)!) },
        ...{ min: spelled(Math.min(...doubles)), max: spelled(Math.max(...doubles)) },
        sum: spelled(sumOf(doubles)),
      };
      expect(differing(rowsOfAll(values), answered)).toEqual([]);
    }),
  );
});

test('sums of doubles may differ by the order of adding, measured by what was added', () => {
  const cancelling = { ...rowsOfAll([1e15, -1e15, 1e15, -1e15]), sum: 0.125 };
  const rest = { first_val: '1e15', last_val: '-1e15', min: '-1e15', max: '1e15' };
  expect(differing(cancelling, { ...rest, sum: '0.0' })).toEqual([]);
  expect(differing(cancelling, { ...rest, sum: '5e6' })).toEqual(['sum']);
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 300 }),
      (values) => {
        const sorted = values.toSorted((a, b) => a - b);
        const answered = {
          ...{ first_val: `${values[0]}`, last_val: `${values.at(-1)}` },
          ...{ min: `${sorted[0]}`, max: `${sorted.at(-1)}`, sum: `${sumOf(sorted)}` },
        };
        expect(differing(rowsOfAll(values), answered)).toEqual([]);
      },
    ),
  );
});

test('a series with JSON has first and last values only', () => {
  const json = rowsOf({
    ...{ jsons: 2, longs: 1, min: 3n, max: 3n },
    ...{ first: [{ json: '{"a": 1}' }], last: [{ json: 'null' }] },
  });
  const same = new Map(Object.entries({ first_val: '{"a":1}', last_val: 'null' }));
  expect(compareValues(json, same)).toEqual({ differences: [], missing: [] });
  expect(differing(json, { first_val: '{"a":2}', last_val: '"null"' })).toEqual(['first_val', 'last_val']);
});

const isSameJson = (text: string, cell: string) => isWindowValue('first_val', cell, text, undefined);

test('a number beyond the longs, which the lake has as JSON, is compared as a double where it may be one', () => {
  const huge = rowsOf({ jsons: 1, first: [{ json: '18446744073709551615' }] });
  for (const first_val of ['18446744073709551615', '1.8446744073709552e19', '18446744073709551616'])
    expect(differing(huge, { first_val })).toEqual([]);
  for (const first_val of ['18446744073709551614', '1.8446744073709549e19', '"18446744073709551615"'])
    expect(differing(huge, { first_val })).toEqual(['first_val']);
  const endless = rowsOf({ jsons: 1, first: [{ json: '1e400' }] });
  expect(differing(endless, { first_val: '1e401' })).toEqual(['first_val']);
});

test('JSON is the same whatever its white space and order, numbers to the last digit', () => {
  expect(isSameJson('{"b":[1,2.50],"a":"x"}', ' {"a": "x", "b": [1, 2.5]}')).toBe(true);
  expect(isSameJson('[1,2]', '[2,1]')).toBe(false);
  expect(isSameJson('9223372036854775808', '9223372036854775809')).toBe(false);
  expect(isSameJson('{"a":9007199254740993}', '{"a": 9007199254740992}')).toBe(false);
  expect(isSameJson('1e400', '1e401')).toBe(false);
  expect(isSameJson('{', '{ ')).toBe(false);
});

test('a text that is no number is none', () => {
  for (const text of ['"5"', 'null', '', 'NaN'])
    expect(isWindowValue('max', 5n, text, undefined)).toBe(false);
});

test('windows: counts and extremes exactly, sums of any kind to 1e-9', () => {
  const WINDOWS: readonly [...Parameters<typeof isWindowValue>, isSame: boolean][] = [
    ['count', 12n, '12', undefined, true],
    ['count', 12n, '13', undefined, false],
    ['max', 1.5, '1.5000000001', undefined, false],
    ['mean', 1.5, '1.5000000001', undefined, true],
    ['mean', 1.5, '1.50001', undefined, false],
    ['mean', null, undefined, undefined, true],
    ['mean', null, '1.5', undefined, false],
    ['mean', 1.5, undefined, undefined, false],
    ['last_time', 1_000_000n, '"1970-01-01T00:00:01Z"', 1_000_000, true],
    ['first_val', '{"a":1}', '{"a": 1}', undefined, true],
  ];
  for (const [aggregation, cell, text, atMicros, isSame] of WINDOWS)
    expect(isWindowValue(aggregation, cell, text, atMicros), `${aggregation} ${text}`).toBe(isSame);
});
