/** A column of a file that is none of a dataset's, filled value by value, with the levels of nested columns. */
import type { SchemaElement } from 'hyparquet';
import type { ByteSink } from './byte-sink.ts';
import { createByteSink, putBytes, putSized, putText, putVarint, reserve } from './byte-sink.ts';
import { appendChunk, type PageBody, type PlacedChunk } from './column-chunk.ts';

export interface Leaf {
  readonly path: readonly string[];
  readonly type: NonNullable<SchemaElement['type']>;
  /** Definition level of a value, and the deepest repetition level. */
  readonly definition: number;
  readonly repetition: number;
}

/** A page ends at the first row after as much of either: who reads one holds it whole. */
const PAGE_ENTRIES = 65_536;
const PAGE_BYTES = 1 << 20;
const TWO_32 = 2 ** 32;

/** Where a page ends: in rows, in entries of levels, in values, and in bytes of values. */
const NOTHING = { rows: 0, entries: 0, values: 0, bytes: 0 };
type PageEnd = typeof NOTHING;

export class LeafColumn {
  readonly leaf: Leaf;
  #rows = 0;
  #values = 0;
  /** Of each entry. */
  readonly #definitions = createByteSink(1_024);
  readonly #repetitions = createByteSink(1_024);
  /** Values as PLAIN has them; of a dictionary its entries. */
  #plain = createByteSink(1_024);
  readonly #hasDictionary: boolean;
  #codes: number[] = [];
  readonly #codeOf = new Map<string, number>();
  #pageEnds: PageEnd[] = [];
  #pageFrom = NOTHING;
  /** Of whole numbers; NaN where one cannot be compared. */
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  constructor(leaf: Leaf, { dictionary = false } = {}) {
    this.leaf = leaf;
    this.#hasDictionary = dictionary;
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#plain.at;
  }

  /** No value; `definition`: how deep there is something. */
  addNull(definition = 0, repetition = 0): void {
    this.#begin(definition, repetition);
  }

  addText(text: string, repetition = 0): void {
    this.#begin(this.leaf.definition, repetition);
    this.#values++;
    if (this.#hasDictionary) {
      let code = this.#codeOf.get(text);
      if (code === undefined) {
        code = this.#codeOf.size;
        this.#codeOf.set(text, code);
        this.#putText(text);
      }
      this.#codes.push(code);
    } else this.#putText(text);
  }

