import { expect, test } from 'vitest';
import { DayCounts, dayRange, MICROS_PER_HOUR } from '../../src/model/index.ts';
import {
  compareCounts,
  describeDisagreements,
  describeShrinkage,
  findShrinkage,
  hourTotals,
  sameTotals,
} from '../../src/verify/compare.ts';

const { fromMicros } = dayRange('2026-01-05');

/** Counts from `[series, hour, count]`. */
function counts(...entries: [string, number, number][]): DayCounts {
  const made = new DayCounts(fromMicros);
  for (const [id, hour, count] of entries) {
    made.add(id, count, fromMicros + hour * MICROS_PER_HOUR, fromMicros + hour * MICROS_PER_HOUR + 5);
  }
  return made;
}

test('equal counts agree', () => {
  const ours = counts(['a', 0, 5], ['b', 23, 1]);
  expect(compareCounts(ours, counts(['b', 23, 1], ['a', 0, 5]), { policy: 'exact', grain: 'hour' })).toEqual(
    [],
  );
});

test('missing, additional and moved readings are named by series and hour', () => {
  const found = compareCounts(counts(['a', 0, 5], ['b', 3, 2]), counts(['a', 0, 6], ['b', 4, 2]), {
    policy: 'exact',
    grain: 'hour',
  });
  expect(found).toEqual([
    { timeSeriesId: 'a', hour: 0, ours: 5, source: 6 },
    { timeSeriesId: 'b', hour: 3, ours: 2, source: 0 },
    { timeSeriesId: 'b', hour: 4, ours: 0, source: 2 },
  ]);
  expect(describeDisagreements(found.slice(0, 1), () => 'Speed')).toBe(
    'series Speed in hour 00: 5 fetched, 6 counted by the source',
  );
});

test('by the day, readings may lie in another hour', () => {
  const options = { policy: 'exact', grain: 'day' } as const;
  expect(compareCounts(counts(['b', 3, 2]), counts(['b', 4, 2]), options)).toEqual([]);
  expect(compareCounts(counts(['b', 3, 2]), counts(['b', 4, 3]), options)).toHaveLength(1);
});

test('at-least accepts more than the source counts, never less', () => {
  const options = { policy: 'at-least', grain: 'hour' } as const;
  expect(compareCounts(counts(['a', 0, 6]), counts(['a', 0, 5]), options)).toEqual([]);
  expect(compareCounts(counts(['a', 0, 4]), counts(['a', 0, 5]), options)).toHaveLength(1);
});

test('a series that would lose readings is found although the total grows', () => {
  const published = counts(['a', 0, 5], ['b', 1, 5]).toJson();
  const found = findShrinkage(published, counts(['a', 0, 100], ['b', 1, 4]), new Set(['a', 'b']));
  expect(found).toEqual([{ timeSeriesId: 'b', published: 5, now: 4 }]);
  expect(describeShrinkage(found, () => 'Draft')).toBe('series Draft: 5 published, 4 now');
});

test('series that are no longer selected do not count as lost', () => {
  expect(findShrinkage(counts(['a', 0, 5]).toJson(), counts(), new Set(['b']))).toEqual([]);
});

test('totals before a cursor are compared per series', () => {
  expect(sameTotals(counts(['a', 0, 5], ['a', 2, 1]), new Map([['a', 6]]))).toBe(true);
  expect(
    sameTotals(
      counts(['a', 0, 5]),
      new Map([
        ['a', 5],
        ['b', 1],
      ]),
    ),
  ).toBe(false);
  expect(sameTotals(counts(['a', 0, 5]), new Map())).toBe(false);
});

test('hour totals add up over the series', () => {
  expect(hourTotals(counts(['a', 0, 5], ['b', 0, 2], ['b', 23, 1]))).toEqual([
    7,
    ...new Array(22).fill(0),
    1,
  ]);
});

test('counts survive JSON', () => {
  const made = counts(['b', 3, 2], ['a', 0, 5], ['a', 3, 9]);
  const again = DayCounts.fromJson(fromMicros, JSON.parse(JSON.stringify(made.toJson())));
  expect(again).toEqual(made);
  expect(Object.keys(made.toJson())).toEqual(['a', 'b']);
  expect(made.span()).toEqual({ firstMicros: fromMicros, lastMicros: fromMicros + 3 * MICROS_PER_HOUR + 5 });
});
