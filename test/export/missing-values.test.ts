import { expect, test } from 'vitest';
import { AGGREGATIONS, type Aggregation, type StatisticsRow } from '../../src/core/model/index.ts';
import { findMissingValues } from '../../src/export/windows.ts';

function window(id: string, values: Partial<Record<Aggregation, string>>, hour = 0): StatisticsRow {
  return { id, timestampMicros: hour * 3_600_000_000, values: new Map(Object.entries(values)) };
}

/** What is missing of the last of these windows. */
function missing(rows: readonly StatisticsRow[], asked: readonly Aggregation[] = AGGREGATIONS): string[] {
  const last = rows.at(-1)!;
  return findMissingValues(rows, asked)
    .filter(({ id, timestampMicros }) => id === last.id && timestampMicros === last.timestampMicros)
    .map(({ aggregation }) => aggregation);
}

const NUMBERS = { min: '1', max: '1', mean: '1', sum: '1', delta: '0' };
const OF_ANY = { first_time: '"t"', last_time: '"t"', first_val: '1', last_val: '1' };

test.for<[string, StatisticsRow, string[]]>([
  ['one reading has no average and no spread', window('a', { count: '1', ...NUMBERS, ...OF_ANY }), []],
  [
    'two readings have',
    window('a', { count: '2', ...NUMBERS, ...OF_ANY }),
    ['avg', 'integral', 'stddev', 'var'],
  ],
  [
    'equal readings have no skewness',
    window('a', { count: '9', ...NUMBERS, ...OF_ANY, avg: '1', integral: '3', stddev: '0', var: '0' }),
    [],
  ],
  [
    'readings that differ have',
    window('a', { count: '3', ...NUMBERS, ...OF_ANY, avg: '1', integral: '3', stddev: '2', var: '4' }),
    ['skewness'],
  ],
  [
    'JSON has first and last',
    window('j', { count: '9', first_val: '{}', last_val: '[1]' }),
    ['first_time', 'last_time'],
  ],
  ['nothing is missing where nothing was read', window('a', { count: '0' }), []],
  ['a window without an answer is none', window('a', {}), []],
  ['null is an answer', window('a', { count: '1', ...NUMBERS, ...OF_ANY, max: 'null' }), []],
  ['values without a count', window('a', { ...NUMBERS, ...OF_ANY }), ['count']],
])('%s', ([, row, expected]) => {
  expect(missing([row])).toEqual(expected);
});

test('a series of numbers is one in all its windows', () => {
  const asked: Aggregation[] = ['count', 'mean'];
  const numbers = window('a', { count: '1', mean: '1' });
  expect(missing([numbers, window('a', { count: '1' }, 1)], asked)).toEqual(['mean']);
  expect(missing([numbers, window('b', { count: '1' }, 1)], asked)).toEqual([]);
});
