/** Rows of count, first and last time alone, in the contract's own spelling, read in one pass: a third less CPU for a small vessel-day. */
import type { CountedRow, SeriesDictionary } from '../../core/model/index.ts';
import { OTHER_TIMESTAMP, TimestampReader } from '../../core/model/timestamp-reader.ts';
import type { BodyWindow } from './body-window.ts';
import { IdTable, UNUSUAL } from './id-table.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const CLOSE_BRACE = 0x7d;

/** So many digits are exact in a number, whatever they are. */
const EXACT_DIGITS = 15;

// Four bytes at a time; where a text is no multiple of four long, the last word overlaps the one before.
const TIMESTAMP = spelling('{"timestamp":"');
const ID = spelling('","id":"');
const AGGREGATIONS = spelling('","aggregations":{');
const COUNT = spelling('"count":');
const FIRST_TIME = spelling('"first_time":"');
const LAST_TIME = spelling('"last_time":"');

/** The row is not in the contract's own spelling, not whole, or says something else too. */
export const OTHER_ROW = 0;

export class CountedRowReader {
  readonly row: CountedRow = {
    ...{ id: '', code: 0, timestampMicros: 0 },
    ...{ count: 0, firstMicros: 0, lastMicros: 0 },
  };
  readonly #dictionary: SeriesDictionary;
  readonly #ids: IdTable;
  readonly #starts = new TimestampReader();
  readonly #firsts = new TimestampReader();
  readonly #lasts = new TimestampReader();
  #count = 0;

  constructor(dictionary: SeriesDictionary) {
    this.#dictionary = dictionary;
    this.#ids = new IdTable(dictionary);
  }

  /** End of the row that begins at `start`, or OTHER_ROW. May read stale bytes; the last test makes sure that none was used. */
  read(window: BodyWindow, start: number): number {
    const { bytes, view } = window;
    if (!isAt(view, start, TIMESTAMP)) return OTHER_ROW;
    const ofMinute = this.#starts.microsOfMinuteAt(bytes, view, start + TIMESTAMP.length);
    if (ofMinute === OTHER_TIMESTAMP || !isAt(view, this.#starts.end, ID)) return OTHER_ROW;
    const code = this.#ids.codeAt(window, this.#starts.end + ID.length);
    if (code === UNUSUAL || !isAt(view, this.#ids.quote, AGGREGATIONS)) return OTHER_ROW;
    const { row } = this;
    row.id = this.#dictionary.ids[code]!;
    row.code = code;
    row.timestampMicros = this.#starts.minuteMicros + ofMinute;
    const end = this.#readMembers(window, this.#ids.quote + AGGREGATIONS.length);
    return end <= window.end ? end : OTHER_ROW;
  }

  /** The three members from `start` on, in any order, and the end of both objects. */
  #readMembers(window: BodyWindow, start: number): number {
    const { bytes } = window;
    const { row } = this;
    row.count = row.firstMicros = row.lastMicros = Number.NaN;
    for (let p = start; ; p++) {
      p = this.#readMember(window, p);
      if (p === OTHER_ROW) return OTHER_ROW;
      if (bytes[p] === COMMA) continue;
      const isEnd = bytes[p] === CLOSE_BRACE && bytes[p + 1] === CLOSE_BRACE;
      const isWhole = row.count >= 0 && row.firstMicros >= 0 && row.lastMicros >= 0;
      return isEnd && isWhole ? p + 2 : OTHER_ROW;
    }
  }

  /** Position behind a member that the row does not have yet. */
  #readMember({ bytes, view }: BodyWindow, start: number): number {
    const { row } = this;
    if (isAt(view, start, COUNT)) {
      const end = this.#readCount(bytes, start + COUNT.length);
      if (end === OTHER_ROW || row.count >= 0) return OTHER_ROW;
      row.count = this.#count;
      return end;
    }
    const isFirst = isAt(view, start, FIRST_TIME);
    if (!isFirst && !isAt(view, start, LAST_TIME)) return OTHER_ROW;
    const timestamps = isFirst ? this.#firsts : this.#lasts;
    const textAt = start + (isFirst ? FIRST_TIME : LAST_TIME).length;
    const ofMinute = timestamps.microsOfMinuteAt(bytes, view, textAt);
    if (ofMinute === OTHER_TIMESTAMP || bytes[timestamps.end] !== QUOTE) return OTHER_ROW;
    const micros = timestamps.minuteMicros + ofMinute;
    if ((isFirst ? row.firstMicros : row.lastMicros) >= 0) return OTHER_ROW;
    if (isFirst) row.firstMicros = micros;
    else row.lastMicros = micros;
    return timestamps.end + 1;
  }

  #readCount(bytes: Uint8Array, start: number): number {
    let p = start;
    let count = 0;
    for (let digit = bytes[p]! - ZERO; digit >>> 0 <= 9; digit = bytes[++p]! - ZERO)
      count = count * 10 + digit;
    const digits = p - start;
    if (digits === 0 || digits > EXACT_DIGITS || (digits > 1 && bytes[start] === ZERO)) return OTHER_ROW;
    this.#count = count;
    return p;
  }
}

interface Spelling {
  readonly length: number;
  readonly words: Int32Array;
}

function spelling(text: string): Spelling {
  const bytes = Buffer.from(text, 'latin1');
  const offsets = Array.from({ length: Math.ceil(bytes.length / 4) }, (_, word) =>
    Math.min(word * 4, bytes.length - 4),
  );
  return { length: bytes.length, words: Int32Array.from(offsets, (offset) => bytes.readInt32LE(offset)) };
}

function isAt(view: DataView, start: number, { length, words }: Spelling): boolean {
  const last = words.length - 1;
  for (let word = 0; word < last; word++)
    if (view.getInt32(start + word * 4, true) !== words[word]) return false;
  return view.getInt32(start + length - 4, true) === words[last];
}