  /** The same of a text's bytes; not for a dictionary. */
  addBytes(text: Uint8Array): void {
    this.#begin(this.leaf.definition, 0);
    this.#values++;
    putText(this.#plain, text);
  }

  /** A whole number that a double holds, or a truth. */
  addNumber(value: number, repetition = 0): void {
    this.#begin(this.leaf.definition, repetition);
    this.#values++;
    const plain = this.#plain;
    reserve(plain, 8);
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    if (this.leaf.type === 'BOOLEAN') plain.bytes[plain.at++] = value;
    else {
      plain.view.setInt32(plain.at, value, true);
      plain.at += 4;
      if (this.leaf.type === 'INT32') return;
      plain.view.setInt32(plain.at, Math.floor(value / TWO_32), true);
      plain.at += 4;
    }
  }

  /** A value of eight bytes as two little-endian words. */
  addWords(low: number, high: number): void {
    this.#begin(this.leaf.definition, 0);
    this.#values++;
    const plain = this.#plain;
    reserve(plain, 8);
    plain.view.setInt32(plain.at, low, true);
    plain.view.setInt32(plain.at + 4, high, true);
    plain.at += 8;
    this.#min = Number.NaN;
  }

  /** Write the chunk of what was added since the last, which has a row at least, and begin anew. */
  appendTo(file: ByteSink): PlacedChunk {
    const { path, type } = this.leaf;
    const ends = [...this.#pageEnds, this.#here()];
    const pages = ends.map((end, page) => this.#pageOf(ends[page - 1] ?? NOTHING, end));
    const plain = this.#plain.bytes.subarray(0, this.#plain.at);
    const isBounded = type === 'INT64' && this.#min <= this.#max;
    const chunk = appendChunk(file, {
      column: { path, type, isIndexed: false },
      encoding: this.#hasDictionary ? 'RLE_DICTIONARY' : 'PLAIN',
      ...(this.#hasDictionary && { dictionary: { entries: this.#codeOf.size, plain } }),
      pages,
      bounds: isBounded ? { min_value: BigInt(this.#min), max_value: BigInt(this.#max) } : undefined,
      ascending: false,
    });
    this.#clear();
    return chunk;
  }

  /** An entry; a row begins where it repeats nothing. */
  #begin(definition: number, repetition: number): void {
    if (repetition === 0) this.#beginRow();
    if (this.leaf.definition > 0) {
      reserve(this.#definitions, 1);
      this.#definitions.bytes[this.#definitions.at] = definition;
    }
    // Counts the entries of columns that have no levels, too.
    this.#definitions.at++;
    if (this.leaf.repetition === 0) return;
    reserve(this.#repetitions, 1);
    this.#repetitions.bytes[this.#repetitions.at++] = repetition;
  }

  #beginRow(): void {
    const moreBytes = this.#hasDictionary ? 0 : this.#plain.at - this.#pageFrom.bytes;
    if (this.#definitions.at - this.#pageFrom.entries >= PAGE_ENTRIES || moreBytes >= PAGE_BYTES) {
      this.#pageFrom = this.#here();
      this.#pageEnds.push(this.#pageFrom);
    }
    this.#rows++;
  }

  #here(): PageEnd {
    const { at: entries } = this.#definitions;
    return { rows: this.#rows, entries, values: this.#values, bytes: this.#plain.at };
  }

  #putText(text: string): void {
    const plain = this.#plain;
    // A unit of UTF-16 takes three bytes at most.
    reserve(plain, 4 + 3 * text.length);
    putSized(plain, () => {
      plain.at += Buffer.from(plain.bytes.buffer).write(text, plain.at);
    });
  }

  #pageOf(from: PageEnd, to: PageEnd): PageBody {
    const { definition, repetition, type } = this.leaf;
    const entries = to.entries - from.entries;
    const values = to.values - from.values;
    const body = createByteSink(1_024);
    if (repetition > 0)
      putLevels(body, this.#repetitions.bytes.subarray(from.entries, to.entries), repetition);
    if (definition > 0)
      putLevels(body, this.#definitions.bytes.subarray(from.entries, to.entries), definition);
    const plain = this.#plain.bytes.subarray(from.bytes, to.bytes);
    if (this.#hasDictionary) {
      const width = widthOf(this.#codeOf.size - 1);
      reserve(body, 1);
      body.bytes[body.at++] = width;
      putPacked(body, this.#codes.slice(from.values, to.values), width);
    } else if (type === 'BOOLEAN') putBits(body, plain, 1);
    else putBytes(body, plain);
    return {
      ...{ row: from.rows, rows: to.rows - from.rows, values: entries, nulls: entries - values },
      bytes: body.bytes.subarray(0, body.at),
    };
  }

  /** Few chunks are as large as the largest, so its memory goes with it. */
  #clear(): void {
    this.#rows = this.#values = 0;
    this.#definitions.at = this.#repetitions.at = this.#plain.at = 0;
    if (this.#plain.bytes.length > PAGE_BYTES) this.#plain = createByteSink(1_024);
    this.#codes = [];
    this.#codeOf.clear();
    this.#pageEnds = [];
    this.#pageFrom = NOTHING;
    [this.#min, this.#max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  }
}

/** Bits of numbers up to this, and one at least: readers do not agree on none. */
const widthOf = (most: number) => Math.max(1, 32 - Math.clz32(Math.max(0, most)));

function putLevels(sink: ByteSink, levels: Uint8Array, most: number): void {
  reserve(sink, 16);
  putSized(sink, () => {
    if (levels.some((level) => level !== levels[0])) return putPacked(sink, levels, widthOf(most));
    putVarint(sink, levels.length * 2);
    sink.bytes[sink.at++] = levels[0]!;
  });
}

/** One run of the hybrid of RLE and bit-packing: bit-packed. */
function putPacked(sink: ByteSink, numbers: ArrayLike<number>, width: number): void {
  const groups = (numbers.length + 7) >> 3;
  reserve(sink, 16);
  putVarint(sink, groups * 2 + 1);
  const end = sink.at + groups * width;
  putBits(sink, numbers, width);
  reserve(sink, end - sink.at);
  sink.bytes.fill(0, sink.at, end);
  sink.at = end;
}

/** Numbers of at most 24 bits one behind the other, lowest bit first. */
function putBits(sink: ByteSink, numbers: ArrayLike<number>, width: number): void {
  reserve(sink, ((numbers.length * width) >> 3) + 1);
  const { bytes } = sink;
  let [at, held, bits] = [sink.at, 0, 0];
  for (let i = 0; i < numbers.length; i++) {
    held |= numbers[i]! << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      bytes[at++] = held & 255;
      held >>>= 8;
    }
  }
  if (bits > 0) bytes[at++] = held & 255;
  sink.at = at;
}
