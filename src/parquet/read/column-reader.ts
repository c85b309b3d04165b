/**
 * One column of a Parquet body, a few rows at a time. What is in memory of it: the page that is being read,
 * decompressed, and the dictionary; both are bounded, for all columns together, before they are decompressed.
 */
import { crc32 } from 'node:zlib';
import { assertCodec, decompress } from './decompress.ts';
import { PageFault, RunReader } from './page-encodings.ts';
import { PAGE, type PageHeader, RLE, readPageHeader } from './page-header.ts';
import {
  assertEntries,
  type DictionaryEntries,
  dictionaryEntries,
  dictionaryIndexes,
  isOfDictionary,
  TextSpans,
  type TextValues,
  textValues,
  type WordValues,
  wordValues,
  wrongEncoding,
} from './page-values.ts';
import { badParquet, damagedPage, parquetTooLarge } from './parquet-faults.ts';
import type { ColumnChunk } from './parquet-footer.ts';
import { MAX_UNCOMPRESSED_BYTES } from './parquet-footer.ts';
import type { ParquetColumn } from './parquet-schema.ts';
import { ThriftReader } from './thrift-reader.ts';

/** Decompressed pages and dictionaries that all columns hold at a time. */
const MAX_OPEN_BYTES = 32 << 20;
/** Pages of a body: writers put thousands of rows into one. */
const MAX_PAGES = 65_536;

/** What an entry of a dictionary takes beside its bytes: where they are, and what is known of it. */
const ENTRY_BYTES = 16;

/** What the columns of a body may take together. */
interface PageBudget {
  pages: number;
  openBytes: number;
  uncompressedBytes: number;
}

export function createPageBudget(): PageBudget {
  return { pages: 0, openBytes: 0, uncompressedBytes: 0 };
}

export class ColumnReader {
  readonly column: ParquetColumn;
  /** Of the rows last taken: 1 where there is a value, 0 where there is null. */
  readonly present: Int32Array;
  /** Values of 8 bytes that were among them, two words each. */
  readonly words: Int32Array;
  /** Texts that were among them: spans of `textBytes`. */
  readonly spans: TextSpans;
  /** The dictionary that the values last taken came from; their entries are in `spans`. */
  dictionary: DictionaryEntries | undefined;
  /** Rows left of the page that is open. */
  rowsLeft = 0;

  readonly #body: Uint8Array;
  readonly #budget: PageBudget;
  readonly #isText: boolean;
  #chunk: ColumnChunk = { codec: 0, start: 0, end: 0 };
  #where = '';
  #position = 0;
  /** Rows of the chunk that no page has been opened for. */
  #chunkRows = 0;
  #pages = 0;
  #pageBytes = 0;
  #dictionaryBytes = 0;
  #chunkDictionary: DictionaryEntries | undefined;
  #levels: RunReader | undefined;
  #indexes: RunReader | undefined;
  #wordValues: WordValues | undefined;
  #textValues: TextValues | undefined;

  /** `capacity`: most rows taken at a time. */
  constructor(body: Uint8Array, column: ParquetColumn, capacity: number, budget: PageBudget) {
    this.#body = body;
    this.column = column;
    this.#budget = budget;
    this.#isText = column.kind === 'text';
    this.present = new Int32Array(capacity).fill(1);
    this.words = new Int32Array(this.#isText ? 0 : 2 * capacity);
    this.spans = new TextSpans(capacity);
  }

  /** What the spans of the texts last taken are of. */
  get textBytes(): Uint8Array {
    return this.dictionary?.bytes ?? this.#textValues?.bytes ?? EMPTY;
  }

  /** Begin to read the chunk of a row group. */
  openChunk(chunk: ColumnChunk, rows: number, group: number): void {
    this.#where = `column '${this.column.name}' in row group ${group + 1}`;
    assertCodec(chunk.codec, this.#where);
    this.#chunk = chunk;
    this.#position = chunk.start;
    this.#chunkRows = rows;
    this.#pages = 0;
    this.#chunkDictionary = undefined;
    this.#hold(0, 0);
  }

  /** Open pages until one has rows. Throws DataError. */
  openPage(): void {
    while (this.rowsLeft === 0) this.#guarded(() => this.#nextPage());
  }

  /** Take the next rows of the page that is open, at most `rowsLeft`; resolves to how many have values. */
  take(rows: number): number {
    let values = rows;
    this.#guarded(() => {
      if (this.#levels !== undefined) {
        this.#levels.read(this.present, rows);
        values = countPresent(this.present, rows);
      }
      this.#readValues(values);
    });
    this.rowsLeft -= rows;
    return values;
  }

