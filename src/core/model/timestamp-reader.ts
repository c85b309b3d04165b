/** The contract's own shape of a timestamp, read from bytes: answers hold millions of them. */
import { MICROS_PER_DAY, MICROS_PER_SECOND, type Micros } from './time.ts';
import { daysOfDate, FIRST_YEAR, LAST_YEAR } from './timestamp-text.ts';

const ZERO = 0x30;
const PLUS = 0x2b;
const DASH = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const UPPER_T = 0x54;
const UPPER_Z = 0x5a;

const MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND;
/** Mask of the word `DDTH` without its last byte. */
const DAY_AND_T = 0xff_ff_ff;

/** Four characters as bytes have them, little-endian. */
const wordOf = (text: string): number =>
  [...text].reduceRight((word, character) => (word << 8) | character.charCodeAt(0), 0);
const SECOND = wordOf(':00.');
const FOUR_DIGITS = wordOf('0000');
const TWO_DIGITS_AND_END = wordOf('00Z"');

const PLAIN_LENGTH = 'YYYY-MM-DDTHH:MM:SS.ffffffZ'.length;

/** The timestamp is not in the contract's own shape. */
export const OTHER_TIMESTAMP = -1;

/**
 * Reads the contract's own shape, with up to six fractional digits and `Z` or `+00:00`. Readings come in order of time, so the sixteen bytes up to the
 * minute are mostly those of the row before: they are compared, not parsed.
 */
export class TimestampReader {
  end = 0;
  /** Begin of the minute in which the last timestamp lies. */
  minuteMicros: Micros = Number.NaN;
  #dayMicros: Micros = Number.NaN;
  #word0 = 0;
  #word1 = 0;
  #word2 = 0;
  #word3 = 0;

  /** Microseconds since `minuteMicros`, or OTHER_TIMESTAMP: returning one large number costs an object a row. The window is padded. */
  microsOfMinuteAt(bytes: Uint8Array, view: DataView, start: number): number {
    if (
      view.getInt32(start, true) !== this.#word0 ||
      view.getInt32(start + 4, true) !== this.#word1 ||
      view.getInt32(start + 8, true) !== this.#word2 ||
      view.getInt32(start + 12, true) !== this.#word3
    )
      this.#readMinute(bytes, view, start);
    if (Number.isNaN(this.minuteMicros)) return OTHER_TIMESTAMP;
    // Of `:SS.ffffffZ"` every byte is left as a digit's value, or as zero: most have all six digits.
    const second = view.getInt32(start + 16, true) ^ SECOND;
    const upper = view.getInt32(start + 20, true) ^ FOUR_DIGITS;
    const lower = view.getInt32(start + 24, true) ^ TWO_DIGITS_AND_END;
    const others =
      (second & 0xff0000ff) |
      (((second + 0x767a00) | second) & 0x808000) |
      (((upper + 0x76767676) | upper) & 0x80808080) |
      (((lower + 0x7676) | lower) & 0xffff8080);
    if (others === 0) {
      this.end = start + PLAIN_LENGTH;
      const seconds = ((second >> 8) & 15) * 10 + (second >> 16);
      const pairs = (upper * 10 + (upper >> 8)) & 0xff00ff;
      const fraction = ((pairs & 0xff) * 100 + (pairs >> 16)) * 100 + (lower & 15) * 10 + (lower >> 8);
      return seconds * MICROS_PER_SECOND + fraction;
    }
    return this.#otherDigits(bytes, start);
  }

  /** The same with another number of digits, or none, or another zone. */
  #otherDigits(bytes: Uint8Array, start: number): number {
    const tens = bytes[start + 17]! - ZERO;
    const ones = bytes[start + 18]! - ZERO;
    if (bytes[start + 16] !== COLON || tens >>> 0 > 5 || ones >>> 0 > 9) return OTHER_TIMESTAMP;
    let p = start + 19;
    let fraction = 0;
    if (bytes[p] === DOT) {
      p++;
      let digits = 0;
      for (let digit = bytes[p]! - ZERO; digit >>> 0 <= 9; digit = bytes[++p]! - ZERO) {
        fraction = fraction * 10 + digit;
        if (++digits > 6) return OTHER_TIMESTAMP;
      }
      if (digits === 0) return OTHER_TIMESTAMP;
      for (; digits < 6; digits++) fraction *= 10;
    }
    if (bytes[p] === UPPER_Z) this.end = p + 1;
    else if (isZeroOffset(bytes, p)) this.end = p + 6;
    else return OTHER_TIMESTAMP;
    return (tens * 10 + ones) * MICROS_PER_SECOND + fraction;
  }

  #readMinute(bytes: Uint8Array, view: DataView, start: number): void {
    const word0 = view.getInt32(start, true);
    const word1 = view.getInt32(start + 4, true);
    const word2 = view.getInt32(start + 8, true);
    // The calendar is asked for once a day, and not once a minute.
    if (word0 !== this.#word0 || word1 !== this.#word1 || ((word2 ^ this.#word2) & DAY_AND_T) !== 0)
      this.#dayMicros = dateMicros(bytes, start);
    this.#word0 = word0;
    this.#word1 = word1;
    this.#word2 = word2;
    this.#word3 = view.getInt32(start + 12, true);
    const hour = twoDigits(bytes, start + 11);
    const minute = twoDigits(bytes, start + 14);
    const isTime = bytes[start + 13] === COLON && hour <= 23 && minute <= 59;
    this.minuteMicros = isTime ? this.#dayMicros + (hour * 60 + minute) * MICROS_PER_MINUTE : Number.NaN;
  }
}

function isZeroOffset(bytes: Uint8Array, start: number): boolean {
  return (
    bytes[start] === PLUS &&
    bytes[start + 1] === ZERO &&
    bytes[start + 2] === ZERO &&
    bytes[start + 3] === COLON &&
    bytes[start + 4] === ZERO &&
    bytes[start + 5] === ZERO
  );
}

/** Micros of `YYYY-MM-DDT`, or NaN. */
function dateMicros(bytes: Uint8Array, start: number): Micros {
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const punctuated = bytes[start + 4] === DASH && bytes[start + 7] === DASH && bytes[start + 10] === UPPER_T;
  // What is no digit makes more than any year, month or day has.
  if (!punctuated || year < FIRST_YEAR || year > LAST_YEAR) return Number.NaN;
  return daysOfDate(year, twoDigits(bytes, start + 5), twoDigits(bytes, start + 8)) * MICROS_PER_DAY;
}

/** 10,000 where there are other characters. */
function twoDigits(bytes: Uint8Array, start: number): number {
  const tens = bytes[start]! - ZERO;
  const ones = bytes[start + 1]! - ZERO;
  return tens >>> 0 > 9 || ones >>> 0 > 9 ? 10_000 : tens * 10 + ones;
}
