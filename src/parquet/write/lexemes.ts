/** JSON texts of statistics values → what the columns hold; undefined for what a column cannot hold. */
import type { Micros } from '../../core/model/index.ts';
import { parseTimestamp } from '../../core/model/index.ts';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const WHOLE = /^(\d{1,19})(?:\.0+)?$/;
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

/** Microseconds of a quoted ISO 8601 date-time. */
export function parseInstant(lexeme: string): Micros | undefined {
  return lexeme.startsWith('"') ? parseTimestamp(lexeme.slice(1, -1)) : undefined;
}
