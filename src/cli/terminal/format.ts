/** Counts, sizes, times and tables for people. */
import { stripVTControlCharacters } from 'node:util';
import { cleanMessage, formatCount } from '../../core/model/index.ts';

/** `350,000`, `1.23 M`, `12.3 bn`: for short lines. */
export function formatShort(count: number): string {
  if (count < 1_000_000) return formatCount(Math.round(count));
  return count < 999_500_000 ? `${threeFigures(count / 1e6)} M` : `${threeFigures(count / 1e9)} bn`;
}

/** `8 s`, `3 min 20 s`, `5 h 12 min` */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** `12.3 GB` */
export function formatBytes(sizeBytes: number): string {
  let size = sizeBytes;
  let unit = 0;
  for (; size >= 999.5 && unit < UNITS.length - 1; unit++) size /= 1_000;
  return `${unit === 0 ? size : threeFigures(size)} ${UNITS[unit]}`;
}

function threeFigures(number: number): string {
  return number >= 999.5 ? formatCount(Math.round(number)) : number.toPrecision(3);
}

/** Width of text on a screen; colours take no columns. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

const GAP = '  ';
const MAX_CELL_CHARS = 10_000;
/** A last column narrower than this is hard to read: it gets lines of its own. */
const MIN_LAST_COLUMN = 24;

/** Columns padded to the widest cell; numbers, and columns in `right`, are right-aligned. The last cell wraps if `columns` are too few. */
export function formatTable(
  rows: readonly (readonly (string | number)[])[],
  columns = Infinity,
  right: readonly boolean[] = [],
): string {
  const texts = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? formatCount(cell) : cellText(cell))),
  );
  const widths = (texts[0] ?? []).map((_, column) =>
    Math.max(...texts.map((row) => widthOf(row[column] ?? ''))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = columns - before;
  return texts
    .map((row, index) => {
      const cells = row.map((text, column) => {
        const blank = ' '.repeat((widths[column] ?? 0) - widthOf(text));
        const isRight = index > 0 && (right[column] || typeof rows[index]?.[column] === 'number');
        return isRight ? blank + text : text + blank;
      });
      const line = cells.join(GAP).trimEnd();
      if (widthOf(line) <= columns) return line;
      const head = cells.slice(0, -1).join(GAP);
      const last = wrapLine(row.at(-1) ?? '', room < MIN_LAST_COLUMN ? columns - 4 : room);
      if (room < MIN_LAST_COLUMN) return [head.trimEnd(), ...last.map((part) => `    ${part}`)].join('\n');
      return last.map((part, at) => (at === 0 ? head + GAP : ' '.repeat(before)) + part).join('\n');
    })
    .join('\n');
}

/** One bounded line: a long name from outside must not displace the other columns. */
function cellText(cell: string): string {
  const line = cell.replaceAll('\n', ' ');
  return widthOf(line) > MAX_CELL_CHARS ? cleanMessage(line, MAX_CELL_CHARS) : line;
}

/** Lines wrapped between words to at most `columns`; following lines are indented. */
export function wrapText(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => {
      if (widthOf(line) <= columns) return line;
      const margin = /^ */.exec(line)![0];
      const inner = `${margin}  `;
      const [first, ...others] = wrapLine(line.slice(margin.length), columns - inner.length);
      return [margin + first, ...others.map((part) => inner + part)].join('\n');
    })
    .join('\n');
}

/** A word wider than `columns`, such as an address, is not broken, so that it can be copied. */
function wrapLine(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.match(/ *[^ ]+/g) ?? ['']) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last + word) <= columns) lines[lines.length - 1] += word;
    else lines.push(word.trimStart());
  }
  return lines;
}
