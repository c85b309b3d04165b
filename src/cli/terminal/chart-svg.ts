/** Rows of a query as a chart in SVG: the first column is time, each other one a line with at most as many points as pixels show. */
import { ConfigError } from '../../core/errors.ts';
import { cleanForeignText, formatCount } from '../../core/model/index.ts';
import type { Cell, Rows } from '../../query/sql/rows.ts';

const WIDTH_PX = 860;
const PLOT = { left: 18, right: 842, top: 64, lineHeight: 120, gap: 26 } as const;
const COLOURS = [
  ['#7fdbca', '#0b6e5f'],
  ['#82aaff', '#1d4fb8'],
  ['#ffcb6b', '#9a5b00'],
  ['#f78c6c', '#b3380b'],
] as const;
/** Maximum that is held in memory at once. */
const MAX_CELLS = 4_000_000;
const MAX_LINES = 24;
const MAX_TEXT = 100;

type Point = Readonly<{ x: number; value: number }>;

/** Throws ConfigError `no-chart` unless there are two rows with a time, and a number in every other column. */
export async function drawChart({ columns, rows }: Rows, title?: string): Promise<string> {
  const names = columns.slice(1);
  if (names.length === 0 || names.length > MAX_LINES)
    throw noChart(`got ${columns.length} columns, expected a time and 1 to ${MAX_LINES} numbers`);
  const read: { readonly at: number; readonly values: readonly (number | null)[] }[] = [];
  for await (const [time, ...cells] of rows) {
    const row = read.length + 1;
    if (row * columns.length > MAX_CELLS) {
      const found = `got more than ${formatCount(read.length)} rows of ${columns.length} columns`;
      throw noChart(`${found}; select fewer rows, for example by days, or use 'wide' with a --window`);
    }
    const at = timeOf(time ?? null);
    if (at === undefined) throw wrongCell(columns[0]!, row, time ?? null, 'a timestamp or a date');
    const values = cells.map((cell, index) => {
      const value = numberOf(cell);
      if (value === undefined) throw wrongCell(names[index]!, row, cell, 'a number');
      return value;
    });
    read.push({ at, values });
  }
  if (read.length < 2) throw noChart(`got ${read.length} rows, expected two or more`);
  read.sort((a, b) => a.at - b.at);
  const [from, to] = [read[0]!.at, read.at(-1)!.at];
  const x = (at: number) => PLOT.left + ((at - from) / (to - from || 1)) * (PLOT.right - PLOT.left);
  const xs = read.map(({ at }) => x(at));
  const bands = names.map((name, index) => {
    const values = read.map((row) => row.values[index]!);
    return band(name, index, visiblePieces(xs, values));
  });
  return page(title ?? names.join(', '), bands, [from, to]);
}

/** Instants of DuckDB; those without a zone, and dates, are UTC, like everything in a lake. */
function timeOf(cell: Cell): number | undefined {
  const found = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}(?:[.]\d+)?)Z?)?$/.exec(String(cell));
  if (found === null) return undefined;
  const at = Date.parse(`${found[1]}T${found[2] ?? '00:00:00'}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** Decimals and large integers come as text; values that are not finite are no points. */
function numberOf(cell: Cell): number | null | undefined {
  if (cell === null || typeof cell === 'number') return cell;
  if (typeof cell === 'boolean') return undefined;
  if (/^(NaN|-?Infinity)$/.test(cell)) return null;
  return /^-?\d+(?:[.]\d+)?(?:[eE][-+]?\d+)?$/.test(cell) ? Number(cell) : undefined;
}

/** The smallest and largest value of each pixel column; a column with rows but no value begins a new piece. */
function visiblePieces(xs: readonly number[], values: readonly (number | null)[]): Point[][] {
  const pieces: Point[][] = [[]];
  let least: Point | undefined;
  let most: Point | undefined;
  const endPixel = () => {
    const piece = pieces.at(-1)!;
    if (least === undefined || most === undefined) {
      if (piece.length > 0) pieces.push([]);
    } else if (least === most) piece.push(least);
    else piece.push(...(least.x <= most.x ? [least, most] : [most, least]));
    least = undefined;
    most = undefined;
  };
  xs.forEach((x, index) => {
    if (index > 0 && Math.floor(x) !== Math.floor(xs[index - 1]!)) endPixel();
    const value = values[index]!;
    if (value === null) return;
    const point = { x, value };
    if (least === undefined || value < least.value) least = point;
    if (most === undefined || value > most.value) most = point;
  });
  endPixel();
  return pieces.filter((piece) => piece.length > 0);
}

function band(name: string, index: number, pieces: readonly (readonly Point[])[]): string[] {
  const values = pieces.flat().map(({ value }) => value);
  if (values.length === 0) throw noChart(`the column '${shortText(name)}' has no number in any row`);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const top = PLOT.top + index * (PLOT.lineHeight + PLOT.gap);
  const bottom = top + PLOT.lineHeight;
  // Halved, because the difference of two numbers may overflow.
  const share = (value: number) => (value / 2 - least / 2) / (most / 2 - least / 2 || 1);
  const spot = ({ x, value }: Point) =>
    `${x.toFixed(1)},${(bottom - share(value) * (PLOT.lineHeight - 6)).toFixed(1)}`;
  const colour = index % COLOURS.length;
  const shown = (value: number) => value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
  return [
    `  <text class="name${colour}" x="${PLOT.left}" y="${top - 6}">${xmlText(name)}: ${shown(least)} to ${shown(most)}</text>`,
    `  <line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${bottom}" y2="${bottom}"/>`,
    // A single point is drawn as a line to itself: its round caps make a dot.
    ...pieces.map((piece) => {
      const points = (piece.length === 1 ? [...piece, ...piece] : piece).map(spot).join(' ');
      return `  <polyline class="line${colour}" points="${points}"/>`;
    }),
  ];
}

