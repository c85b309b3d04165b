/** Counts of a day in one array, against the same in the plainest maps. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DayCounts, type HourCount } from '../../../src/core/model/index.ts';
import { countsDigest, totalsDigest, totalsOf } from '../../../src/core/proof/day-totals.ts';

const DAY_MICROS = Date.parse('2026-01-05T00:00:00Z') * 1_000;

interface Added extends HourCount {
  readonly id: string;
  readonly hour: number;
}

const id = fc.constantFrom('a', 'b', 'c', '', '__proto__', '10');
const micros = fc.nat(86_400_000_000).map((ofDay) => DAY_MICROS + ofDay);
const usual: fc.Arbitrary<Added> = fc.record({
  ...{
    id,
    hour: fc.nat(23),
    count: fc.integer({ min: 1, max: 1e12 }),
    firstMicros: micros,
    lastMicros: micros,
  },
});
const many = fc.array(usual, { maxLength: 60 });

function countsOf(all: readonly Added[]): DayCounts {
  const counts = new DayCounts(DAY_MICROS, 1);
  for (const { id, hour, count, firstMicros, lastMicros } of all)
    counts.addHour(id, hour, count, firstMicros, lastMicros);
  return counts;
}

/** The same as objects, by series and hour. */
function plainCounts(all: readonly Added[]): Map<string, Map<number, HourCount>> {
  const plain = new Map<string, Map<number, HourCount>>();
  for (const { id, hour, count, firstMicros, lastMicros } of all) {
    const hours = plain.get(id) ?? new Map<number, HourCount>();
    plain.set(id, hours);
    const known = hours.get(hour) ?? { count: 0, firstMicros, lastMicros };
    hours.set(hour, {
      count: known.count + count,
      firstMicros: Math.min(known.firstMicros, firstMicros),
      lastMicros: Math.max(known.lastMicros, lastMicros),
    });
  }
  return plain;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
const spanOf = (hours: readonly HourCount[]) => ({
  firstMicros: Math.min(...hours.map(({ firstMicros }) => firstMicros)),
  lastMicros: Math.max(...hours.map(({ lastMicros }) => lastMicros)),
});

test('what was added is there, whatever it was', () => {
  fc.assert(
    fc.property(many, (all) => {
      const counts = countsOf(all);
      const plain = plainCounts(all);
      expect([...counts.ids()]).toEqual([...plain.keys()]);
      expect(counts.sortedIds()).toEqual([...plain.keys()].sort());
      expect(counts.seriesCount()).toBe(plain.size);
      for (const [id, hours] of plain) {
        expect(counts.hours(id)).toEqual([...hours.keys()].sort((a, b) => a - b));
        for (const [hour, known] of hours) {
          expect(counts.hour(id, hour)).toEqual(known);
          expect(counts.hasHour(id, hour)).toBe(true);
        }
        expect(counts.hasHour(id, 31)).toBe(false);
        expect(counts.hour(id, 31)).toBeUndefined();
        expect(counts.seriesTotal(id)).toBe(sum([...hours.values()].map(({ count }) => count)));
        expect(counts.seriesSpan(id)).toEqual(spanOf([...hours.values()]));
      }
      const cells = [...plain.values()].flatMap((hours) => [...hours]);
      expect(counts.total()).toBe(sum(cells.map(([, { count }]) => count)));
      for (const hour of [-1, 0, 5, 23, 24, 30])
        expect(counts.hourTotal(hour)).toBe(
          sum(cells.filter(([of]) => of === hour).map(([, { count }]) => count)),
        );
      expect(counts.span()).toEqual(cells.length === 0 ? undefined : spanOf(cells.map(([, hour]) => hour)));
      expect(counts.hour('none', 0)).toBeUndefined();
      expect(counts.seriesTotal('none')).toBe(0);
      expect(counts.seriesSpan('none')).toBeUndefined();
    }),
  );
});

test('counts are equal in any order of adding, and differ by one of anything', () => {
  const shuffled = many.chain((all) =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
  );
  fc.assert(
    fc.property(shuffled, ([all, others]) => {
      expect(countsOf(all).equals(countsOf(others))).toBe(true);
    }),
  );
  fc.assert(
    fc.property(many, usual, fc.constantFrom('count', 'firstMicros', 'lastMicros'), (all, one, changed) => {
      const elsewhere = all.filter(({ id, hour }) => id !== one.id || hour !== one.hour);
      const then = countsOf([...elsewhere, one]);
      const now = countsOf([...elsewhere, { ...one, [changed]: one[changed] + 1 }]);
      expect(then.equals(now)).toBe(false);
      expect(then.equals(countsOf(elsewhere))).toBe(false);
      expect(countsOf(elsewhere).equals(then)).toBe(false);
    }),
  );
});

test('the digest is that of the totals, and JSON is read as it was written', () => {
  fc.assert(
    fc.property(many, (all) => {
      const counts = countsOf(all);
      expect(countsDigest(counts)).toBe(totalsDigest(totalsOf(counts)));
      const json = JSON.parse(JSON.stringify(counts.toJson()));
      expect(DayCounts.fromJson(DAY_MICROS, json).toJson()).toEqual(counts.toJson());
    }),
  );
});

test('an hour that no day has is refused', () => {
  for (const hour of [-1, 24, 0.5, Number.NaN])
    expect(() => new DayCounts(DAY_MICROS).addHour('a', hour, 1, DAY_MICROS, DAY_MICROS)).toThrow(RangeError);
});