  #readValues(values: number): void {
    const { spans, words } = this;
    if (this.#indexes !== undefined) {
      const dictionary = this.#chunkDictionary!;
      this.#indexes.read(spans.entries, values);
      assertEntries(spans.entries, values, dictionary.count);
      this.dictionary = dictionary;
      if (this.#isText) return;
      for (let value = 0; value < values; value++) {
        const entry = 2 * spans.entries[value]!;
        words[2 * value] = dictionary.words[entry]!;
        words[2 * value + 1] = dictionary.words[entry + 1]!;
      }
      return;
    }
    this.dictionary = undefined;
    this.#wordValues?.read(words, values);
    this.#textValues?.read(values, spans);
  }

  #nextPage(): void {
    if (this.#chunkRows === 0) throw new PageFault('no more pages');
    const header = this.#readHeader();
    if (header.kind === PAGE.index) {
      this.#position += header.compressedSize;
      return;
    }
    const bytes = this.#body.subarray(this.#position, this.#position + header.compressedSize);
    this.#position += header.compressedSize;
    if (header.crc !== undefined) this.#assertSound(bytes, header.crc);
    if (header.kind === PAGE.dictionary) this.#openDictionary(header, bytes);
    else if (header.kind === PAGE.data || header.kind === PAGE.dataV2) this.#openData(header, bytes);
    else throw new PageFault(`a page of kind ${header.kind}`);
  }

