import { expect, test } from 'vitest';
import { MICROS_PER_DAY } from '../../src/core/model/index.ts';
import { DayCollector, groupVessels, type LookbackVessel } from '../../src/source/totals-by-day.ts';

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

const DATES = ['1970-01-01', '1970-01-02', '1970-01-03'];
const range = { fromMicros: 0, toMicros: 3 * MICROS_PER_DAY };
const vesselOf = (vessel: string, ids: readonly string[]) => ({
  ...{ vessel, range },
  series: { idOf: new Map(ids.map((id) => [id, id])), expressions: [vessel] },
});

test('rows of any order and form come to the totals of each vessel-day', () => {
  const days = new DayCollector([vesselOf('A', ['z', 'b']), vesselOf('B', ['c', 'a', 'é"'])], range);
  const at = (day: number, micros: number) => day * MICROS_PER_DAY + micros;
  const counted = (id: string, code: number, day: number, count: number, first: number, last: number) =>
    days.add({
      ...{ id, code, count, timestampMicros: at(day, 0) },
      ...{ firstMicros: at(day, first), lastMicros: at(day, last) },
    });
  // Codes are of the answer's own order, with others between them.
  counted('c', 0, 1, 7, 5, 86_399_999_999);
  counted('nobody', 1, 1, 9, 1, 2);
  counted('z', 900, 0, 2, 0, 1);
  counted('c', 0, 0, 3, 4, 4);
  counted('b', 2, 0, 0, 1, 1);
  counted('b', 2, 3, 8, 1, 1);
  days.add({ id: 'é"', timestampMicros: at(1, 0), values: new Map([['count', '4']]) });
  days.add({ id: 'z', timestampMicros: at(2, 0), values: new Map([['count', 'null']]) });
  expect([...days.strangers]).toEqual(['nobody']);

  const all = ['A', 'B'].flatMap((vessel) => DATES.map((date) => days.of(vessel, date)!));
  expect(all.map((day) => Object.fromEntries(day))).toEqual([
    { z: { count: 2, firstMicros: 0, lastMicros: 1 } },
    {},
    {},
    { c: { count: 3, firstMicros: 4, lastMicros: 4 } },
    {
      c: { count: 7, firstMicros: 5, lastMicros: 86_399_999_999 },
      'é"': { count: 4, firstMicros: undefined, lastMicros: undefined },
    },
    {},
  ]);
  expect(days.of('C', DATES[0]!)).toBeUndefined();
  expect(days.of('A', '1970-01-04')).toBeUndefined();
});

test('a vessel-day of which something is told twice has no totals, and others have', () => {
  const days = new DayCollector([vesselOf('A', ['a', 'b']), vesselOf('B', ['c'])], range);
  const row = (id: string, code: number, day: number, count: number) => {
    const timestampMicros = day * MICROS_PER_DAY;
    const times = { firstMicros: timestampMicros, lastMicros: timestampMicros + 1 };
    days.add({ id, code, timestampMicros, count, ...times });
  };
  row('a', 0, 0, 3);
  row('b', 1, 0, 3);
  row('c', 2, 0, 3);
  row('b', 1, 1, 3);
  // As many as before: what was told first cannot be told from what is missing.
  row('b', 1, 0, 3);
  days.add({ id: 'a', timestampMicros: 2 * MICROS_PER_DAY, values: new Map([['count', '4']]) });
  days.add({ id: 'a', timestampMicros: 2 * MICROS_PER_DAY, values: new Map([['first_time', 'null']]) });
  days.add({ id: 'c', timestampMicros: 2 * MICROS_PER_DAY, values: new Map([['count', '0']]) });
  days.add({ id: 'c', timestampMicros: 2 * MICROS_PER_DAY, values: new Map([['count', '4']]) });
  const repeated = expect.objectContaining({ code: 'repeated-result' });
  expect(() => days.of('A', DATES[0]!)).toThrow(repeated);
  expect(() => days.of('A', DATES[0]!)).toThrow(/A: got '\w+' of series b twice .* 1970-01-01/);
  expect(() => days.of('B', DATES[2]!)).toThrow(repeated);
  expect(days.of('B', DATES[0]!)!.get('c')!.count).toBe(3);
  expect(days.of('A', DATES[1]!)!.get('b')!.count).toBe(3);
  expect(days.of('A', DATES[2]!)!.get('a')!.count).toBe(4);
});
