/** A file of flat columns that is read a column at a time, in the same bounded memory as the service's Parquet. */
import { ColumnReader, createPageBudget } from './column-reader.ts';
import type { TextSpans } from './page-values.ts';
import { parquetTooLarge } from './parquet-faults.ts';
import { MAX_PARQUET_ROWS, MAX_UNCOMPRESSED_BYTES, readParquetFooter } from './parquet-footer.ts';
import type { ColumnQuestion } from './parquet-schema.ts';

const TWO_32 = 2 ** 32;
/** Texts that share beginnings are more than their pages hold; a million receipts have some 80 MB in a column. */
const MAX_TEXT_BYTES = 256 << 20;

export type FlatFile = ReturnType<typeof openFlatFile>;

/** `columns`: those that may be asked for, which must be there. Throws as `readParquetFooter`. */
export function openFlatFile(parquet: Uint8Array, columns: readonly ColumnQuestion[]) {
  const maxBytes = columns.length * MAX_UNCOMPRESSED_BYTES;
  const footer = readParquetFooter(parquet, columns, MAX_PARQUET_ROWS, maxBytes);
  const { rows, keyValues } = footer;

  /** Open page after page of a column; `from`: the row that it begins with. */
  function read(name: string, onPage: (reader: ColumnReader, from: number) => void): void {
    const index = columns.findIndex((column) => column.name === name);
    const reader = new ColumnReader(parquet, footer.columns[index]!, createPageBudget());
    let from = 0;
    for (const [number, group] of footer.groups.entries()) {
      reader.openChunk(group.chunks[index]!, group.rows, number);
      for (const end = from + group.rows; from < end; from += reader.page.rows) {
        reader.openPage();
        onPage(reader, from);
        reader.row = reader.page.rows;
      }
    }
  }

  return {
    rows,
    keyValues,
    /** Doubles, whole numbers exact up to 2^53, or times as they stand there; NaN where a row has none. Throws DataError for damaged pages. */
    numbers(name: string): Float64Array {
      const numbers = new Float64Array(rows).fill(Number.NaN);
      read(name, ({ page: { present, words }, column }, from) => {
        const doubles = column.kind === 'double' ? new Float64Array(words.buffer) : undefined;
        let value = 0;
        for (let row = 0; row < present.length; row++) {
          if (present[row] === 0) continue;
          const whole = words[2 * value + 1]! * TWO_32 + (words[2 * value]! >>> 0);
          numbers[from + row] = doubles === undefined ? whole : doubles[value]!;
          value++;
        }
      });
      return numbers;
    },
    texts(name: string): Texts {
      const texts = new Texts(rows);
      read(name, (reader, from) => texts.take(reader.page, from));
      return texts;
    },
  };
}

/** The texts of a column. Strings of a hundred thousand rows would cost more than all else: one is made when it is asked for. */
export class Texts {
  count = 0;
  /** Of a column with a dictionary: what its texts are; rows share them. */
  readonly dictionary: string[] = [];
  /** By row: 0 none; above it a text of the dictionary, below it one of the row's page. */
  readonly #places: Int32Array;
  readonly #pageOf: Uint16Array;
  readonly #pages: TextSpans[] = [];
  #lastDictionary: TextSpans | undefined;
  #firstEntry = 1;
  #bytes = 0;

  constructor(rows: number) {
    this.#places = new Int32Array(rows);
    this.#pageOf = new Uint16Array(rows);
  }

  at(row: number): string | null {
    const place = this.#places[row]!;
    if (place === 0) return null;
    return place > 0 ? this.dictionary[place - 1]! : textAt(this.#pages[this.#pageOf[row]!]!, -1 - place);
  }

  take({ present, texts, entries }: ColumnReader['page'], from: number): void {
    if (entries === undefined) this.#addPage(texts);
    else if (texts !== this.#lastDictionary) this.#addDictionary(texts);
    this.#pageOf.fill(this.#pages.length - 1, from, from + present.length);
    let value = 0;
    for (let row = 0; row < present.length; row++) {
      if (present[row] === 0) continue;
      this.#places[from + row] = entries === undefined ? -1 - value : this.#firstEntry + entries[value]!;
      value++;
    }
    this.count += value;
  }

  #addPage(texts: TextSpans): void {
    this.#pages.push(texts);
    this.#bytes += texts.bytes.length;
    if (this.#bytes > MAX_TEXT_BYTES)
      throw parquetTooLarge('a column', this.#bytes, MAX_TEXT_BYTES, 'bytes of text');
  }

  #addDictionary(texts: TextSpans): void {
    this.#lastDictionary = texts;
    this.#firstEntry = this.dictionary.length + 1;
    for (let entry = 0; entry < texts.starts.length; entry++) this.dictionary.push(textAt(texts, entry));
  }
}

function textAt({ bytes, starts, ends }: TextSpans, at: number): string {
  const start = starts[at]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, ends[at]! - start).toString('utf8');
}
