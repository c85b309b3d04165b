/** The values of one page, or of a dictionary, by encoding; nulls are not among them. */
import { DeltaReader, PageFault, RunReader } from './page-encodings.ts';

/** `Encoding` of the Parquet format. */
const ENCODING = {
  ...{ plain: 0, plainDictionary: 2, delta: 5, deltaLength: 6, deltaBytes: 7 },
  ...{ dictionary: 8, byteStreamSplit: 9 },
} as const;
const ENCODING_NAMES = [
  ...['PLAIN', 'GROUP_VAR_INT', 'PLAIN_DICTIONARY', 'RLE', 'BIT_PACKED', 'DELTA_BINARY_PACKED'],
  ...['DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY', 'RLE_DICTIONARY', 'BYTE_STREAM_SPLIT', 'ALP'],
];
/** Text that shared prefixes may come to at a time. */
const MAX_PREFIXED_BYTES = 16 << 20;

/** Values of 8 bytes, as words: two a value, low word first. */
export interface WordValues {
  /** The next `count` to `words`. */
  read(words: Int32Array, count: number): void;
}

/** Texts: value `i` of the last `read` is `bytes[starts[i], ends[i])`. */
export interface TextValues {
  readonly bytes: Uint8Array;
  read(count: number, spans: Pick<TextSpans, 'starts' | 'ends'>): void;
}

export class TextSpans {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** Of texts in a dictionary, their entries in it. */
  readonly entries: Int32Array;

  constructor(capacity: number) {
    this.starts = new Int32Array(capacity);
    this.ends = new Int32Array(capacity);
    this.entries = new Int32Array(capacity);
  }
}

/** Is it an encoding whose values stand in the dictionary? */
export function isOfDictionary(encoding: number): boolean {
  return encoding === ENCODING.dictionary || encoding === ENCODING.plainDictionary;
}

/** Numbers of 8 bytes in `page[start, …)`. `maxCount`: values that the page may have. */
export function wordValues(
  encoding: number,
  page: Uint8Array,
  start: number,
  maxCount: number,
  isDouble: boolean,
): WordValues {
  if (encoding === ENCODING.plain) return plainWords(page, start);
  if (encoding === ENCODING.byteStreamSplit) return splitWords(page, start);
  if (encoding === ENCODING.delta && !isDouble) return new DeltaReader(page, start, maxCount);
  throw wrongEncoding(encoding);
}

function plainWords(page: Uint8Array, start: number): WordValues {
  let at = start;
  return {
    read(words, count) {
      const end = at + count * 8;
      if (end > page.length) throw new PageFault('fewer values than its header says');
      new Uint8Array(words.buffer, words.byteOffset, count * 8).set(page.subarray(at, end));
      at = end;
    },
  };
}

/** BYTE_STREAM_SPLIT: the first bytes of all values, then the second ones, and so on. */
function splitWords(page: Uint8Array, start: number): WordValues {
  const total = Math.floor((page.length - start) / 8);
  let taken = 0;
  return {
    read(words, count) {
      if (taken + count > total) throw new PageFault('fewer values than its header says');
      const bytes = new Uint8Array(words.buffer, words.byteOffset, count * 8);
      for (let plane = 0; plane < 8; plane++) {
        const from = start + plane * total + taken;
        for (let value = 0; value < count; value++) bytes[value * 8 + plane] = page[from + value]!;
      }
      taken += count;
    },
  };
}

/** Texts in `page[start, …)`. `maxCount`: values that the page may have. */
export function textValues(encoding: number, page: Uint8Array, start: number, maxCount: number): TextValues {
  if (encoding === ENCODING.plain) return plainTexts(page, start);
  if (encoding === ENCODING.deltaLength) return new DeltaLengthTexts(page, start, maxCount);
  if (encoding === ENCODING.deltaBytes) return new DeltaTexts(page, start, maxCount);
  throw wrongEncoding(encoding);
}

function plainTexts(page: Uint8Array, start: number): TextValues {
  let at = start;
  return {
    bytes: page,
    read(count, { starts, ends }) {
      for (let value = 0; value < count; value++) {
        if (at + 4 > page.length) throw new PageFault('fewer values than its header says');
        const length =
          (page[at]! | (page[at + 1]! << 8) | (page[at + 2]! << 16) | (page[at + 3]! << 24)) >>> 0;
        starts[value] = at + 4;
        at += 4 + length;
        if (at > page.length) throw new PageFault('a text that is longer than its page');
        ends[value] = at;
      }
    },
  };
}

/** Lengths as deltas, a few at a time. */
class Lengths {
  readonly #deltas: DeltaReader;
  #words = new Int32Array(0);
  /** Where the deltas end. */
  readonly end: number;

  constructor(page: Uint8Array, start: number, maxCount: number) {
    this.end = new DeltaReader(page, start, maxCount).endOfAll();
    this.#deltas = new DeltaReader(page, start, maxCount);
  }

