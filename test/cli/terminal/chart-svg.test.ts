import { expect, test } from 'vitest';
import { drawChart } from '../../../src/cli/terminal/chart-svg.ts';
import type { Cell } from '../../../src/query/sql/rows.ts';

async function* given(rows: Iterable<readonly Cell[]>) {
  yield* rows;
}
const draw = (columns: readonly string[], rows: Iterable<readonly Cell[]>, title?: string) =>
  drawChart({ columns, rows: given(rows) }, title);
/** The points of each piece of a line. */
const pieces = (svg: string, line = 0) =>
  [...svg.matchAll(new RegExp(`class="line${line}" points="([^"]*)"`, 'g'))].map(([, points]) =>
    points!.split(' ').map((point) => point.split(',').map(Number)),
  );
const DAY = '2026-01-05';

test('times of every kind are UTC, in whatever order, and each column has its own scale', async () => {
  const svg = await draw(
    ['t', 'a', 'b'],
    [
      [`${DAY} 12:00:00`, 5, '1e3'],
      [DAY, 0, '-0.5'],
      ['2026-01-06T00:00:00.000000Z', 10, '9007199254740993'],
    ],
  );
  expect(pieces(svg, 0)).toEqual([
    [
      [18, 184],
      [430, 127],
      [842, 70],
    ],
  ]);
  expect(svg).toContain('a: 0 to 10<');
  expect(svg).toContain('b: -0.5 to 9,007,200,000,000,000<');
  expect(svg).toContain('>2026-01-05 00:00 UTC<');
  expect(svg).toContain('>2026-01-06 00:00 UTC<');
});

test('where nothing is known there is a gap, and a value alone is a dot', async () => {
  const values = [1, 2, null, 3, 'NaN', 2, 1];
  const svg = await draw(
    ['t', 'a'],
    values.map((value, hour) => [`${DAY} 0${hour}:00:00`, value]),
  );
  expect(pieces(svg).map((piece) => piece.length)).toEqual([2, 2, 2]);
  const [, alone] = pieces(svg);
  expect(alone![0]).toEqual(alone![1]);
});

test('of very many rows the least and the largest values are seen', async () => {
  const rows = Array.from({ length: 300_000 }, (_, i): Cell[] => {
    const at = new Date(Date.parse(DAY) + i * 288).toISOString();
    return [at, i === 123_456 ? 1e6 : i === 200_001 ? -1e6 : i % 3 === 0 ? null : i % 7];
  });
  const svg = await draw(['t', 'a'], rows);
  expect(svg).toContain('a: -1,000,000 to 1,000,000<');
  const [points, ...more] = pieces(svg);
  expect(more).toEqual([]);
  expect(points!.length).toBeGreaterThan(1_000);
  expect(points!.length).toBeLessThan(1_700);
  expect(points!.map(([, y]) => y)).toEqual(expect.arrayContaining([70, 184]));
});

test('one value throughout, and the ends of all numbers, are drawn', async () => {
  const two = (a: number, b: number) =>
    draw(
      ['t', 'a'],
      [
        [DAY, a],
        ['2026-01-06', b],
      ],
    );
  expect(await two(7, 7)).toContain('a: 7 to 7<');
  for (const svg of [await two(7, 7), await two(-Number.MAX_VALUE, Number.MAX_VALUE)])
    expect(svg).not.toMatch(/NaN|Infinity/);
});

test('names and titles are text, whatever they hold', async () => {
  const name = `<script>&"\u0000\u001b[31m\ud800${'x'.repeat(500)}`;
  const svg = await draw(
    ['t', name],
    [
      [DAY, 1],
      ['2026-01-06', 2],
    ],
  );
  expect(svg).toContain('&lt;script&gt;&amp;&quot;');
  expect(svg).not.toMatch(/<script|[\u0000-\u0009\u000b-\u001f]|[\ud800-\udfff]/);
  expect(svg.length).toBeLessThan(4_000);
});

test.for<[readonly string[], readonly (readonly Cell[])[], string]>([
  [['t'], [], 'got 1 columns, expected a time and 1 to 24 numbers'],
  [['t', 'a'], [[DAY, 1]], 'got 1 rows, expected two or more'],
  [
    ['t', 'a'],
    [['Shaft Power', 1]],
    "the column 't' has 'Shaft Power' in row 1, expected a timestamp or a date",
  ],
  [['t', 'a'], [[null, 1]], "the column 't' has NULL in row 1"],
  [['t', 'a'], [['2026-13-45', 1]], "the column 't' has '2026-13-45' in row 1"],
  [
    ['t', 'a'],
    [
      [DAY, 1],
      [DAY, true],
    ],
    "the column 'a' has 'true' in row 2, expected a number",
  ],
  [
    ['t', 'a'],
    [
      [DAY, null],
      [DAY, 'NaN'],
    ],
    "the column 'a' has no number in any row",
  ],
])('%j of %j is no chart', async ([columns, rows, words]) => {
  await expect(draw(columns, rows)).rejects.toThrow(words);
});

test('more rows than are held are refused', async () => {
  function* rows(): Generator<Cell[]> {
    for (;;) yield [DAY, 1];
  }
  await expect(draw(['t', 'a'], rows())).rejects.toThrow(
    'got more than 2,000,000 rows of 2 columns; select fewer rows',
  );
});
