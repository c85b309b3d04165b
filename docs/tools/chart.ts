/**
 * A line chart as SVG of what `vessel-export sql … --json` prints: the first column is time, each other one a line with an
 * axis of its own. `… --json | node docs/tools/chart.ts 'Title' > chart.svg`
 */

const WIDTH_PX = 860;
const PLOT = { left: 18, right: 842, top: 64, lineHeight: 120, gap: 26 } as const;
/** Of the dark and the light theme. */
const COLOURS = [
  ['#7fdbca', '#0b6e5f'],
  ['#82aaff', '#1d4fb8'],
  ['#ffcb6b', '#9a5b00'],
  ['#f78c6c', '#b3380b'],
] as const;

type Row = Readonly<Record<string, string | number | null>>;

/** Throws Error where there are not two rows with a time, and a column of numbers. */
export function drawChart(title: string, rows: readonly Row[]): string {
  const [time, ...columns] = Object.keys(rows[0] ?? {});
  const times = rows.map((row) => Date.parse(String(row[time!])));
  if (columns.length === 0 || rows.length < 2 || times.some(Number.isNaN))
    throw new Error('expected lines of JSON: a timestamp first, then numbers; two lines or more');
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const height = PLOT.top + columns.length * (PLOT.lineHeight + PLOT.gap) + 16;
  const x = (at: number) => PLOT.left + ((at - from) / (to - from || 1)) * (PLOT.right - PLOT.left);
  const bands = columns.map((column, index) => {
    const top = PLOT.top + index * (PLOT.lineHeight + PLOT.gap);
    return band(
      column,
      index,
      top,
      rows.map((row, i) => [x(times[i]!), row[column]] as const),
    );
  });
  const ends = [from, to].map((at) => new Date(at).toISOString().slice(0, 16).replace('T', ' '));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH_PX} ${height}" width="${WIDTH_PX}" height="${height}" role="img" aria-label="${escapeXml(title)}">`,
    '  <style>',
    "    text { font: 13px ui-sans-serif, 'DejaVu Sans', sans-serif; fill: #d6deeb }",
    '    .panel { fill: #0d1b2a; stroke: #33475b } .grid { stroke: #33475b } polyline { fill: none; stroke-width: 1.5 }',
    ...COLOURS.map(
      ([dark], index) => `    .line${index} { stroke: ${dark} } .name${index} { fill: ${dark} }`,
    ),
    '    @media (prefers-color-scheme: light) {',
    '      text { fill: #24323f } .panel { fill: #fbfcfd; stroke: #c5d0da } .grid { stroke: #c5d0da }',
    ...COLOURS.map(
      ([, light], index) => `      .line${index} { stroke: ${light} } .name${index} { fill: ${light} }`,
    ),
    '    }',
    '  </style>',
    `  <rect class="panel" x="0.5" y="0.5" width="${WIDTH_PX - 1}" height="${height - 1}" rx="8"/>`,
    `  <text x="${PLOT.left}" y="28" font-weight="bold">${escapeXml(title)}</text>`,
    ...bands.flat(),
    `  <text x="${PLOT.left}" y="${height - 10}">${ends[0]} UTC</text>`,
    `  <text x="${PLOT.right}" y="${height - 10}" text-anchor="end">${ends[1]} UTC</text>`,
    '</svg>',
  ].join('\n')}\n`;
}

/** One line, from its least to its largest value; a gap where there is no value. */
function band(
  column: string,
  index: number,
  top: number,
  points: readonly (readonly [x: number, value: string | number | null | undefined])[],
): string[] {
  const values = points.map(([, value]) => value).filter((value) => typeof value === 'number');
  if (values.length === 0) throw new Error(`no number in the column ${column}`);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const bottom = top + PLOT.lineHeight;
  const y = (value: number) => bottom - ((value - least) / (most - least || 1)) * (PLOT.lineHeight - 6);
  const pieces: string[][] = [[]];
  for (const [x, value] of points)
    if (typeof value === 'number') pieces.at(-1)!.push(`${x.toFixed(1)},${y(value).toFixed(1)}`);
    else if (pieces.at(-1)!.length > 0) pieces.push([]);
  const colour = index % COLOURS.length;
  const shown = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 1 });
  return [
    `  <text class="name${colour}" x="${PLOT.left}" y="${top - 6}">${escapeXml(column)}: ${shown(least)} to ${shown(most)}</text>`,
    `  <line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${bottom}" y2="${bottom}"/>`,
    ...pieces
      .filter((piece) => piece.length > 0)
      .map((piece) => `  <polyline class="line${colour}" points="${piece.join(' ')}"/>`),
  ];
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

if (import.meta.main) {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  const rows = text.split('\n').filter((line) => line !== '');
  process.stdout.write(
    drawChart(
      process.argv[2] ?? 'vessel-export sql',
      rows.map((line) => JSON.parse(line)),
    ),
  );
}
