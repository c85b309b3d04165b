/** Whole numbers as digits, put into bytes: millions of them, without a text for each. */
const ZERO = 0x30;
const NINE_DIGITS = 1e9;

/** Digits of a whole number up to 2^53; where they end. */
export function putWhole(bytes: Uint8Array, at: number, value: number): number {
  if (value < NINE_DIGITS) return putDigits(bytes, at, value | 0, 1);
  const high = Math.floor(value / NINE_DIGITS);
  return putDigits(bytes, putWhole(bytes, at, high), (value - high * NINE_DIGITS) | 0, 9);
}

/** Puts a number below a billion with `least` digits or more. */
function putDigits(bytes: Uint8Array, at: number, value: number, least: number): number {
  let end = at + least;
  for (let limit = 10 ** least; value >= limit; limit *= 10) end++;
  let rest = value;
  for (let p = end - 1; p >= at; p--) {
    // Right for all of them: a tenth is a little more than it should be, by less than one digit of a billion.
    const tenth = (rest * 0.1) | 0;
    bytes[p] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  return end;
}
