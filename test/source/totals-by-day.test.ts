import { expect, test } from 'vitest';
import { MICROS_PER_DAY } from '../../src/core/model/index.ts';
import type { LookbackVessel } from '../../src/source/day-collector.ts';
import { groupVessels } from '../../src/source/totals-by-day.ts';

function vessel(name: string, series: readonly string[], days: number, expressions = 1): LookbackVessel {
  return {
    vessel: name,
    series: {
      idOf: new Map(series.map((id) => [id, id])),
      expressions: Array.from({ length: expressions }, (_, i) => `flat/${name}/${i}`),
    },
    range: { fromMicros: 0, toMicros: days * MICROS_PER_DAY },
  };
}

const ids = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const groups = (vessels: readonly LookbackVessel[]) =>
  groupVessels(vessels).map((group) => group.map(({ vessel }) => vessel));

test('vessels share a request as long as its answer stays bounded', () => {
  const fleet = ['a', 'b', 'c', 'd', 'e'].map((name) => vessel(name, ids(name, 500), 30));
  expect(groups(fleet)).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
});

test('the longest look-back of a group counts for all of it', () => {
  expect(groups([vessel('a', ids('a', 500), 60), vessel('b', ids('b', 500), 1)])).toEqual([['a'], ['b']]);
});

test('vessels that share a series are asked apart', () => {
  expect(groups([vessel('a', ['x', 'y'], 1), vessel('b', ['y', 'z'], 1)])).toEqual([['a'], ['b']]);
});

test('a request has a bounded number of expressions', () => {
  const fleet = ['a', 'b', 'c'].map((name) => vessel(name, ids(name, 5), 1, 90));
  expect(groups(fleet)).toEqual([['a', 'b'], ['c']]);
});

test('a vessel too large for one answer stands alone', () => {
  expect(groups([vessel('a', ids('a', 5_000), 365), vessel('b', ids('b', 1), 365)])).toEqual([['a'], ['b']]);
});