  #readHeader(): PageHeader {
    this.#pages++;
    if (++this.#budget.pages > MAX_PAGES)
      throw parquetTooLarge(this.#where, this.#budget.pages, MAX_PAGES, 'pages up to there');
    const { end } = this.#chunk;
    const reader = new ThriftReader(this.#body, this.#position, end, `page ${this.#pages} of ${this.#where}`);
    const header = readPageHeader(reader);
    this.#position = reader.position;
    if (!(header.compressedSize >= 0 && header.compressedSize <= end - this.#position))
      throw new PageFault(`${header.compressedSize} bytes, and ${end - this.#position} left of the chunk`);
    if (!(header.size >= 0)) throw new PageFault(`${header.size} bytes`);
    this.#budget.uncompressedBytes += header.size;
    if (this.#budget.uncompressedBytes > MAX_UNCOMPRESSED_BYTES)
      throw parquetTooLarge(
        ...([this.#where, this.#budget.uncompressedBytes, MAX_UNCOMPRESSED_BYTES] as const),
        'bytes uncompressed up to there',
      );
    return header;
  }

  #assertSound(bytes: Uint8Array, crc: number): void {
    const found = crc32(bytes);
    if (found !== crc) throw damagedPage(this.#place, bytes.length, found, crc);
  }

  #openDictionary({ values, size }: PageHeader, bytes: Uint8Array): void {
    if (this.#chunkDictionary !== undefined) throw new PageFault('a second dictionary');
    this.#hold(0, this.#heldBytes(size) + Math.max(0, values) * ENTRY_BYTES);
    const page = decompress(this.#chunk.codec, bytes, size, this.#place);
    this.#chunkDictionary = dictionaryEntries(page, values, this.#isText);
  }

  #openData(header: PageHeader, bytes: Uint8Array): void {
    if (!(header.values >= 0 && header.values <= this.#chunkRows))
      throw new PageFault(`${header.values} values, and ${this.#chunkRows} left in the row group`);
    // What the page before held is free from here on.
    this.#levels = this.#indexes = this.#wordValues = this.#textValues = undefined;
    this.#hold(this.#heldBytes(header.size), this.#dictionaryBytes);
    const { page, start } =
      header.kind === PAGE.data ? this.#pageV1(header, bytes) : this.#pageV2(header, bytes);
    this.#chunkRows -= header.values;
    this.rowsLeft = header.values;
    if (isOfDictionary(header.encoding)) {
      if (this.#chunkDictionary === undefined) throw new PageFault('indexes without a dictionary');
      // A page of nulls has no indexes, not even their width.
      this.#indexes = start < page.length ? dictionaryIndexes(page, start) : EMPTY_INDEXES;
    } else if (this.#isText) this.#textValues = lazyTexts(header, page, start);
    else this.#wordValues = lazyWords(header, page, start, this.column.kind === 'double');
  }

  #pageV1(header: PageHeader, bytes: Uint8Array): { page: Uint8Array; start: number } {
    const page = decompress(this.#chunk.codec, bytes, header.size, this.#place);
    if (!this.column.isOptional) return { page, start: 0 };
    if (header.levelEncoding !== RLE) throw wrongEncoding(header.levelEncoding);
    if (page.length < 4) throw new PageFault('no definition levels');
    const end = 4 + Buffer.from(page.buffer, page.byteOffset, 4).readUInt32LE(0);
    if (end > page.length) throw new PageFault('definition levels that are longer than their page');
    this.#levels = new RunReader(page, 4, end, 1);
    return { page, start: end };
  }

  #pageV2(header: PageHeader, bytes: Uint8Array): { page: Uint8Array; start: number } {
    const { definitionBytes, repetitionBytes, size, isCompressed } = header;
    const levelBytes = definitionBytes + repetitionBytes;
    if (!(definitionBytes >= 0 && repetitionBytes >= 0 && levelBytes <= bytes.length && levelBytes <= size))
      throw new PageFault(`levels of ${definitionBytes} and ${repetitionBytes} bytes`);
    this.#levels = this.column.isOptional ? new RunReader(bytes, repetitionBytes, levelBytes, 1) : undefined;
    const values = bytes.subarray(levelBytes);
    const codec = isCompressed ? this.#chunk.codec : 0;
    // A page without values may be left uncompressed, as nothing.
    const page = values.length === 0 ? values : decompress(codec, values, size - levelBytes, this.#place);
    return { page, start: 0 };
  }

  /** Bytes that a page takes beside the body. */
  #heldBytes(size: number): number {
    return this.#chunk.codec === 0 ? 0 : size;
  }

  #hold(pageBytes: number, dictionaryBytes: number): void {
    const budget = this.#budget;
    budget.openBytes += pageBytes + dictionaryBytes - this.#pageBytes - this.#dictionaryBytes;
    [this.#pageBytes, this.#dictionaryBytes] = [pageBytes, dictionaryBytes];
    if (budget.openBytes > MAX_OPEN_BYTES)
      throw parquetTooLarge(
        this.#place,
        budget.openBytes,
        MAX_OPEN_BYTES,
        'bytes in pages that are open at once',
      );
  }

  get #place(): string {
    return this.#pages === 0 ? this.#where : `page ${this.#pages} of ${this.#where}`;
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (error instanceof PageFault) throw badParquet(this.#place, error.message, 'a sound page');
      throw error;
    }
  }
}

const EMPTY = new Uint8Array(0);
/** Fails at the first value. */
const EMPTY_INDEXES = new RunReader(EMPTY, 0, 0, 1);

/** A page of nulls has nothing where the values would begin; so that is read when the first value is. */
function lazyWords(header: PageHeader, page: Uint8Array, start: number, isDouble: boolean): WordValues {
  let values: WordValues | undefined;
  return {
    read(words, count) {
      if (count === 0) return;
      values ??= wordValues(header.encoding, page, start, header.values, isDouble);
      values.read(words, count);
    },
  };
}

function lazyTexts(header: PageHeader, page: Uint8Array, start: number): TextValues {
  let values: TextValues | undefined;
  return {
    get bytes() {
      return values?.bytes ?? page;
    },
    read(count, spans) {
      if (count === 0) return;
      values ??= textValues(header.encoding, page, start, header.values);
      values.read(count, spans);
    },
  };
}

function countPresent(present: Int32Array, rows: number): number {
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const level = present[row]!;
    if (level > 1) throw new PageFault(`a definition level of ${level}`);
    count += level;
  }
  return count;
}
