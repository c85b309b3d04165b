/** `1,234,567` */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `8 s`, `3 min 20 s`, `5 h 12 min` */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}

/** Columns padded to the widest cell; numbers to the right. The first row is the heading. */
export function formatTable(rows: readonly (readonly (string | number)[])[]): string {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatCount(cell) : cell)));
  const widths = (texts[0] ?? []).map((_, column) =>
    Math.max(...texts.map((row) => row[column]?.length ?? 0)),
  );
  return texts
    .map((row, index) =>
      row
        .map((text, column) => {
          const right = index > 0 && typeof rows[index]?.[column] === 'number';
          return right ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
