/** Rows of a query as a table that fits a terminal, as CSV, or as JSON. */
import { countOf, formatCount } from '../../core/model/index.ts';
import type { Cell, Rows } from '../../query/sql/rows.ts';
import { formatTable, widthOf } from './format.ts';
import { createJsonPage, paint, roomOn, type Screen, writeJson, writeLines } from './screen.ts';

/** Maximum of rows on a terminal, and in a pipe. */
const TERMINAL_ROWS = 40;
const PIPED_ROWS = 1_000;
const TERMINAL_CELL = 40;
const GAP = 2;
const MORE = '…';

/** The first rows, and as many columns as fit; a line below says what was left out. */
export async function writeRowTable(screen: Screen, { columns, rows }: Rows): Promise<void> {
  const isSeen = screen.isTTY === true;
  const most = isSeen ? TERMINAL_ROWS : PIPED_ROWS;
  const shown: (readonly Cell[])[] = [];
  let isCut = false;
  for await (const row of rows) {
    isCut = shown.length === most;
    if (isCut) break;
    shown.push(row);
  }
  const table = [columns, ...shown.map((row) => row.map((cell) => cellText(cell, isSeen)))];
  const fitting = fittingColumns(table, roomOn(screen));
  const left = columns.length - fitting;
  const lines = table.map((row) => [...row.slice(0, fitting), ...(left > 0 ? [MORE] : [])]);
  // Numbers are right-aligned.
  const right = columns.map((_, column) => shown.every((row) => typeof row[column] !== 'string'));
  const rowsNote = isCut ? `the first ${formatCount(most)} rows` : countOf(shown.length, 'row');
  const note = left > 0 ? `${rowsNote}, ${fitting} of ${columns.length} columns` : rowsNote;
  const hint = isCut || left > 0 ? '; --csv, --json and --parquet give all' : '';
  const below = paint(screen, 'dim', `(${note}${hint})`);
  writeLines(screen, `${formatTable(lines, Infinity, right)}\n${below}\n`);
}

function cellText(cell: Cell, isSeen: boolean): string {
  const text = cell === null ? '' : String(cell);
  return isSeen && widthOf(text) > TERMINAL_CELL ? `${text.slice(0, TERMINAL_CELL - 1)}${MORE}` : text;
}

/** How many of the first columns fit into a line: at least one. */
function fittingColumns(table: readonly (readonly string[])[], room: number): number {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => widthOf(row[column]!))));
  const all = widths.reduce((sum, width) => sum + width + GAP, -GAP);
  if (all <= room) return widths.length;
  let used = MORE.length;
  const last = widths.findIndex((width) => {
    used += width + GAP;
    return used > room;
  });
  return Math.max(1, last);
}

export async function writeCsvRows(screen: Screen, { columns, rows }: Rows): Promise<void> {
  const page = createJsonPage(screen, true);
  page.between(`${csvLine(columns)}\n`);
  for await (const row of rows) page.between(`${csvLine(row)}\n`);
  page.end();
}

export async function writeJsonRows(screen: Screen, { columns, rows }: Rows): Promise<void> {
  for await (const row of rows)
    writeJson(screen, Object.fromEntries(row.map((cell, column) => [columns[column]!, cell])));
}

type CsvCell = string | number | boolean | null;

/** Texts that a spreadsheet takes for a formula, which may start programs, and the numbers among them. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** A line of CSV by RFC 4180, without its line end. A text that a spreadsheet would take for a formula gets an apostrophe. */
export function csvLine(cells: readonly CsvCell[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(cell: CsvCell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const text = FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
