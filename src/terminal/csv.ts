/** A line of CSV by RFC 4180, without its end: null is nothing, an empty text is `""`. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(cell: string | number | boolean | null): string {
  if (cell === null) return '';
  const text = String(cell);
  return typeof cell === 'string' && (text === '' || /[",\r\n]/.test(text))
    ? `"${text.replaceAll('"', '""')}"`
    : text;
}
