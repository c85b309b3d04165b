import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TimeRange } from '../../src/model/index.ts';
import { dayRange, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_SECOND } from '../../src/model/index.ts';
import {
  pagesFrom,
  planPages,
  planUncountedPages,
  planWindowPages,
  splitPage,
} from '../../src/plan/pages.ts';

const day = dayRange('2026-01-05');

function expectTiles(pages: readonly TimeRange[], range: TimeRange): void {
  expect(pages[0]?.fromMicros).toBe(range.fromMicros);
  expect(pages.at(-1)?.toMicros).toBe(range.toMicros);
  for (const [index, page] of pages.entries()) {
    expect(page.toMicros).toBeGreaterThan(page.fromMicros);
    if (index > 0) expect(page.fromMicros).toBe(pages[index - 1]!.toMicros);
  }
}

test('a small day is one page', () => {
  expect(planPages(day, new Array(24).fill(10), 1_000)).toEqual([day]);
});

test('a day without readings is one page over the whole day', () => {
  expect(planPages(day, new Array(24).fill(0), 1_000)).toEqual([day]);
});

test('hours are merged up to the target', () => {
  const pages = planPages(day, new Array(24).fill(300), 1_000);
  expect(pages).toHaveLength(8);
  expect(pages[0]).toEqual({ fromMicros: day.fromMicros, toMicros: day.fromMicros + 3 * MICROS_PER_HOUR });
});

test('an hour above the target is cut into equal pieces at whole seconds', () => {
  const totals = new Array(24).fill(0);
  totals[5] = 2_500;
  const pages = planPages(day, totals, 1_000);
  const hour = day.fromMicros + 5 * MICROS_PER_HOUR;
  expect(pages.map((page) => (page.fromMicros - hour) / MICROS_PER_SECOND)).toEqual([
    -18_000, 0, 1_200, 2_400, 3_600,
  ]);
});

test('pages tile the day whatever the counts, and none but a single hour exceeds the target', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 5_000 }), { minLength: 24, maxLength: 24 }),
      fc.integer({ min: 1, max: 4_000 }),
      (totals, target) => {
        const pages = planPages(day, totals, target);
        expectTiles(pages, day);
        for (const page of pages.filter(
          ({ fromMicros, toMicros }) => toMicros - fromMicros > MICROS_PER_HOUR,
        )) {
          const first = Math.round((page.fromMicros - day.fromMicros) / MICROS_PER_HOUR);
          const last = Math.round((page.toMicros - day.fromMicros) / MICROS_PER_HOUR);
          expect(totals.slice(first, last).reduce((sum, total) => sum + total, 0)).toBeLessThanOrEqual(
            target,
          );
        }
      },
    ),
  );
});

test('a page splits into halves down to one second', () => {
  let pages: TimeRange[] = [{ fromMicros: day.fromMicros, toMicros: day.fromMicros + 5 * MICROS_PER_SECOND }];
  const range = pages[0]!;
  for (let round = 0; round < 4; round++) pages = pages.flatMap((page) => splitPage(page) ?? [page]);
  expectTiles(pages, range);
  expect(pages).toHaveLength(5);
  expect(splitPage(pages[0]!)).toBeUndefined();
});

test('halves of a page that begins between two seconds tile it', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: MICROS_PER_DAY - 2 }),
      fc.integer({ min: 1, max: MICROS_PER_DAY }),
      (from, length) => {
        const page = { fromMicros: day.fromMicros + from, toMicros: day.fromMicros + from + length };
        const halves = splitPage(page);
        if (halves === undefined) expect(length).toBeLessThan(2 * MICROS_PER_SECOND);
        else expectTiles(halves, page);
      },
    ),
  );
});

test('what is left after a cursor begins at the cursor', () => {
  const pages = planPages(day, new Array(24).fill(1_000), 1_000);
  const cursor = day.fromMicros + 2.5 * MICROS_PER_HOUR;
  expectTiles(pagesFrom(pages, cursor), { fromMicros: cursor, toMicros: day.toMicros });
});

test('without counts the day is cut by time alone', () => {
  expectTiles(planUncountedPages(day), day);
});

test('statistics pages hold whole windows', () => {
  const window = 10 * 60 * MICROS_PER_SECOND;
  const pages = planWindowPages(day, window, 200, 10_000);
  expectTiles(pages, day);
  expect(pages.every((page) => (page.toMicros - page.fromMicros) % window === 0)).toBe(true);
  expect(pages).toHaveLength(3);
});
