/** Figures as text. */

/** Where results go, and what is under way. */
export interface Voice {
  readonly say: (text: string) => void;
  readonly progress: (text: string) => void;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, least: sorted[0]!, most: sorted.at(-1)! };
}

/** `4.31 (4.20–5.02)` */
export function formatSpread({ median, least, most }: Spread, digits: number): string {
  const [m, l, h] = [median, least, most].map((value) => value.toFixed(digits));
  return l === h ? m! : `${m} (${l}–${h})`;
}

/** Lines with aligned columns; the first column to the left, the others to the right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const megabytes = (bytes: number): number => bytes / 1e6;

/** A measurement of one round. */
interface Timed {
  readonly wallMs: number;
}

/** Ratios of wall times, each of two measurements of one round, in which the machine is about equally busy. */
export function ratiosOf(over: readonly Timed[], under: readonly Timed[]): number[] {
  if (over.length !== under.length)
    throw new RangeError(`got ${over.length} and ${under.length} rounds, expected as many`);
  return over.map(({ wallMs }, round) => wallMs / under[round]!.wallMs);
}