  read(count: number): void {
    if (this.#words.length < 2 * count) this.#words = new Int32Array(2 * count);
    this.#deltas.read(this.#words, count);
  }

  /** Of the values last read. */
  at(value: number): number {
    // Lengths are numbers of 32 bits; some writers sign-extend the deltas, others don't.
    const length = this.#words[2 * value]!;
    if (length < 0) throw new PageFault('a text of negative length');
    return length;
  }
}

class DeltaLengthTexts implements TextValues {
  readonly bytes: Uint8Array;
  readonly #lengths: Lengths;
  #at: number;

  constructor(page: Uint8Array, start: number, maxCount: number) {
    this.bytes = page;
    this.#lengths = new Lengths(page, start, maxCount);
    this.#at = this.#lengths.end;
  }

  read(count: number, { starts, ends }: TextSpans): void {
    this.#lengths.read(count);
    for (let value = 0; value < count; value++) {
      starts[value] = this.#at;
      this.#at += this.#lengths.at(value);
      if (this.#at > this.bytes.length) throw new PageFault('a text that is longer than its page');
      ends[value] = this.#at;
    }
  }
}

/** DELTA_BYTE_ARRAY: each text is the beginning of the one before, and what is new. */
class DeltaTexts implements TextValues {
  /** The texts of the last `read`; of the one before it only the last text. */
  bytes = new Uint8Array(1024);
  readonly #page: Uint8Array;
  readonly #prefixes: Lengths;
  readonly #suffixes: Lengths;
  #at: number;
  #lastStart = 0;
  #lastEnd = 0;

  constructor(page: Uint8Array, start: number, maxCount: number) {
    this.#page = page;
    this.#prefixes = new Lengths(page, start, maxCount);
    this.#suffixes = new Lengths(page, this.#prefixes.end, maxCount);
    this.#at = this.#suffixes.end;
  }

  read(count: number, { starts, ends }: TextSpans): void {
    this.#prefixes.read(count);
    this.#suffixes.read(count);
    this.bytes.copyWithin(0, this.#lastStart, this.#lastEnd);
    this.#lastEnd -= this.#lastStart;
    this.#lastStart = 0;
    for (let value = 0; value < count; value++) {
      const prefix = this.#prefixes.at(value);
      const suffix = this.#suffixes.at(value);
      if (prefix > this.#lastEnd - this.#lastStart)
        throw new PageFault('a longer prefix than the text before');
      if (this.#at + suffix > this.#page.length) throw new PageFault('a text that is longer than its page');
      const start = this.#lastEnd;
      this.#makeRoom(start + prefix + suffix);
      this.bytes.copyWithin(start, this.#lastStart, this.#lastStart + prefix);
      this.bytes.set(this.#page.subarray(this.#at, this.#at + suffix), start + prefix);
      this.#at += suffix;
      this.#lastStart = start;
      this.#lastEnd = start + prefix + suffix;
      starts[value] = this.#lastStart;
      ends[value] = this.#lastEnd;
    }
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.bytes.length) return;
    if (bytes > MAX_PREFIXED_BYTES)
      throw new PageFault(`texts of more than ${MAX_PREFIXED_BYTES} bytes by prefixes`);
    const wider = new Uint8Array(Math.min(MAX_PREFIXED_BYTES, Math.max(bytes, this.bytes.length * 2)));
    wider.set(this.bytes);
    this.bytes = wider;
  }
}

/** The entries of a dictionary, and what has been learnt of each. */
export interface DictionaryEntries {
  readonly count: number;
  /** Of 8-byte values. */
  readonly words: Int32Array;
  /** Of texts. */
  readonly bytes: Uint8Array;
  readonly spans: Pick<TextSpans, 'starts' | 'ends'>;
}

/** Entries are PLAIN, whatever their page calls it. */
export function dictionaryEntries(page: Uint8Array, count: number, isText: boolean): DictionaryEntries {
  // No entry without a byte of its page: so neither a claim allocates anything.
  const leastBytes = count * (isText ? 4 : 8);
  if (!(count >= 0 && leastBytes <= page.length))
    throw new PageFault(`${count} entries in ${page.length} bytes`);
  const spans = { starts: new Int32Array(isText ? count : 0), ends: new Int32Array(isText ? count : 0) };
  const words = new Int32Array(isText ? 0 : 2 * count);
  if (isText) plainTexts(page, 0).read(count, spans);
  else plainWords(page, 0).read(words, count);
  return { count, words, bytes: page, spans };
}

/** Indexes into a dictionary: a byte with their width, then runs. */
export function dictionaryIndexes(page: Uint8Array, start: number): RunReader {
  if (start >= page.length) throw new PageFault('no indexes');
  return new RunReader(page, start + 1, page.length, page[start]!);
}

export function assertEntries(entries: Int32Array, count: number, known: number): void {
  for (let value = 0; value < count; value++)
    if (entries[value]! >= known) throw new PageFault(`entry ${entries[value]} of a dictionary of ${known}`);
}

export function wrongEncoding(encoding: number): PageFault {
  return new PageFault(`the encoding ${ENCODING_NAMES[encoding] ?? encoding}, which is not for this type`);
}
