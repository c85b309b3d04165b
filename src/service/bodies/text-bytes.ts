/**
 * Text written byte by byte into memory that has room for it: each function returns where it ended, and may have written
 * up to four bytes beyond, which the next text covers. Three digits at a time come out of tables, as one word of four
 * bytes. Memory is a plain Uint8Array, never a Buffer: code that meets both is slower for either.
 */
import { MICROS_PER_DAY, MICROS_PER_SECOND, microsToIso } from '../../core/model/index.ts';
import { floatText } from '../query/formats.ts';

/** What `TimeWriter` writes: `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
export const TIME_BYTES = 27;
/** Longest text of a number, and what may be written beyond it. */
export const NUMBER_BYTES = 32;
const DATE_BYTES = 'YYYY-MM-DDT'.length;
const SECOND_BYTES = 'YYYY-MM-DDTHH:MM:SS.'.length;
const THREE_DIGITS = 1_000;
const SIX_DIGITS = 1_000_000;
const NINE_DIGITS = 1_000_000_000;
const LOW_WORDS = 2 ** 32;
/** Of the high word of integers below 2^53. */
const EXACT_HIGH = 2 ** 21;
const ZERO = 48;
const MINUS = 0x2d;
const COLON = 0x3a;

/** Memory to write into. */
export interface TextMemory {
  readonly bytes: Uint8Array;
  /** Of the same bytes. */
  readonly view: DataView;
}

export function textMemory(bytes: Uint8Array): TextMemory {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
}

/** By numbers below a thousand: four bytes of text each, as a little-endian word. */
interface DigitTables {
  /** `007Z`: three digits, and the zone that ends a time. */
  readonly padded: Int32Array;
  /** `7.`: no more digits than there are, and the point that begins a fraction. */
  readonly plain: Int32Array;
  /** Thousandths as a fraction: `7`, `07` or `007` without the zeros at the end, but for one. */
  readonly fractions: Int32Array;
  readonly fractionPlaces: Uint8Array;
}

let tables: DigitTables | undefined;

function digitTables(): DigitTables {
  tables ??= makeTables();
  return tables;
}

function makeTables(): DigitTables {
  const word = (text: string) => Buffer.from(text.padEnd(4, '\0'), 'latin1').readInt32LE(0);
  const numbers = Array.from({ length: THREE_DIGITS }, (_, number) => String(number));
  const padded = numbers.map((text) => text.padStart(3, '0'));
  const fractions = padded.map((text) => text.replace(/0{1,2}$/, ''));
  return {
    padded: Int32Array.from(padded, (text) => word(`${text}Z`)),
    plain: Int32Array.from(numbers, (text) => word(`${text}.`)),
    fractions: Int32Array.from(fractions, word),
    fractionPlaces: Uint8Array.from(fractions, (text) => text.length),
  };
}

/** Writes times, most of them near the one before: what has not changed since is copied. */
export class TimeWriter {
  #second = Number.NaN;
  #day = Number.NaN;
  readonly #text = new Uint8Array(24);
  /** The same text, eight bytes each: ASCII, which no NaN looks like. */
  readonly #cells = new Float64Array(this.#text.buffer);
  readonly #digits = digitTables().padded;

