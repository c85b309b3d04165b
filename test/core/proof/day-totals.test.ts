import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DayCounts } from '../../../src/core/model/index.ts';
import type { DayTotals, SeriesTotal } from '../../../src/core/proof/day-totals.ts';
import {
  describeChanges,
  findChanges,
  seriesTotals,
  totalsDigest,
  totalsOf,
} from '../../../src/core/proof/day-totals.ts';

const total = (count: number, firstMicros?: number, lastMicros?: number): SeriesTotal => ({
  count,
  firstMicros,
  lastMicros,
});
const totals = (entries: Record<string, SeriesTotal>): DayTotals => new Map(Object.entries(entries));
const kinds = (...args: Parameters<typeof findChanges>) =>
  findChanges(...args).map(({ timeSeriesId, kind, published, now }) => [timeSeriesId, kind, published, now]);

test('hours add up to the day, in counts at hand and in their detail', () => {
  const counts = new DayCounts(1_000_000);
  counts.addHour('a', 3, 5, 1_000_100, 1_000_200);
  counts.addHour('a', 1, 2, 1_000_030, 1_000_040);
  counts.addHour('b', 23, 1, 1_000_000, 1_000_000);
  expect([...totalsOf(counts)]).toEqual([
    ['a', total(7, 30, 200)],
    ['b', total(1, 0, 0)],
  ]);
  expect(seriesTotals({ ...counts.toJson(), none: [[0, 0, 0, 0]] })).toEqual(totalsOf(counts));
});

test('what changed, by series', () => {
  const then = totals({ a: total(5, 1, 9), b: total(5, 1, 9), c: total(5, 1, 9), d: total(5, 1, 9) });
  const now = totals({ a: total(6, 1, 9), c: total(4, 1, 9), d: total(5, 1, 8), e: total(1, 2, 2) });
  expect(kinds({ ours: then, source: then }, now, 'exact')).toEqual([
    ['a', 'added', 5, 6],
    ['b', 'vanished', 5, 0],
    ['c', 'removed', 5, 4],
    ['d', 'shifted', 5, 5],
    ['e', 'appeared', 0, 1],
  ]);
});

test('times that are not known, or are our own, are not compared', () => {
  const then = totals({ a: total(5, 1, 9) });
  expect(kinds({ ours: then, source: then }, totals({ a: total(5) }), 'exact')).toEqual([]);
  expect(kinds({ ours: then, source: undefined }, totals({ a: total(5, 2, 8) }), 'exact')).toEqual([]);
});

test('at-least: between what was counted and what we have nothing changed', () => {
  const published = { ours: totals({ a: total(10) }), source: totals({ a: total(8) }) };
  const kindAt = (count: number) => kinds(published, totals({ a: total(count) }), 'at-least')[0]?.[1];
  expect([7, 8, 9, 10, 11].map(kindAt)).toEqual(['removed', undefined, undefined, undefined, 'added']);
});

const anyTotals = fc
  .dictionary(fc.string({ maxLength: 3 }), fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(3), fc.nat(3)), {
    maxKeys: 5,
  })
  .map((found) =>
    totals(Object.fromEntries(Object.entries(found).map(([id, args]) => [id, total(...args)]))),
  );

test('equal digests mean equal totals, and no changes', () => {
  fc.assert(
    fc.property(anyTotals, anyTotals, (a, b) => {
      const none = findChanges({ ours: a, source: a }, b, 'exact').length === 0;
      expect(totalsDigest(a) === totalsDigest(b)).toBe(none);
      expect(totalsDigest(new Map([...a].reverse()))).toBe(totalsDigest(a));
    }),
  );
});

test('changes in words', () => {
  const then = totals({ a: total(5), b: total(5) });
  const words = (now: DayTotals) =>
    describeChanges(findChanges({ ours: then, source: then }, now, 'exact'), (id) => `tag ${id}`);
  expect(words(totals({ a: total(8), b: total(4) }))).toBe(
    '3 readings added to 1 series, 1 removed from 1 series (tag a: 5 published, 8 now; tag b: 5 published, 4 now)',
  );
  expect(words(totals({ a: total(6), b: total(4) }))).toMatch(/^1 readings moved between series/);
});

test('a digest is of lines that anybody can write', () => {
  const numbers = [fc.nat(), fc.maxSafeNat(), fc.integer(), fc.double({ noNaN: true })];
  const number = fc.option(fc.oneof(...numbers), { nil: undefined });
  const count = fc.oneof(fc.integer({ min: 1 }), fc.constant(1e30));
  const total = fc.record({ count, firstMicros: number, lastMicros: number });
  const id = fc.oneof(fc.uuid(), fc.string({ unit: 'binary' }), fc.constantFrom('é"\\', '\ud800'));
  fc.assert(
    fc.property(fc.dictionary(id, total), (all) => {
      const totals = new Map(Object.entries(all));
      let lines = '';
      for (const [id, { count, firstMicros, lastMicros }] of [...totals].sort(([a], [b]) => (a < b ? -1 : 1)))
        lines += `${JSON.stringify(id)} ${count} ${firstMicros ?? '-'} ${lastMicros ?? '-'}\n`;
      expect(totalsDigest(totals)).toBe(hash('sha256', lines));
    }),
  );
});
