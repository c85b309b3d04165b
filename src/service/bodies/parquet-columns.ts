/**
 * The five columns of the contract's Parquet row, filled reading by reading: bodies of data pages as the format wants
 * them (values that are set one after the other, which rows have one as bits), so that sealing a row group only packs
 * and compresses. Pages are of version 1 and every column is optional, as most writers make them.
 */
import { ByteWriter } from 'hyparquet-writer';
import type { ColumnBatch } from '../../core/model/index.ts';
import { JSON_TEXT, jsonTextAt, LONG, MICROS_PER_MILLI } from '../../core/model/index.ts';
import type { Work } from '../turns.ts';
import type { EncodedColumn } from './parquet-pages.ts';
import { dataPage, Levels, packBits, pageOf } from './parquet-pages.ts';

/** Rows of a row group: a client has its first bytes after so many readings, and memory is bounded by them. */
export const ROW_GROUP_ROWS = 65_536;
/** A row group ends early when its JSON texts have so many bytes. */
const MAX_JSON_BYTES = 8 * 1024 * 1024;
const LOW_WORDS = 2 ** 32;

/** Fills one row group after the other, always in the same memory. */
export class RowGroupColumns {
  /** Id of each series, and its place among the distinct ids met so far; -1 before it is met. */
  readonly #ids: readonly string[];
  readonly #placeOfCode: Int32Array;
  readonly #places = new Map<string, number>();
  /** By place: the id in plain encoding. */
  readonly #texts: Uint8Array[] = [];
  /** The row group's dictionary: entry + 1 of each place, 0 where it has none yet; and the places in it. */
  readonly #entryOfPlace: Int32Array;
  #dictionary: number[] = [];
  readonly #entries = new Int32Array(ROW_GROUP_ROWS);
  readonly #times = new Int32Array(2 * ROW_GROUP_ROWS);
  readonly #longs = new Int32Array(2 * ROW_GROUP_ROWS);
  readonly #doubles = new Int32Array(2 * ROW_GROUP_ROWS);
  #json = new ByteWriter(64 * 1024);
  readonly #all = new Levels(ROW_GROUP_ROWS);
  readonly #longLevels = new Levels(ROW_GROUP_ROWS);
  readonly #doubleLevels = new Levels(ROW_GROUP_ROWS);
  readonly #jsonLevels = new Levels(ROW_GROUP_ROWS);
  #rows = 0;

  /** `ids[code]` is how the series of that code is answered. */
  constructor(ids: readonly string[]) {
    this.#ids = ids;
    this.#placeOfCode = new Int32Array(ids.length).fill(-1);
    this.#entryOfPlace = new Int32Array(ids.length);
  }

  get rows(): number {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#rows === ROW_GROUP_ROWS || this.#json.offset >= MAX_JSON_BYTES;
  }

  /** Take rows of the batch from `from` on, at most `most`, until the row group is full; the first row not taken. */
  add(batch: ColumnBatch, from: number, most: number): number {
    const to = Math.min(batch.rows, from + most);
    let row = from;
    for (; row < to && !this.isFull; row++) this.#addRow(batch, row);
    return row;
  }

  #addRow({ timestampMicros, seriesCodes, kinds, words, jsonText }: ColumnBatch, row: number): void {
    const at = this.#rows++;
    const millis = Math.floor(timestampMicros[row]! / MICROS_PER_MILLI);
    const high = Math.floor(millis / LOW_WORDS);
    this.#times[2 * at] = millis - high * LOW_WORDS;
    this.#times[2 * at + 1] = high;
    this.#all.set++;
    this.#entries[at] = this.#entryOf(seriesCodes[row]!);
    const kind = kinds[row]!;
    if (kind === JSON_TEXT) {
      this.#jsonLevels.add(at);
      const text = jsonTextAt(jsonText, words[2 * row]!);
      this.#json.appendUint32(text.length);
      this.#json.appendBytes(text);
      return;
    }
    const [levels, values] =
      kind === LONG ? [this.#longLevels, this.#longs] : [this.#doubleLevels, this.#doubles];
    const place = 2 * levels.set;
    values[place] = words[2 * row]!;
    values[place + 1] = words[2 * row + 1]!;
    levels.add(at);
  }

  #entryOf(code: number): number {
    let place = this.#placeOfCode[code]!;
    if (place < 0) place = this.#placeOf(code);
    const known = this.#entryOfPlace[place]!;
    if (known !== 0) return known - 1;
    this.#entryOfPlace[place] = this.#dictionary.push(place);
    return this.#dictionary.length - 1;
  }

  /** Series may share an id: a dictionary has it once. */
  #placeOf(code: number): number {
    const id = this.#ids[code]!;
    let place = this.#places.get(id);
    if (place === undefined) {
      place = this.#texts.push(plainText(id)) - 1;
      this.#places.set(id, place);
    }
    this.#placeOfCode[code] = place;
    return place;
  }

  /** The columns of the rows so far, in the schema's order; what is added next begins a new row group. */
  async seal(work: Work): Promise<EncodedColumn[]> {
    const rows = this.#rows;
    const columns = [
      await this.#numbers(this.#times, this.#all, work),
      await this.#idColumn(work),
      await this.#numbers(this.#longs, this.#longLevels, work),
      await this.#numbers(this.#doubles, this.#doubleLevels, work),
      await dataPage(this.#json.getBytes(), 'PLAIN', this.#jsonLevels, rows, work),
    ];
    const times = new Uint8Array(this.#times.buffer.slice(0, rows * 8));
    columns[0] = { ...columns[0]!, range: [times.subarray(0, 8), times.subarray(-8)] };
    this.#clear();
    return columns;
  }

  #numbers(values: Int32Array, levels: Levels, work: Work): Promise<EncodedColumn> {
    return dataPage(bytesOf(values, levels.set * 2), 'PLAIN', levels, this.#rows, work);
  }

  /** A dictionary of the ids that occur, and places in it. */
  async #idColumn(work: Work): Promise<EncodedColumn> {
    const texts = new ByteWriter();
    for (const place of this.#dictionary) texts.appendBytes(this.#texts[place]!);
    const dictionary = await pageOf(texts.getBytes(), (sizes) => ({
      type: 'DICTIONARY_PAGE' as const,
      ...sizes,
      dictionary_page_header: { num_values: this.#dictionary.length, encoding: 'PLAIN' as const },
    }));
    const packed = packBits(this.#entries, this.#rows, this.#dictionary.length);
    const data = await dataPage(packed, 'RLE_DICTIONARY', this.#all, this.#rows, work);
    return {
      ...data,
      pages: [...dictionary.pages, ...data.pages],
      bytes: dictionary.bytes + data.bytes,
      uncompressedBytes: dictionary.uncompressedBytes + data.uncompressedBytes,
      dataPageAt: dictionary.bytes,
    };
  }

  #clear(): void {
    for (const place of this.#dictionary) this.#entryOfPlace[place] = 0;
    this.#dictionary = [];
    // The text's memory goes with its row group: few are as large as the largest.
    this.#json = new ByteWriter(64 * 1024);
    for (const levels of [this.#all, this.#longLevels, this.#doubleLevels, this.#jsonLevels]) levels.clear();
    this.#rows = 0;
  }
}

function bytesOf(words: Int32Array, count: number): Uint8Array {
  return new Uint8Array(words.buffer, 0, count * 4);
}

/** A text behind its length, as plain encoding has it. */
function plainText(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const out = Buffer.alloc(4 + bytes.length);
  out.writeUInt32LE(bytes.length);
  bytes.copy(out, 4);
  return out;
}
