/** The picture of the demo: what a real run prints, drawn as a terminal. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputOf } from './command-line.ts';

/** What the folder that the demo ran in is called in the picture. */
const SHOWN_FOLDER = '/home/you/vessel-export';
const FONT_PX = 13;
const LINE_PX = 18;
/** Advance of a character in the usual monospaced fonts, of the font's size. */
const ADVANCE = 0.602;
const MARGIN_PX = 18;
const TITLE_PX = 30;

/** Run the demo in a folder of its own, and draw it. Throws Error when it fails. */
export async function drawDemo(): Promise<string> {
  return drawTerminal(demoLines(await demoOutput()));
}

/** What the demo prints, with the folder it ran in called by another name. */
export async function demoOutput(readingsPerDay?: number): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'vessel-export-demo-')));
  const smaller = readingsPerDay === undefined ? [] : ['--readings-per-day', String(readingsPerDay)];
  try {
    const text = await outputOf(['demo', ...smaller], folder);
    return text.replaceAll(folder, SHOWN_FOLDER);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The lines that are drawn: neither the text of the query nor what to do next. */
export function demoLines(output: string): string[] {
  const lines = output.replace(/\nHow to go on[\s\S]*/, '').split('\n');
  const shown = lines.filter((line) => !line.startsWith('  '));
  const text = ['$ npm start', ...shown].join('\n').trim();
  return text.replace(/\n{3,}/g, '\n\n').split('\n');
}

/** Do two texts differ in numbers and spaces at most? Dates and readings are those of the day of the run. */
export function sameButNumbers(one: string, other: string): boolean {
  return withoutNumbers(one) === withoutNumbers(other);
}

/** `248,929 rows in 2 s` and `2,490 rows in 170 ms` are alike; so is `-`, a number that there is none of. */
export function withoutNumbers(text: string): string {
  return text
    .replace(/\d[\d,.:-]*|(?<=\s)-(?=\s|$|<)/gm, '#')
    .replace(/(?:# ?(?:bytes|[kMGT]B|ms|s|min|h)\b ?)+/g, '# ')
    .replace(/ +/g, ' ')
    .trim();
}

function drawTerminal(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => line.length));
  const width = Math.ceil(columns * FONT_PX * ADVANCE) + 2 * MARGIN_PX;
  const height = TITLE_PX + lines.length * LINE_PX + 2 * MARGIN_PX;
  const texts = lines.flatMap((line, index) => {
    if (line === '') return [];
    const y = TITLE_PX + MARGIN_PX + (index + 1) * LINE_PX - 5;
    return [`  <text x="${MARGIN_PX}" y="${y}"${kindOf(line)}>${escapeXml(line)}</text>`];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" xml:space="preserve" role="img" aria-label="npm start exports three made-up vessels and asks DuckDB about the result">`,
    '  <style>',
    `    text { font: ${FONT_PX}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; fill: #d6deeb }`,
    '    .panel { fill: #0d1b2a; stroke: #33475b }',
    '    .typed { fill: #7fdbca; font-weight: bold }',
    '    .head { fill: #82aaff }',
    '    .dot { fill: #33475b }',
    '    @media (prefers-color-scheme: light) {',
    '      text { fill: #24323f }',
    '      .panel { fill: #fbfcfd; stroke: #c5d0da }',
    '      .typed { fill: #0b6e5f }',
    '      .head { fill: #1d4fb8 }',
    '      .dot { fill: #c5d0da }',
    '    }',
    '  </style>',
    `  <rect class="panel" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...[0, 1, 2].map((dot) => `  <circle class="dot" cx="${MARGIN_PX + 4 + dot * 18}" cy="20" r="5"/>`),
    ...texts,
    '</svg>',
  ].join('\n')}\n`;
}

/** What was typed, and the heads of tables. */
function kindOf(line: string): string {
  if (line.startsWith('$ ')) return ' class="typed"';
  return /^(metadata|measurements|statistics|vessel) {2,}/.test(line) ? ' class="head"' : '';
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
