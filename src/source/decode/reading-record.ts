import type { ColumnBatch, SeriesDictionary } from '../../core/model/index.ts';
import {
  appendJsonText,
  createColumnBatch,
  JSON_TEXT,
  jsonTextBytes,
  microsToIso,
} from '../../core/model/index.ts';
import { ID_RULE, isSeriesId } from '../../core/model/series.ts';
import { OTHER_TIMESTAMP, TimestampReader } from '../../core/model/timestamp-reader.ts';
import { timestampMicros } from '../../core/model/timestamp-text.ts';
import type { RecordParser } from './body-scanner.ts';
import { type BodyWindow, INCOMPLETE } from './body-window.ts';
import { IdTable, UNUSUAL } from './id-table.ts';
import { beginsNumber, isSpelled, stringValue, valueEnd } from './json-tokens.ts';
import { readNumber, storeLexeme, UNSETTLED } from './number-lexeme.ts';
import { MemberSpans, readMembers, throwErrorObject } from './object-fields.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const COLON = 0x3a;
const CLOSE_BRACE = 0x7d;

/** A batch with more JSON text than this is handed over early: it bounds memory where values are huge. */
export const JSON_TEXT_LIMIT_BYTES = 8 * 1024 * 1024;

/** 344 KiB of columns: they stay in the second-level cache until they are copied. */
export const DEFAULT_BATCH_ROWS = 16_384;

/** Of the first batch: so the parser is not compiled again at the first full one. Worth a tenth of the CPU of a million readings. */
const FIRST_BATCH_ROWS = 256;

// The contract's own spelling of a record, four bytes at a time; where a name is no multiple of four long, the
// last word overlaps the one before.
const [OPEN_ID_0, OPEN_ID_1] = [word('{"id'), word('d":"')];
const [TIMESTAMP_0, TIMESTAMP_1] = [word('","t'), word('imes')];
const [TIMESTAMP_2, TIMESTAMP_3] = [word('tamp'), word('p":"')];
const [VALUE_0, VALUE_1] = [word('","v'), word('alue')];

const FIELDS = ['id', 'timestamp', 'value'];
const KEYS = FIELDS.map((name) => Buffer.from(`"${name}"`));

/** The record is not in the contract's own spelling, or not whole. */
const OTHER_SHAPE = 0;

/** Parses data points into a column batch. `#usual` reads a record in the contract's own spelling in one pass, `#any` every other. */
export class ReadingParser implements RecordParser {
  readonly #onBatch: (batch: ColumnBatch) => void;
  readonly #batch: ColumnBatch;
  readonly #batchRows: number;
  /** Rows at which the batch is handed over. */
  #fullRows: number;
  readonly #ids: IdTable;
  readonly #dictionary: SeriesDictionary;
  readonly #timestamps = new TimestampReader();
  readonly #members = new MemberSpans();
  #lastMicros = -1;

  constructor(dictionary: SeriesDictionary, batchRows: number, onBatch: (batch: ColumnBatch) => void) {
    this.#dictionary = dictionary;
    this.#ids = new IdTable(dictionary);
    this.#batch = createColumnBatch(batchRows);
    this.#batchRows = batchRows;
    this.#fullRows = Math.min(batchRows, FIRST_BATCH_ROWS);
    this.#onBatch = onBatch;
  }

  parseRecord(window: BodyWindow, start: number): number {
    const end = this.#usual(window, start);
    return end === OTHER_SHAPE ? this.#any(window, start) : end;
  }

  emit(): void {
    const batch = this.#batch;
    if (batch.rows === 0) return;
    try {
      this.#onBatch(batch);
    } finally {
      batch.rows = 0;
      batch.jsonText.count = 0;
      this.#fullRows = this.#batchRows;
    }
  }

