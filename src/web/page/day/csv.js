// @ts-check
/** A file of comma-separated values, made in the browser. */

/** @param {number | bigint | string | null} value @returns {string} every digit, so that it can be read back exactly */
export function exactText(value) {
  if (value === null) return '';
  return Object.is(value, -0) ? '-0' : String(value);
}

/** @param {readonly string[]} cells @returns {string} a line by RFC 4180, without its end */
export function csvLine(cells) {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',');
}

/** A name that a spreadsheet would take for a formula. @param {string} name @returns {string} */
export function harmless(name) {
  return /^[=+\-@\t\r]/.test(name) ? `'${name}` : name;
}

/** @param {string} fileName @param {readonly string[]} lines */
export function downloadCsv(fileName, lines) {
  const url = URL.createObjectURL(new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  // The browser has it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
