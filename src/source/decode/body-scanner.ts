import { BodyWindow, INCOMPLETE, SLAB_BYTES } from './body-window.ts';
import { MemberSpans, readMembers, throwErrorObject } from './object-fields.ts';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** How records follow each other in a body: one a line, or as the elements of one JSON array. */
export type BodyFormat = 'ndjson' | 'json';

/** What a scanner cuts besides: the members of one JSON object, each a key and its value. */
type ScannedFormat = BodyFormat | 'members';

export interface RecordParser {
  /** Read the object (or member) at `start`; the position behind it, or INCOMPLETE: then nothing was kept, and it is offered again. */
  parseRecord(window: BodyWindow, start: number): number;
}

export interface BodyDecoder {
  /** Take the next bytes, cut anywhere; they may be changed afterwards. */
  push(chunk: Uint8Array): void;
  /** The body is whole. Throws DataError `body-truncated` when it is not. */
  end(): void;
}

/** A record longer than this is a fault: the contract sets no limit, and memory does. 64 MiB. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

// What may come next, besides white space; each in the words of a message.
const [LINE, ELEMENT, FIRST_ELEMENT, LINE_END, AFTER_ELEMENT, ARRAY, NOTHING] = [
  0, 1, 2, 3, 4, 5, 6,
] as const;
const EXPECTED = [
  "'{', a record",
  "'{', a record",
  "'{', a record, or ']'",
  'a line feed after a record',
  "',' or ']' after a record",
  "'[', the array of records",
  "nothing after the array's end",
];
/** The same of the members of an object. */
const EXPECTED_MEMBERS = [
  '',
  "'\"', a key",
  "'\"', a key, or '}'",
  '',
  "',' or '}' after a member",
  "'{', an object keyed by id",
  'nothing after the object',
];

/** Cuts a body into records and hands each to the parser in place; one that the slab cuts is read again. Memory: the slab, or the longest record. */
export class BodyScanner implements BodyDecoder {
  readonly window: BodyWindow;
  readonly #parser: RecordParser;
  readonly #afterRecord: number;
  /** The byte that a record begins with; those around all of them, and what is expected by state. */
  readonly #recordOpen: number;
  readonly #open: number;
  readonly #close: number;
  readonly #expected: readonly string[];
  readonly #maxRecordBytes: number;
  #next: number;

  /** `slabBytes` is for tests: tiny slabs cut every record. */
  constructor(
    format: ScannedFormat,
    parser: RecordParser,
    slabBytes = SLAB_BYTES,
    maxRecordBytes = MAX_RECORD_BYTES,
  ) {
    const isObject = format === 'members';
    this.#parser = parser;
    this.#next = format === 'ndjson' ? LINE : ARRAY;
    this.#afterRecord = format === 'ndjson' ? LINE_END : AFTER_ELEMENT;
    this.#recordOpen = isObject ? QUOTE : OPEN_BRACE;
    this.#open = isObject ? OPEN_BRACE : OPEN_BRACKET;
    this.#close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
    this.#expected = isObject ? EXPECTED_MEMBERS : EXPECTED;
    this.#maxRecordBytes = maxRecordBytes;
    this.window = new BodyWindow(slabBytes, format !== 'ndjson');
  }

  push(chunk: Uint8Array): void {
    const { window } = this;
    let taken = 0;
    while (taken < chunk.length) {
      const room = Math.min(window.capacity - window.end, chunk.length - taken);
      window.bytes.set(room === chunk.length ? chunk : chunk.subarray(taken, taken + room), window.end);
      window.end += room;
      taken += room;
      if (window.end === window.capacity) this.scan();
    }
  }

  scan(): void {
    const { window } = this;
    const parsedTo = this.#scanRecords();
    if (parsedTo > 0) window.dropBefore(parsedTo);
    const maxBytes = this.#maxRecordBytes;
    if (window.end > maxBytes) throw this.#tooLong(0, `more than ${maxBytes} bytes`);
    if (window.end * 2 > window.capacity)
      window.resize(Math.max(window.end + 1, Math.min(window.capacity * 2, maxBytes + 1)));
  }

  end(): void {
    this.scan();
    const { window } = this;
    const found = 'the end of the body';
    if (window.end > 0)
      throw window.faultFound('body-truncated', window.end, `${found} inside a record`, 'its rest');
    if (this.#next !== LINE && this.#next !== LINE_END && this.#next !== NOTHING)
      throw window.faultFound('body-truncated', 0, found, this.#expected[this.#next]!);
  }

  /** Parse from the window's begin; the position of the first byte that is still needed. */
  #scanRecords(): number {
    const { window } = this;
    const { bytes, end } = window;
    const recordOpen = this.#recordOpen;
    let p = 0;
    while (p < end) {
      const byte = bytes[p]!;
      if (byte === recordOpen && this.#next <= FIRST_ELEMENT) {
        const recordEnd = this.#parser.parseRecord(window, p);
        if (recordEnd === INCOMPLETE) break;
        if (recordEnd - p > this.#maxRecordBytes) throw this.#tooLong(p, `${recordEnd - p} bytes`);
        window.recordNumber++;
        this.#next = this.#afterRecord;
        p = recordEnd;
      } else if (byte === LINE_FEED && this.#next === LINE_END) {
        this.#next = LINE;
        p++;
      } else if (byte === COMMA && this.#next === AFTER_ELEMENT) {
        this.#next = ELEMENT;
        p++;
      } else if (byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB) {
        p++;
      } else {
        const next = this.#bracket(p);
        if (next === INCOMPLETE) break;
        this.#next = next;
        p++;
      }
    }
    return p;
  }

  /** What comes next after a bracket of the array; anything else than a fitting bracket is a fault. */
  #bracket(position: number): number {
    const { window } = this;
    const next = this.#next;
    const byte = window.bytes[position]!;
    if (byte === this.#open && next === ARRAY) return FIRST_ELEMENT;
    if (byte === this.#close && (next === FIRST_ELEMENT || next === AFTER_ELEMENT)) return NOTHING;
    // A service that fails in mid-array may put its error object where a comma or the array should be.
    if (byte === OPEN_BRACE && readErrorObject(window, position) === INCOMPLETE) return INCOMPLETE;
    throw window.fault('malformed-json', position, this.#expected[next]!);
  }

  #tooLong(position: number, found: string): Error {
    const expected = `at most ${this.#maxRecordBytes} in a record`;
    return this.window.faultFound('record-too-long', position, found, expected);
  }
}

/** Throws RetriableError `error-in-body` when the object at `start` is `{"error": …}`; else its end or INCOMPLETE. */
function readErrorObject(window: BodyWindow, start: number): number {
  const members = new MemberSpans();
  const end = readMembers(window, start, members);
  if (end !== INCOMPLETE) throwErrorObject(window, start, members);
  return end;
}
