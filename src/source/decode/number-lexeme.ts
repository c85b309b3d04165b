/** Numbers from their lexemes, exactly: digits alone are LONG, a fraction or exponent DOUBLE, what neither holds JSON_TEXT. */
import { cleanForeignText, DataError } from '../../core/errors.ts';
import { type ColumnBatch, DOUBLE, LONG, type Micros, timestampMicros } from '../../core/model/index.ts';

const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const LOWER_E = 0x65;

/** 10^0 to 10^22: the powers of ten that a double holds exactly. */
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
/** 32-bit integers hold nine digits, doubles fifteen. */
const INT32_DIGITS = 9;
const EXACT_DIGITS = 15;
/** With a sign. */
const INT64_CHARS = 20;

/** The lexeme is not one that `readNumber` settles; 0 is never the end of a number. */
export const UNSETTLED = 0;

/** Read the number at `start` into `row`; the position behind it, or UNSETTLED. `bytes` must hold something that is no digit behind the number. */
export function readNumber(bytes: Uint8Array, start: number, batch: ColumnBatch, row: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let p = first;
  let digit = bytes[p]! - ZERO;
  if (digit >>> 0 > 9) return UNSETTLED;
  let mantissa = digit;
  digit = bytes[++p]! - ZERO;
  if (mantissa === 0 && digit >>> 0 <= 9) return UNSETTLED;
  let digits = 1;
  while (digit >>> 0 <= 9) {
    if (digits < INT32_DIGITS) mantissa = (mantissa * 10 + digit) | 0;
    digits++;
    digit = bytes[++p]! - ZERO;
  }
  const after = bytes[p]!;
  if (after === DOT) return readFraction(bytes, first, p, mantissa, digits, negative, batch, row);
  if ((after | 0x20) === LOWER_E) return UNSETTLED;
  if (digits > INT32_DIGITS) return readWideInteger(bytes, start, p, batch, row);
  if (mantissa === 0 && negative) storeDouble(batch, row, -0);
  else storeLong(batch, row, negative ? -mantissa : mantissa);
  return p;
}

/** `first` is the first digit, `dot` the point, `whole` the integer of the `digits` digits between them. */
function readFraction(
  bytes: Uint8Array,
  first: number,
  dot: number,
  whole: number,
  digits: number,
  negative: boolean,
  batch: ColumnBatch,
  row: number,
): number {
  let mantissa = digits > INT32_DIGITS ? digitsAsDouble(bytes, first, dot) : whole;
  let p = dot + 1;
  let digit = bytes[p]! - ZERO;
  while (digit >>> 0 <= 9) {
    mantissa = mantissa * 10 + digit;
    digit = bytes[++p]! - ZERO;
  }
  const places = p - dot - 1;
  // Leading zeros count as digits here, which only sends a few more numbers the longer way.
  if (places === 0 || digits + places > EXACT_DIGITS || (bytes[p]! | 0x20) === LOWER_E) return UNSETTLED;
  // Both are exact, so the quotient is rounded once, as the lexeme's nearest double must be.
  mantissa /= POWERS_OF_TEN[places]!;
  storeDouble(batch, row, negative ? -mantissa : mantissa);
  return p;
}

function digitsAsDouble(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let p = start; p < end; p++) value = value * 10 + bytes[p]! - ZERO;
  return value;
}

/** Integers of 10 to 19 digits, which are few. */
function readWideInteger(bytes: Uint8Array, start: number, end: number, batch: ColumnBatch, row: number) {
  if (end - start > INT64_CHARS) return UNSETTLED;
  const value = BigInt(String.fromCharCode(...bytes.subarray(start, end)));
  if (value !== BigInt.asIntN(64, value)) return UNSETTLED;
  batch.kinds[row] = LONG;
  batch.longs[row] = value;
  return end;
}

function storeLong(batch: ColumnBatch, row: number, value: number): void {
  batch.kinds[row] = LONG;
  batch.words[row * 2] = value;
  batch.words[row * 2 + 1] = value >> 31;
}

function storeDouble(batch: ColumnBatch, row: number, value: number): void {
  batch.kinds[row] = DOUBLE;
  batch.doubles[row] = value;
}

/** Store a well-formed number that `readNumber` did not settle. False: neither column can hold it. */
export function storeLexeme(lexeme: string, batch: ColumnBatch, row: number): boolean {
  if (!/[.eE]/.test(lexeme)) return false;
  const value = Number(lexeme);
  if (!Number.isFinite(value)) return false;
  storeDouble(batch, row, value);
  return true;
}

/** The integer that a JSON number spells, `12` or `12.0`. Throws DataError `bad-integer` beyond ±2^53. */
export function parseInt64Text(text: string): number {
  const value = /^-?\d+(?:\.0+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new DataError(
    'bad-integer',
    `found '${cleanForeignText(text, [], 60)}', expected an integer within ±2^53; report it to the operator of the service`,
  );
}

/** Micros of a time-valued aggregation, a JSON string. Throws DataError `bad-timestamp` or `timestamp-too-fine`. */
export function parseTimestampText(jsonText: string): Micros {
  const isString = jsonText.length > 1 && jsonText.startsWith('"') && jsonText.endsWith('"');
  const text = isString ? jsonText.slice(1, -1) : jsonText;
  const micros = timestampMicros(text);
  if (typeof micros === 'number') return micros;
  throw new DataError(
    micros.code,
    `found '${cleanForeignText(text, [], 60)}', expected ${micros.expected}; report it to the operator of the service`,
  );
}
