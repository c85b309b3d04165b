/** Text written byte by byte into a buffer that has room for it: each function returns where it ended. */
import { MICROS_PER_DAY, MICROS_PER_SECOND, microsToIso } from '../model/index.ts';
import { floatText } from './formats.ts';

/** What `TimeWriter` writes: `YYYY-MM-DDTHH:MM:SS.ffffff`. */
export const TIME_BYTES = 26;
/** Longest text of a number. */
export const NUMBER_BYTES = 32;
const DATE_BYTES = 'YYYY-MM-DDT'.length;
const SECOND_BYTES = 'YYYY-MM-DDTHH:MM:SS.'.length;
const MICROS_DIGITS = 6;
const ZERO = 48;
const COLON = 0x3a;

/** Writes times, most of them near the one before: what has not changed since is copied. */
export class TimeWriter {
  #second = Number.NaN;
  #day = Number.NaN;
  readonly #text = Buffer.from('YYYY-MM-DDTHH:MM:SS.');

  /** `TIME_BYTES` from `at` on. */
  write(out: Uint8Array, at: number, micros: number): void {
    const second = Math.floor(micros / MICROS_PER_SECOND);
    if (second !== this.#second) this.#setSecond(second);
    const text = this.#text;
    for (let i = 0; i < SECOND_BYTES; i++) out[at + i] = text[i]!;
    writeDigits(out, at + SECOND_BYTES, micros - second * MICROS_PER_SECOND, MICROS_DIGITS);
  }

  #setSecond(second: number): void {
    const text = this.#text;
    const secondsPerDay = MICROS_PER_DAY / MICROS_PER_SECOND;
    const day = Math.floor(second / secondsPerDay);
    if (day !== this.#day) {
      text.write(microsToIso(day * MICROS_PER_DAY), 0, DATE_BYTES, 'latin1');
      this.#day = day;
    }
    const ofDay = second - day * secondsPerDay;
    const minutes = (ofDay / 60) | 0;
    const hours = (minutes / 60) | 0;
    writeDigits(text, DATE_BYTES, hours, 2);
    text[DATE_BYTES + 2] = COLON;
    writeDigits(text, DATE_BYTES + 3, minutes - hours * 60, 2);
    text[DATE_BYTES + 5] = COLON;
    writeDigits(text, DATE_BYTES + 6, ofDay - minutes * 60, 2);
    this.#second = second;
  }
}

export function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** `value` (an integer from 0 to below 2^31) as exactly `digits` digits. */
function writeDigits(out: Uint8Array, at: number, value: number, digits: number): void {
  let rest = value | 0;
  for (let i = at + digits - 1; i >= at; i--) {
    const next = (rest / 10) | 0;
    out[i] = ZERO + (rest - next * 10);
    rest = next;
  }
}

/** An integer whose magnitude is below 10^9. */
export function writeSmallInteger(out: Uint8Array, at: number, value: number): number {
  let rest = value;
  if (rest < 0) {
    out[at++] = 0x2d;
    rest = -rest;
  }
  const digits = digitsOf(rest);
  writeDigits(out, at, rest, digits);
  return at + digits;
}

/**
 * Shortest text that reads back as the same double, with a decimal point. What has at most three decimals and
 * six digits before them, nearly every sensor value, goes without making a string.
 */
export function writeDouble(out: Uint8Array, at: number, value: number): number {
  const thousandths = Math.round(value * 1000);
  if (Math.abs(thousandths) >= 1e9 || thousandths / 1000 !== value || (thousandths === 0 && 1 / value < 0))
    return writeAscii(out, at, floatText(value));
  let rest = thousandths;
  if (rest < 0) {
    out[at++] = 0x2d;
    rest = -rest;
  }
  const whole = (rest / 1000) | 0;
  at = writeSmallInteger(out, at, whole);
  out[at++] = 0x2e;
  let fraction = rest - whole * 1000;
  let places = 3;
  while (places > 1 && fraction % 10 === 0) {
    fraction = (fraction / 10) | 0;
    places--;
  }
  writeDigits(out, at, fraction, places);
  return at + places;
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let bound = 10; value >= bound && digits < 10; bound *= 10) digits++;
  return digits;
}
