/** A file of flat columns that is read a column at a time, in the same bounded memory as the service's Parquet. */
import { ColumnReader, createPageBudget } from './column-reader.ts';
import { parquetTooLarge } from './parquet-faults.ts';
import { MAX_PARQUET_ROWS, readParquetFooter } from './parquet-footer.ts';
import type { ColumnQuestion } from './parquet-schema.ts';

/** Rows that are read at a time. */
const STEP_ROWS = 4_096;
const TWO_32 = 2 ** 32;
/** Texts that share beginnings are more than their pages hold; a million receipts have some 80 MB in a column. */
const MAX_TEXT_BYTES = 256 << 20;

export interface FlatFile {
  readonly rows: number;
  /** What the footer says besides, by key. */
  readonly keyValues: ReadonlyMap<string, string>;
  /** Doubles, whole numbers exact up to 2^53, or times as they stand there; NaN where a row has none. Throws DataError for damaged pages. */
  numbers(name: string): Float64Array;
  /** Throws the same. */
  texts(name: string): Texts;
}

/** The texts of a column. Strings of a hundred thousand rows would cost more than all else: one is made when it is asked for. */
export interface Texts {
  /** Null: the row has none. */
  at(row: number): string | null;
  /** Rows that have one. */
  readonly count: number;
  /** Of a column with a dictionary: what its texts are; rows share them. */
  readonly dictionary: readonly string[];
}

/** `columns`: those that may be asked for, which must be there. Throws as `readParquetFooter`. */
export function openFlatFile(parquet: Uint8Array, columns: readonly ColumnQuestion[]): FlatFile {
  const footer = readParquetFooter(parquet, columns, { maxRows: MAX_PARQUET_ROWS });
  const { rows, keyValues } = footer;

  /** Call `onRows` for some rows at a time, of which `values` have a value. */
  function read(name: string, onRows: (reader: ColumnReader, from: number, step: number) => void): void {
    const index = columns.findIndex((column) => column.name === name);
    const reader = new ColumnReader(
      ...([parquet, footer.columns[index]!, Math.min(rows, STEP_ROWS), createPageBudget()] as const),
    );
    let from = 0;
    for (const [number, group] of footer.groups.entries()) {
      reader.openChunk(group.chunks[index]!, group.rows, number);
      for (const end = from + group.rows; from < end; ) {
        reader.openPage();
        const step = Math.min(end - from, STEP_ROWS, reader.rowsLeft);
        if (reader.take(step) > 0) onRows(reader, from, step);
        from += step;
      }
    }
  }

  return {
    rows,
    keyValues,
    numbers(name) {
      const numbers = new Float64Array(rows).fill(Number.NaN);
      read(name, ({ present, words, column }, from, step) => {
        const doubles = column.kind === 'double' ? new Float64Array(words.buffer) : undefined;
        let value = 0;
        for (let row = 0; row < step; row++) {
          if (present[row] !== 1) continue;
          const whole = words[2 * value + 1]! * TWO_32 + (words[2 * value]! >>> 0);
          numbers[from + row] = doubles === undefined ? whole : doubles[value]!;
          value++;
        }
      });
      return numbers;
    },
    texts(name) {
      const texts = new TextGatherer(rows);
      read(name, (reader, from, step) => texts.take(reader, from, step));
      return texts;
    },
  };
}

class TextGatherer implements Texts {
  readonly dictionary: string[] = [];
  count = 0;
  /** By row: 0 none; above it a text of the dictionary, below it one of those that stand behind each other. */
  readonly #places: Int32Array;
  #bytes = Buffer.alloc(0);
  /** Where each of those ends. */
  #ends = new Int32Array(0);
  #plain = 0;
  #lastDictionary: ColumnReader['dictionary'];
  #firstEntry = 0;

  constructor(rows: number) {
    this.#places = new Int32Array(rows);
  }

  at(row: number): string | null {
    const place = this.#places[row]!;
    if (place === 0) return null;
    if (place > 0) return this.dictionary[place - 1]!;
    return this.#bytes.toString('utf8', place === -1 ? 0 : this.#ends[-place - 2]!, this.#ends[-place - 1]!);
  }

  /** The texts that the reader has taken. */
  take(reader: ColumnReader, from: number, step: number): void {
    const { present, dictionary, spans } = reader;
    if (dictionary === undefined) {
      this.#takePlain(reader, from, step);
      return;
    }
    if (dictionary !== this.#lastDictionary) this.#addEntries(dictionary);
    let value = 0;
    for (let row = 0; row < step; row++)
      if (present[row] === 1) this.#places[from + row] = this.#firstEntry + spans.entries[value++]! + 1;
    this.count += value;
  }

  #addEntries(dictionary: NonNullable<ColumnReader['dictionary']>): void {
    const { bytes, count } = dictionary;
    const { starts, ends } = dictionary.spans;
    this.#lastDictionary = dictionary;
    this.#firstEntry = this.dictionary.length;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let entry = 0; entry < count; entry++)
      this.dictionary.push(text.toString('utf8', starts[entry]!, ends[entry]!));
  }

  #takePlain({ present, spans, textBytes }: ColumnReader, from: number, step: number): void {
    const { starts, ends } = spans;
    const before = this.#plain;
    if (before + step > this.#ends.length) {
      const wider = new Int32Array(Math.max(before + step, Math.min(this.#places.length, 2 * before)));
      wider.set(this.#ends);
      this.#ends = wider;
    }
    let value = 0;
    let end = before === 0 ? 0 : this.#ends[before - 1]!;
    const first = end;
    for (let row = 0; row < step; row++) {
      if (present[row] !== 1) continue;
      end += ends[value]! - starts[value]!;
      this.#ends[before + value++] = end;
      this.#places[from + row] = -before - value;
    }
    if (end > MAX_TEXT_BYTES) throw parquetTooLarge('a column', end, MAX_TEXT_BYTES, 'bytes of text');
    if (end > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes.subarray(0, first)], Math.max(end, 2 * first));
    for (let i = 0, at = first; i < value; i++) {
      this.#bytes.set(textBytes.subarray(starts[i]!, ends[i]!), at);
      at += ends[i]! - starts[i]!;
    }
    this.#plain += value;
    this.count += value;
  }
}
