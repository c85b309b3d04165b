type CsvCell = string | number | boolean | null;

/** What a spreadsheet takes for a formula, which may start programs, and what it would do so with that is a number. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * A line of CSV by RFC 4180, without its end: null is nothing, an empty text is `""`. A text that a spreadsheet would take for
 * a formula has an apostrophe before it, and what one might split at is within quotes.
 */
export function csvLine(cells: readonly CsvCell[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(cell: CsvCell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const text = FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
