import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DayCounts, dayRange, type Job, MICROS_PER_HOUR } from '../../../src/core/model/index.ts';
import {
  compareCounts,
  describeDisagreements,
  leastPrecision,
  precisionOf,
  TO_THE_MICROSECOND,
} from '../../../src/core/proof/compare-counts.ts';

const JOB: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: ['IMO9321483'],
  select: ['flat/{vessel}/*'],
  transport: 'ndjson',
  verify: 'exact',
};
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
  expect(
    compareCounts(ours, counts(['b', 23, 1], ['a', 0, 5]), {
      policy: 'exact',
      precision: TO_THE_MICROSECOND,
    }),
  ).toEqual([]);
});

test('missing, additional and moved readings are named by series and hour', () => {
  const found = compareCounts(counts(['a', 0, 5], ['b', 3, 2]), counts(['a', 0, 6], ['b', 4, 2]), {
    policy: 'exact',
    precision: TO_THE_MICROSECOND,
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
  const options = { policy: 'exact', precision: precisionOf({ ...JOB, transport: 'parquet' }) } as const;
  const [before, after] = [counts(), counts()];
  before.add('b', 2, fromMicros + 4 * MICROS_PER_HOUR - 400, fromMicros + 5 * MICROS_PER_HOUR);
  after.add('b', 2, fromMicros + 4 * MICROS_PER_HOUR, fromMicros + 5 * MICROS_PER_HOUR);
  expect(compareCounts(before, after, options)).toEqual([]);
  after.add('b', 1, fromMicros + 4 * MICROS_PER_HOUR, fromMicros + 4 * MICROS_PER_HOUR);
  expect(compareCounts(before, after, options)).toHaveLength(1);
});

test('at-least accepts more than the source counts, never less', () => {
  const options = { policy: 'at-least', precision: TO_THE_MICROSECOND } as const;
  expect(compareCounts(counts(['a', 0, 6]), counts(['a', 0, 5]), options)).toEqual([]);
  expect(compareCounts(counts(['a', 0, 4]), counts(['a', 0, 5]), options)).toHaveLength(1);
});

/** Counts of one series with one hour of times, as microseconds into it. */
function times(count: number, first: number, last: number, hour = 5): DayCounts {
  const made = new DayCounts(fromMicros);
  const at = fromMicros + hour * MICROS_PER_HOUR;
  made.addHour('a', hour, count, at + first, at + last);
  return made;
}

test('equal counts of other times are named with both', () => {
  const exact = { policy: 'exact', precision: TO_THE_MICROSECOND } as const;
  const found = compareCounts(times(5, 0, 90), times(5, 0, 91), exact);
  expect(found).toMatchObject([{ timeSeriesId: 'a', hour: 5, ours: 5, source: 5 }]);
  expect(describeDisagreements(found, () => 'Speed')).toBe(
    'series Speed in hour 05: first and last reading 2026-01-05T05:00:00.000000Z to 2026-01-05T05:00:00.000090Z as fetched, 2026-01-05T05:00:00.000000Z to 2026-01-05T05:00:00.000091Z as the source says',
  );
  expect(compareCounts(times(5, 1, 90), times(5, 0, 90), exact)).toHaveLength(1);
  expect(compareCounts(times(5, 0, 90), times(5, 0, 90), exact)).toEqual([]);
});

test('milliseconds agree with the microseconds that were cut or rounded to them, and with no others', () => {
  const options = { policy: 'exact', precision: precisionOf({ ...JOB, transport: 'parquet' }) } as const;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3_600_000_000 - 2_000 }), fc.nat(3_000), (source, off) => {
      const cut = Math.floor(source / 1_000) * 1_000;
      const rounded = Math.round(source / 1_000) * 1_000;
      expect(compareCounts(times(2, cut, rounded), times(2, source, source), options)).toEqual([]);
      const found = compareCounts(times(2, source, source + off), times(2, source, source), options);
      expect(found).toHaveLength(off < 1_000 ? 0 : 1);
    }),
  );
});

