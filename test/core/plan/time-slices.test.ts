import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Job, TimeRange } from '../../../src/core/model/index.ts';
import {
  dayRange,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_SECOND,
} from '../../../src/core/model/index.ts';
import {
  planTimeSlices,
  planWindowSlices,
  slicesFrom,
  splitTimeSlice,
} from '../../../src/core/plan/time-slices.ts';

const DATE = '2026-01-05';
const day = dayRange(DATE);

/** Counts of a day by hour. */
const hourly = (totals: readonly number[]) => ({ hourTotal: (hour: number) => totals[hour]! });

function expectTiles(slices: readonly TimeRange[], range: TimeRange): void {
  // One expectation: a day may have 86,400 slices.
  const ends = [range.fromMicros, ...slices.map(({ toMicros }) => toMicros)];
  const wrong = slices.filter(
    ({ fromMicros, toMicros }, index) => fromMicros !== ends[index] || toMicros <= fromMicros,
  );
  expect(wrong).toEqual([]);
  expect(ends.at(-1)).toBe(range.toMicros);
}

test('a small day is one time slice', () => {
  expect(planTimeSlices(day, hourly(new Array(24).fill(10)), 1_000)).toEqual([day]);
});

test('a day without readings is one time slice over the whole day', () => {
  expect(planTimeSlices(day, hourly(new Array(24).fill(0)), 1_000)).toEqual([day]);
});

test('hours are merged up to the target', () => {
  const slices = planTimeSlices(day, hourly(new Array(24).fill(300)), 1_000);
  expect(slices).toHaveLength(8);
  expect(slices[0]).toEqual({ fromMicros: day.fromMicros, toMicros: day.fromMicros + 3 * MICROS_PER_HOUR });
});

test('an hour above the target is cut into equal pieces at whole seconds', () => {
  const totals = new Array(24).fill(0);
  totals[5] = 2_500;
  const slices = planTimeSlices(day, hourly(totals), 1_000);
  const hour = day.fromMicros + 5 * MICROS_PER_HOUR;
  expect(slices.map((slice) => (slice.fromMicros - hour) / MICROS_PER_SECOND)).toEqual([
    -18_000, 0, 1_200, 2_400, 3_600,
  ]);
});

test('time slices tile the day whatever the counts, and none but a single hour exceeds the target', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 5_000 }), { minLength: 24, maxLength: 24 }),
      fc.integer({ min: 1, max: 4_000 }),
      (totals, target) => {
        const slices = planTimeSlices(day, hourly(totals), target);
        expectTiles(slices, day);
        for (const slice of slices.filter(
          ({ fromMicros, toMicros }) => toMicros - fromMicros > MICROS_PER_HOUR,
        )) {
          const first = Math.round((slice.fromMicros - day.fromMicros) / MICROS_PER_HOUR);
          const last = Math.round((slice.toMicros - day.fromMicros) / MICROS_PER_HOUR);
          expect(totals.slice(first, last).reduce((sum, total) => sum + total, 0)).toBeLessThanOrEqual(
            target,
          );
        }
      },
    ),
  );
});

test('a time slice splits into halves down to one second', () => {
  let slices: TimeRange[] = [
    { fromMicros: day.fromMicros, toMicros: day.fromMicros + 5 * MICROS_PER_SECOND },
  ];
  const range = slices[0]!;
  for (let round = 0; round < 4; round++)
    slices = slices.flatMap((slice) => splitTimeSlice(slice) ?? [slice]);
  expectTiles(slices, range);
  expect(slices).toHaveLength(5);
  expect(splitTimeSlice(slices[0]!)).toBeUndefined();
});

test('halves of a time slice that begins between two seconds tile it', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: MICROS_PER_DAY - 2 }),
      fc.integer({ min: 1, max: MICROS_PER_DAY }),
      (from, length) => {
        const slice = { fromMicros: day.fromMicros + from, toMicros: day.fromMicros + from + length };
        const halves = splitTimeSlice(slice);
        if (halves === undefined) expect(length).toBeLessThan(2 * MICROS_PER_SECOND);
        else expectTiles(halves, slice);
      },
    ),
  );
});

test('what is left after a cursor begins at the cursor', () => {
  const slices = planTimeSlices(day, hourly(new Array(24).fill(1_000)), 1_000);
  const cursor = day.fromMicros + 2.5 * MICROS_PER_HOUR;
  expectTiles(slicesFrom(slices, cursor), { fromMicros: cursor, toMicros: day.toMicros });
});

test('without counts the day is cut by time alone', () => {
  expectTiles(planTimeSlices(day, undefined, 1_000), day);
});

test('time slices of statistics hold whole windows', () => {
  const window = 10 * 60 * MICROS_PER_SECOND;
  const slices = planWindowSlices({ windowMicros: window } as Job, DATE, 200, 10_000);
  expectTiles(slices, day);
  expect(slices.every((slice) => (slice.toMicros - slice.fromMicros) % window === 0)).toBe(true);
  expect(slices).toHaveLength(3);
});
