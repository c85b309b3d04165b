/** A day's counts from the text that `countsText` writes, without the thousands of arrays that JSON would make of it. */
import type { Micros } from '../../core/model/index.ts';
import { DayCounts } from '../../core/model/index.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const FIRST_PRINTABLE = 0x20;
const LAST_ASCII = 0x7e;
/** So many digits are exact in a number, whatever they are. */
const EXACT_DIGITS = 15;

interface ReadCounts {
  readonly counts: DayCounts;
  /** Position behind their text. */
  readonly end: number;
}

/**
 * Counts whose text begins at `start`; undefined where it is not in `countsText`'s own spelling, or names a series
 * twice: what those mean is for JSON to say.
 */
export function readCountsText(
  text: Uint8Array,
  start: number,
  dayFromMicros: Micros,
): ReadCounts | undefined {
  const reader = new CountsReader(text, start, dayFromMicros);
  return reader.read() ? { counts: reader.counts, end: reader.at } : undefined;
}

class CountsReader {
  readonly counts: DayCounts;
  readonly #text: Buffer;
  at: number;

  constructor(text: Uint8Array, start: number, dayFromMicros: Micros) {
    this.counts = new DayCounts(dayFromMicros);
    this.#text = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    this.at = start;
  }

  /** `{"id":[[hour,count,first,last],…],…}` */
  read(): boolean {
    if (!this.#take(OPEN_BRACE)) return false;
    if (this.#take(CLOSE_BRACE)) return true;
    do {
      const id = this.#readId();
      if (id === undefined || this.counts.placeOf(id) >= 0 || !this.#readHours(id)) return false;
    } while (this.#take(COMMA));
    return this.#take(CLOSE_BRACE);
  }

  #take(byte: number): boolean {
    if (this.#text[this.at] !== byte) return false;
    this.at++;
    return true;
  }

  /** A name whose bytes are its text, and the colon behind it. */
  #readId(): string | undefined {
    if (!this.#take(QUOTE)) return undefined;
    const from = this.at;
    for (; ; this.at++) {
      const byte = this.#text[this.at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < FIRST_PRINTABLE || byte > LAST_ASCII || byte === BACKSLASH)
        return undefined;
    }
    const id = this.#text.toString('latin1', from, this.at);
    this.at++;
    return this.#take(COLON) ? id : undefined;
  }

  #readHours(id: string): boolean {
    const { dayFromMicros } = this.counts;
    if (!this.#take(OPEN)) return false;
    do {
      const hour = this.#readWhole(OPEN);
      const count = this.#readWhole(COMMA);
      const firstMicros = dayFromMicros + this.#readWhole(COMMA);
      const lastMicros = dayFromMicros + this.#readWhole(COMMA);
      // NaN where any of them is none.
      if (!(hour + count + firstMicros + lastMicros >= 0) || !this.#take(CLOSE)) return false;
      this.counts.addHour(id, hour, count, firstMicros, lastMicros);
    } while (this.#take(COMMA));
    return this.#take(CLOSE);
  }

  /** A whole number behind `before`, as JSON spells it; NaN for anything else. */
  #readWhole(before: number): number {
    if (!this.#take(before)) return Number.NaN;
    const text = this.#text;
    const start = this.at;
    let at = start;
    let number = 0;
    for (let digit = text[at]! - ZERO; digit >= 0 && digit <= 9; digit = text[++at]! - ZERO)
      number = number * 10 + digit;
    this.at = at;
    const digits = at - start;
    const isPlain = digits > 0 && digits <= EXACT_DIGITS && (digits === 1 || text[start] !== ZERO);
    return isPlain ? number : Number.NaN;
  }
}