test('windows agree with readings in their first and last ones, and with no others', () => {
  const windowMicros = 600_000_000;
  const job = { ...JOB, dataset: 'statistics', windowMicros } as const;
  const options = { policy: 'exact', precision: precisionOf(job) } as const;
  const micros = fc.integer({ min: 0, max: MICROS_PER_HOUR - 1 });
  const start = (at: number) => Math.floor(at / windowMicros) * windowMicros;
  fc.assert(
    fc.property(micros, micros, micros, (a, b, c) => {
      const [first, last] = [Math.min(a, b), Math.max(a, b)];
      const source = times(2, first, last);
      expect(compareCounts(times(2, start(first), start(last)), source, options)).toEqual([]);
      const moved = compareCounts(times(2, start(c), start(last)), source, options);
      expect(moved).toHaveLength(start(c) === start(first) ? 0 : 1);
    }),
  );
});

test('a day that differs in one reading, count-neutrally, differs exactly where first or last times do', () => {
  const hourOf = fc.uniqueArray(fc.integer({ min: 0, max: 999 }), { minLength: 2, maxLength: 30 });
  fc.assert(
    fc.property(hourOf, fc.nat(), fc.nat(), (readings, lost, doubled) => {
      const sorted = readings.sort((a, b) => a - b);
      const fetched = sorted.filter((_, i) => i !== lost % sorted.length);
      fetched.push(fetched[doubled % fetched.length]!);
      const spanOf = (all: readonly number[]) => [Math.min(...all), Math.max(...all)] as const;
      const found = compareCounts(
        times(fetched.length, ...spanOf(fetched)),
        times(sorted.length, ...spanOf(sorted)),
        { policy: 'exact', precision: TO_THE_MICROSECOND },
      );
      const isAtEdge = [0, sorted.length - 1].includes(lost % sorted.length);
      expect(found).toHaveLength(isAtEdge ? 1 : 0);
    }),
  );
});

test('of more readings than counted the times may lie further out, never further in', () => {
  const options = { policy: 'at-least', precision: TO_THE_MICROSECOND } as const;
  expect(compareCounts(times(6, 0, 99), times(5, 10, 90), options)).toEqual([]);
  expect(compareCounts(times(6, 11, 99), times(5, 10, 90), options)).toHaveLength(1);
  expect(compareCounts(times(6, 0, 89), times(5, 10, 90), options)).toHaveLength(1);
  // As many as counted are the same ones.
  expect(compareCounts(times(5, 0, 90), times(5, 10, 90), options)).toHaveLength(1);
});

test('of unknown settings only what holds for all of them is compared', () => {
  const measured = { policy: 'exact', precision: leastPrecision('measurements') } as const;
  expect(compareCounts(times(5, 0, 90), times(5, 999, 90), measured)).toEqual([]);
  expect(compareCounts(times(5, 0, 90), times(5, 1_000, 90), measured)).toHaveLength(1);
  const windows = { policy: 'exact', precision: leastPrecision('statistics') } as const;
  expect(compareCounts(times(5, 0, 0, 0), times(5, 7, 9, 23), windows)).toEqual([]);
});

test('hour totals add up over the series', () => {
  const made = counts(['a', 0, 5], ['b', 0, 2], ['b', 23, 1]);
  expect([0, 1, 22, 23].map((hour) => made.hourTotal(hour))).toEqual([7, 0, 0, 1]);
});

test('counts survive JSON', () => {
  const made = counts(['b', 3, 2], ['a', 0, 5], ['a', 3, 9]);
  const again = DayCounts.fromJson(fromMicros, JSON.parse(JSON.stringify(made.toJson())));
  expect(again).toEqual(made);
  expect(Object.keys(made.toJson())).toEqual(['a', 'b']);
  expect(made.span()).toEqual({ firstMicros: fromMicros, lastMicros: fromMicros + 3 * MICROS_PER_HOUR + 5 });
});