function page(
  title: string,
  bands: readonly (readonly string[])[],
  span: readonly [from: number, to: number],
): string {
  const height = PLOT.top + bands.length * (PLOT.lineHeight + PLOT.gap) + 16;
  const [first, last] = span.map((at) => new Date(at).toISOString().slice(0, 16).replace('T', ' '));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH_PX} ${height}" width="${WIDTH_PX}" height="${height}" role="img" aria-label="${xmlText(title)}">`,
    '  <style>',
    "    text { font: 13px ui-sans-serif, 'DejaVu Sans', sans-serif; fill: #d6deeb }",
    '    .panel { fill: #0d1b2a; stroke: #33475b } .grid { stroke: #33475b }',
    '    polyline { fill: none; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round }',
    ...COLOURS.map(([dark], at) => `    .line${at} { stroke: ${dark} } .name${at} { fill: ${dark} }`),
    '    @media (prefers-color-scheme: light) {',
    '      text { fill: #24323f } .panel { fill: #fbfcfd; stroke: #c5d0da } .grid { stroke: #c5d0da }',
    ...COLOURS.map(([, light], at) => `      .line${at} { stroke: ${light} } .name${at} { fill: ${light} }`),
    '    }',
    '  </style>',
    `  <rect class="panel" x="0.5" y="0.5" width="${WIDTH_PX - 1}" height="${height - 1}" rx="8"/>`,
    `  <text x="${PLOT.left}" y="28" font-weight="bold">${xmlText(title)}</text>`,
    ...bands.flat(),
    `  <text x="${PLOT.left}" y="${height - 10}">${first} UTC</text>`,
    `  <text x="${PLOT.right}" y="${height - 10}" text-anchor="end">${last} UTC</text>`,
    '</svg>',
  ].join('\n')}\n`;
}

function shortText(text: string): string {
  const clean = cleanForeignText(text);
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT - 1)}…` : clean;
}

function xmlText(text: string): string {
  const named = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' } as Record<string, string>;
  return shortText(text)
    .toWellFormed()
    .replace(/[&<>"]/g, (sign) => named[sign]!);
}

function wrongCell(column: string, row: number, cell: Cell, expected: string): ConfigError {
  const found = cell === null ? 'NULL' : `'${shortText(String(cell))}'`;
  return noChart(`the column '${shortText(column)}' has ${found} in row ${row}, expected ${expected}`);
}

const EXAMPLE = "SELECT timestamp, value FROM readings WHERE vessel = 'IMO9321483' AND tag = 'Shaft Power'";

function noChart(found: string): ConfigError {
  const advice = `a chart is of a time and numbers, such as "${EXAMPLE}"`;
  return new ConfigError('no-chart', `--svg: ${found}; ${advice}`);
}