  /** May read stale bytes behind the window's end; the last test makes sure that none was used. */
  #usual(window: BodyWindow, start: number): number {
    const { bytes, view } = window;
    if (view.getInt32(start, true) !== OPEN_ID_0 || view.getInt32(start + 3, true) !== OPEN_ID_1)
      return OTHER_SHAPE;
    const code = this.#ids.codeAt(window, start + 7);
    if (code === UNUSUAL) return OTHER_SHAPE;
    let p = this.#ids.quote;
    if (
      view.getInt32(p, true) !== TIMESTAMP_0 ||
      view.getInt32(p + 4, true) !== TIMESTAMP_1 ||
      view.getInt32(p + 8, true) !== TIMESTAMP_2 ||
      view.getInt32(p + 11, true) !== TIMESTAMP_3
    )
      return OTHER_SHAPE;
    const timestamps = this.#timestamps;
    const ofMinute = timestamps.microsOfMinuteAt(bytes, view, p + 15);
    if (ofMinute === OTHER_TIMESTAMP) return OTHER_SHAPE;
    const micros = timestamps.minuteMicros + ofMinute;
    p = timestamps.end;
    if (
      view.getInt32(p, true) !== VALUE_0 ||
      view.getInt32(p + 4, true) !== VALUE_1 ||
      bytes[p + 8] !== QUOTE ||
      bytes[p + 9] !== COLON
    )
      return OTHER_SHAPE;
    p += 10;
    const batch = this.#batch;
    const afterNumber = readNumber(bytes, p, batch, batch.rows);
    if (afterNumber === UNSETTLED) return this.#usualText(window, start, p, code, micros);
    if (afterNumber >= window.end || bytes[afterNumber] !== CLOSE_BRACE) return OTHER_SHAPE;
    this.#commit(window, start, code, micros);
    return afterNumber + 1;
  }

  /** The rest of a usual record whose value, at `valueStart`, is no simple number. */
  #usualText(window: BodyWindow, start: number, valueStart: number, code: number, micros: number): number {
    if (window.bytes[valueStart]! <= SPACE) return OTHER_SHAPE;
    window.stringBits = 0;
    const afterValue = valueEnd(window, valueStart);
    if (afterValue === INCOMPLETE || afterValue >= window.end) return OTHER_SHAPE;
    if (window.bytes[afterValue] !== CLOSE_BRACE) return OTHER_SHAPE;
    this.#storeText(window, valueStart, afterValue);
    this.#commit(window, start, code, micros);
    return afterValue + 1;
  }

  /** Any JSON object with the three fields, in any order and spelling, among others. */
  #any(window: BodyWindow, start: number): number {
    const members = this.#members;
    window.stringBits = 0;
    const end = readMembers(window, start, members);
    if (end === INCOMPLETE) return INCOMPLETE;
    if (window.stringBits >= 0x80) window.text(start, end);
    const memberOf = [-1, -1, -1];
    for (let member = 0; member < members.count; member++) {
      const keyStart = members.keyStart(member);
      const field = fieldAt(window, keyStart, members.keyEnd(member));
      if (field < 0) continue;
      if (memberOf[field]! >= 0)
        throw window.fault('duplicate-key', keyStart, `one '${FIELDS[field]}' in a record`);
      memberOf[field] = member;
    }
    const missing = memberOf.indexOf(-1);
    if (missing >= 0) {
      throwErrorObject(window, start, members);
      throw window.fault('missing-field', start, `a record with '${FIELDS[missing]}'`);
    }
    const [id, timestamp, value] = memberOf as [number, number, number];
    const code = this.#anyId(window, id);
    const micros = this.#anyTimestamp(window, timestamp);
    this.#anyValue(window, members.valueStart(value), members.valueEnd(value));
    this.#commit(window, start, code, micros);
    return end;
  }

  #anyId(window: BodyWindow, member: number): number {
    const start = this.#members.valueStart(member);
    const end = this.#members.valueEnd(member);
    if (window.bytes[start] !== QUOTE) throw window.fault('bad-id', start, "a string as 'id'", end);
    const known = this.#ids.codeAt(window, start + 1);
    if (known !== UNUSUAL && this.#ids.quote === end - 1) return known;
    const id = stringValue(window, start, end);
    if (!isSeriesId(id)) throw window.fault('bad-id', start, `${ID_RULE} as 'id'`, end);
    return this.#dictionary.codeOf(id);
  }

  #anyTimestamp(window: BodyWindow, member: number): number {
    const start = this.#members.valueStart(member);
    const end = this.#members.valueEnd(member);
    if (window.bytes[start] !== QUOTE)
      throw window.fault('bad-timestamp', start, "a string as 'timestamp'", end);
    const timestamps = this.#timestamps;
    const ofMinute = timestamps.microsOfMinuteAt(window.bytes, window.view, start + 1);
    if (ofMinute !== OTHER_TIMESTAMP && timestamps.end === end - 1) return timestamps.minuteMicros + ofMinute;
    const micros = timestampMicros(stringValue(window, start, end));
    if (typeof micros === 'number') return micros;
    throw window.fault(micros.code, start, micros.expected, end);
  }

  #anyValue(window: BodyWindow, start: number, end: number): void {
    if (readNumber(window.bytes, start, this.#batch, this.#batch.rows) === end) return;
    window.stringBits = 0;
    valueEnd(window, start);
    this.#storeText(window, start, end);
  }

  /** Store a value that is no simple number; `window.stringBits` must be those of its strings. */
  #storeText(window: BodyWindow, start: number, end: number): void {
    const batch = this.#batch;
    const { bytes } = window;
    if (beginsNumber(bytes[start]!) && storeLexeme(bytes.toString('latin1', start, end), batch, batch.rows))
      return;
    if (window.stringBits >= 0x80) window.text(start, end);
    batch.kinds[batch.rows] = JSON_TEXT;
    batch.words[batch.rows * 2] = batch.jsonText.count;
    batch.words[batch.rows * 2 + 1] = 0;
    appendJsonText(batch.jsonText, bytes, start, end);
  }

  #commit(window: BodyWindow, start: number, code: number, micros: number): void {
    const batch = this.#batch;
    if (micros < this.#lastMicros) throw this.#outOfOrder(window, start, micros);
    this.#lastMicros = micros;
    const row = batch.rows;
    batch.timestampMicros[row] = micros;
    batch.seriesCodes[row] = code;
    batch.rows = row + 1;
    const isLongText =
      batch.kinds[row] === JSON_TEXT && jsonTextBytes(batch.jsonText) > JSON_TEXT_LIMIT_BYTES;
    if (isLongText || batch.rows === this.#fullRows) this.emit();
  }

  #outOfOrder(window: BodyWindow, start: number, micros: number): Error {
    const found = `timestamp ${microsToIso(micros)} after ${microsToIso(this.#lastMicros)}`;
    return window.faultFound('out-of-order', start, found, 'timestamps in ascending order');
  }
}

/** Which of the three fields a key names, however it is spelled; -1: none. */
function fieldAt(window: BodyWindow, start: number, end: number): number {
  const plain = KEYS.findIndex((key) => isSpelled(window, start, end, key));
  return plain >= 0 ? plain : FIELDS.indexOf(stringValue(window, start, end));
}

function word(text: string): number {
  return Buffer.from(text, 'latin1').readInt32LE(0);
}
