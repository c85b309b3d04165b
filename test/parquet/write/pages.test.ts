import { expect, it } from 'vitest';
import { createKindRuns, pagesBySeries, pagesOf, startRun } from '../../../src/parquet/write/pages.ts';

const [VALUE, NONE] = [1, 0];

/** Rows of each series, and whether they have a value in the column. */
function seriesOf(series: readonly (readonly [rows: number, kind: number])[]) {
  const first = [0];
  const runs = createKindRuns();
  for (const [rows, kind] of series) {
    startRun(runs, first.at(-1)!, kind);
    first.push(first.at(-1)! + rows);
  }
  runs.rows = first.at(-1)!;
  return { first: Int32Array.from(first), runs };
}

const LARGE = [
  [5_000, VALUE],
  [700, VALUE],
  [700, VALUE],
  [9_000, NONE],
  [9_000, NONE],
  [3_000, VALUE],
  [12_000, VALUE],
] as const;

it('ends pages of values where a series does, those without a value when they are full', () => {
  const { first, runs } = seriesOf(LARGE);
  const pages = pagesBySeries(first, runs, VALUE);
  expect(pages.map(({ row, rows, nulls }) => [row, rows, nulls])).toEqual([
    [0, 5_000, 0],
    // Two small series are together.
    [5_000, 1_400, 0],
    [6_400, 10_000, 10_000],
    [16_400, 10_000, 8_000 + 0],
    [26_400, 1_000, 0],
    [27_400, 10_000, 0],
    [37_400, 2_000, 0],
  ]);
  expect(pages.flatMap(({ set }) => [...set])).toEqual([
    ...[0, 5_000, 5_000, 6_400, 24_400, 26_400, 26_400, 27_400, 27_400, 37_400, 37_400, 39_400],
  ]);
});

it('ends pages of times where a series does', () => {
  const { first } = seriesOf(LARGE);
  const pages = pagesBySeries(first);
  expect(pages.map(({ row, rows }) => [row, rows])).toEqual([
    [0, 5_000],
    [5_000, 1_400],
    [6_400, 9_000],
    [15_400, 9_000],
    [24_400, 3_000],
    [27_400, 10_000],
    [37_400, 2_000],
  ]);
});

it('makes no more pages of few rows than their number asks for', () => {
  const few = seriesOf(Array.from({ length: 10 }, () => [1_500, VALUE] as const));
  expect(pagesBySeries(few.first, few.runs, VALUE)).toEqual(pagesOf(15_000, few.runs, VALUE));
  const { first } = seriesOf([
    [1_500, VALUE],
    [1_500, VALUE],
  ]);
  expect(pagesBySeries(first)).toEqual(pagesOf(3_000));
});
