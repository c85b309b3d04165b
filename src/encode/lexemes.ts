/** JSON texts of statistics values → what the columns hold; undefined for what a column cannot hold. */

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const WHOLE = /^(\d{1,19})(?:\.0+)?$/;
const INSTANT = /^"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2})(?:\.(\d{1,6})0*)?([Zz]|[-+]\d{2}:\d{2})"$/;
const MAX_INT64 = 2n ** 63n - 1n;

/** A number, correctly rounded; not one that would become infinite. */
export function parseDouble(lexeme: string): number | undefined {
  if (!NUMBER.test(lexeme)) return undefined;
  const value = Number(lexeme);
  return Number.isFinite(value) ? value : undefined;
}

/** A count: a whole number from 0 to int64, also when written `12.0`. */
export function parseCount(lexeme: string): bigint | undefined {
  const digits = WHOLE.exec(lexeme)?.[1];
  if (digits === undefined) return undefined;
  const count = BigInt(digits);
  return count <= MAX_INT64 ? count : undefined;
}

/** Microseconds since the epoch of a quoted ISO 8601 date-time; digits beyond six must be zeros. */
export function parseInstant(lexeme: string): number | undefined {
  const match = INSTANT.exec(lexeme);
  if (match === null) return undefined;
  const [, seconds, fraction = '', offset] = match;
  const millis = Date.parse(`${seconds}${offset}`.toUpperCase());
  return Number.isNaN(millis) ? undefined : millis * 1000 + Number(fraction.padEnd(6, '0'));
}