  /** `TIME_BYTES` from `at` on. */
  write(view: DataView, at: number, micros: number): void {
    const second = Math.floor(micros / MICROS_PER_SECOND);
    if (second !== this.#second) this.#setSecond(second);
    const cells = this.#cells;
    view.setFloat64(at, cells[0]!, true);
    view.setFloat64(at + 8, cells[1]!, true);
    view.setFloat64(at + 16, cells[2]!, true);
    const digits = this.#digits;
    const rest = (micros - second * MICROS_PER_SECOND) | 0;
    const millis = (rest / THREE_DIGITS) | 0;
    view.setInt32(at + SECOND_BYTES, digits[millis]!, true);
    view.setInt32(at + SECOND_BYTES + 3, digits[rest - millis * THREE_DIGITS]!, true);
  }

  #setSecond(second: number): void {
    const text = this.#text;
    const secondsPerDay = MICROS_PER_DAY / MICROS_PER_SECOND;
    const day = Math.floor(second / secondsPerDay);
    if (day !== this.#day) {
      writeAscii(text, 0, microsToIso(day * MICROS_PER_DAY).slice(0, SECOND_BYTES));
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

/** Writes numbers. */
export class NumberWriter {
  readonly #tables = digitTables();

  /** An integer whose magnitude is below 10^9. */
  writeSmallInteger(view: DataView, at: number, value: number): number {
    let rest = value | 0;
    if (rest < 0) {
      view.setUint8(at++, MINUS);
      rest = -rest;
    }
    return rest < THREE_DIGITS ? this.#plain(view, at, rest) : this.#longer(view, at, rest);
  }

  /** The integer of two words, the high one signed. */
  writeLong({ bytes, view }: TextMemory, at: number, low: number, high: number): number {
    if (high === low >> 31 && low > -NINE_DIGITS && low < NINE_DIGITS)
      return this.writeSmallInteger(view, at, low);
    if (high < 0 || high >= EXACT_HIGH)
      return writeAscii(bytes, at, ((BigInt(high) << 32n) | BigInt(low >>> 0)).toString());
    const value = high * LOW_WORDS + (low >>> 0);
    // A remainder is exact, which a quotient is not.
    const rest = value % NINE_DIGITS;
    const end = this.writeSmallInteger(view, at, (value - rest) / NINE_DIGITS);
    const thousands = (rest / THREE_DIGITS) | 0;
    this.#padded(view, end, (thousands / THREE_DIGITS) | 0);
    this.#padded(view, end + 3, thousands % THREE_DIGITS);
    return this.#padded(view, end + 6, rest - thousands * THREE_DIGITS);
  }

  /**
   * Shortest text that reads back as the same double, with a decimal point. What has at most three decimals and
   * six digits before them, nearly every sensor value, goes without making a string.
   */
  writeDouble({ bytes, view }: TextMemory, at: number, value: number): number {
    const thousandths = Math.round(value * THREE_DIGITS);
    if (
      !(Math.abs(thousandths) < NINE_DIGITS) ||
      thousandths / THREE_DIGITS !== value ||
      (thousandths === 0 && 1 / value < 0)
    )
      return writeAscii(bytes, at, floatText(value));
    let rest = thousandths | 0;
    if (rest < 0) {
      view.setUint8(at++, MINUS);
      rest = -rest;
    }
    const whole = (rest / THREE_DIGITS) | 0;
    const { fractions, fractionPlaces } = this.#tables;
    // The point is the byte after the digits.
    if (whole < THREE_DIGITS) at = this.#plain(view, at, whole) + 1;
    else {
      at = this.#longer(view, at, whole);
      view.setUint8(at++, 0x2e);
    }
    const fraction = rest - whole * THREE_DIGITS;
    view.setInt32(at, fractions[fraction]!, true);
    return at + fractionPlaces[fraction]!;
  }

  /** As `toFixed(5)` does. */
  writeFixed5({ bytes, view }: TextMemory, at: number, value: number): number {
    const scaled = Math.abs(value) * 1e5;
    const whole = Math.floor(scaled);
    const rest = scaled - whole;
    // Near the middle the product's own rounding would decide.
    if (!(scaled < NINE_DIGITS) || Math.abs(rest - 0.5) < 1e-6)
      return writeAscii(bytes, at, value.toFixed(5));
    if (value < 0) view.setUint8(at++, MINUS);
    const units = rest > 0.5 ? whole + 1 : whole;
    const integer = (units / 1e5) | 0;
    at = this.writeSmallInteger(view, at, integer);
    view.setUint8(at++, 0x2e);
    writeDigits(bytes, at, units - integer * 1e5, 5);
    return at + 5;
  }

  /** Below a thousand. */
  #plain(view: DataView, at: number, value: number): number {
    view.setInt32(at, this.#tables.plain[value]!, true);
    return at + (value < 10 ? 1 : value < 100 ? 2 : 3);
  }

  #padded(view: DataView, at: number, value: number): number {
    view.setInt32(at, this.#tables.padded[value]!, true);
    return at + 3;
  }

  /** From a thousand to below 10^9. */
  #longer(view: DataView, at: number, value: number): number {
    const thousands = (value / THREE_DIGITS) | 0;
    const units = value - thousands * THREE_DIGITS;
    if (value < SIX_DIGITS) return this.#padded(view, this.#plain(view, at, thousands), units);
    const millions = (thousands / THREE_DIGITS) | 0;
    const end = this.#padded(view, this.#plain(view, at, millions), thousands - millions * THREE_DIGITS);
    return this.#padded(view, end, units);
  }
}
