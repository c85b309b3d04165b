/**
 * One column of a Parquet body, a page at a time. What is in memory of it: the page that is open, decompressed and as values, and
 * the dictionary; bytes are bounded, for all columns together, before they are decompressed.
 */
import { crc32 } from 'node:zlib';
import { PageTypes } from 'hyparquet/src/constants.js';
import { assertCodec, decompress } from './decompress.ts';
import { PageFault, readRuns } from './page-encodings.ts';
import { type PageHeader, RLE, readPageHeader } from './page-header.ts';
import type { DictionaryEntries, TextSpans } from './page-values.ts';
import { dictionaryEntries, isOfDictionary, readTexts, readWords, wrongEncoding } from './page-values.ts';
import { badParquet, damagedPage, parquetTooLarge } from './parquet-faults.ts';
import { type ColumnChunk, MAX_UNCOMPRESSED_BYTES } from './parquet-footer.ts';
import type { ParquetColumn } from './parquet-schema.ts';
import { ThriftReader } from './thrift-reader.ts';

/** Decompressed pages and dictionaries that all columns hold at a time. */
const MAX_OPEN_BYTES = 32 << 20;
/** Pages of a body: writers put thousands of rows into one. */
const MAX_PAGES = 65_536;
/** Rows of a page: some writers put a whole row group into one. */
const MAX_PAGE_ROWS = 1 << 20;
/** What an entry of a dictionary takes beside its bytes: where they are, and what is known of it. */
const ENTRY_BYTES = 16;
const UNCOMPRESSED = 'bytes uncompressed up to there';

interface PageBudget {
  pages: number;
  openBytes: number;
  uncompressedBytes: number;
}

export function createPageBudget(): PageBudget {
  return { pages: 0, openBytes: 0, uncompressedBytes: 0 };
}

/** The values of a page, without its nulls: `words` of 8-byte values, two each, or texts. */
export interface ColumnPage {
  readonly rows: number;
  /** By row: 1 where there is a value, 0 where there is null. */
  readonly present: Int32Array;
  readonly words: Int32Array<ArrayBuffer>;
  readonly texts: TextSpans;
  /** By value, where `texts` are those of a dictionary: its entry. */
  readonly entries: Int32Array | undefined;
}

const NO_WORDS = new Int32Array(0);
const NO_TEXTS: TextSpans = { bytes: new Uint8Array(0), starts: NO_WORDS, ends: NO_WORDS };
const NO_PAGE: ColumnPage = {
  ...{ rows: 0, present: NO_WORDS, words: NO_WORDS, texts: NO_TEXTS, entries: undefined },
};

export class ColumnReader {
  readonly column: ParquetColumn;
  /** The page that is open, and what has been taken of it. */
  page: ColumnPage = NO_PAGE;
  row = 0;
  value = 0;

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
  #dictionary: DictionaryEntries | undefined;

  constructor(body: Uint8Array, column: ParquetColumn, budget: PageBudget) {
    this.#body = body;
    this.column = column;
    this.#budget = budget;
    this.#isText = column.kind === 'text';
  }

  openChunk(chunk: ColumnChunk, rows: number, group: number): void {
    this.#where = `column '${this.column.name}' in row group ${group + 1}`;
    assertCodec(chunk.codec, this.#where);
    this.#chunk = chunk;
    this.#position = chunk.start;
    this.#chunkRows = rows;
    this.#pages = 0;
    this.#dictionary = undefined;
    this.#hold(0, 0);
  }

  /** Open pages until one has rows that have not been taken; how many. Throws DataError. */
  openPage(): number {
    try {
      while (this.row === this.page.rows) this.#nextPage();
    } catch (error) {
      if (error instanceof PageFault) throw badParquet(this.#place, error.message, 'a sound page');
      throw error;
    }
    return this.page.rows - this.row;
  }

  #nextPage(): void {
    if (this.#chunkRows === 0) throw new PageFault('no more pages');
    const header = this.#readHeader();
    const bytes = this.#body.subarray(this.#position, this.#position + header.compressedSize);
    this.#position += header.compressedSize;
    const type = PageTypes[header.type];
    if (type === 'INDEX_PAGE') return;
    const crc = header.crc >>> 0;
    const found = Number.isNaN(header.crc) ? crc : crc32(bytes);
    if (found !== crc) throw damagedPage(this.#place, bytes.length, found, crc);
    if (type === 'DICTIONARY_PAGE') this.#openDictionary(header, bytes);
    else if (type !== undefined) this.#openData(header, bytes, type === 'DATA_PAGE_V2');
    else throw new PageFault(`a page of kind ${header.type}`);
  }

  #readHeader(): PageHeader {
    this.#pages++;
    const budget = this.#budget;
    if (++budget.pages > MAX_PAGES)
      throw parquetTooLarge(this.#where, budget.pages, MAX_PAGES, 'pages up to there');
    const { end } = this.#chunk;
    const reader = new ThriftReader(this.#body, this.#position, end, this.#place);
    const header = readPageHeader(reader);
    this.#position = reader.position;
    if (!(header.compressedSize >= 0 && header.compressedSize <= end - this.#position))
      throw new PageFault(`${header.compressedSize} bytes, and ${end - this.#position} left of the chunk`);
    if (!(header.size >= 0)) throw new PageFault(`${header.size} bytes`);
    budget.uncompressedBytes += header.size;
    const { uncompressedBytes } = budget;
    if (uncompressedBytes > MAX_UNCOMPRESSED_BYTES)
      throw parquetTooLarge(this.#where, uncompressedBytes, MAX_UNCOMPRESSED_BYTES, UNCOMPRESSED);
    return header;
  }

  #openDictionary({ values, size }: PageHeader, bytes: Uint8Array): void {
    if (this.#dictionary !== undefined) throw new PageFault('a second dictionary');
    this.#hold(0, this.#heldBytes(size) + Math.max(0, values) * ENTRY_BYTES);
    const page = decompress(this.#chunk.codec, bytes, size, this.#place);
    this.#dictionary = dictionaryEntries(page, values, this.#isText);
  }

  #openData(header: PageHeader, bytes: Uint8Array, isVersion2: boolean): void {
    const { values: rows } = header;
    if (!(rows >= 0 && rows <= this.#chunkRows))
      throw new PageFault(`${rows} values, and ${this.#chunkRows} left in the row group`);
    if (rows > MAX_PAGE_ROWS) throw parquetTooLarge(this.#place, rows, MAX_PAGE_ROWS, 'rows in a page');
    // What the page before held is free from here on.
    this.page = NO_PAGE;
    this.#hold(this.#heldBytes(header.size), this.#dictionaryBytes);
    const { present, page, start } = isVersion2 ? this.#pageV2(header, bytes) : this.#pageV1(header, bytes);
    const values = present === undefined ? rows : countPresent(present);
    this.#chunkRows -= rows;
    this.row = this.value = 0;
    this.page = {
      ...{ rows, present: present ?? new Int32Array(rows).fill(1) },
      ...{ words: NO_WORDS, texts: NO_TEXTS, entries: undefined },
      ...this.#valuesOf(header, page, start, values),
    };
  }

  /** A page of nulls has nothing where the values would begin, not even the width of indexes. */
  #valuesOf(
    { encoding, values: maxCount }: PageHeader,
    page: Uint8Array,
    start: number,
    count: number,
  ): Partial<ColumnPage> {
    const dictionary = this.#dictionary;
    if (isOfDictionary(encoding)) {
      if (dictionary === undefined) throw new PageFault('indexes without a dictionary');
      if (count === 0) return {};
      if (start >= page.length) throw new PageFault('no indexes');
      const entries = readRuns(page, start + 1, page.length, page[start]!, count);
      for (let value = 0; value < count; value++)
        if (entries[value]! >= dictionary.count)
          throw new PageFault(`entry ${entries[value]} of a dictionary of ${dictionary.count}`);
      if (this.#isText) return { texts: dictionary.texts, entries };
      return { words: wordsOf(dictionary, entries) };
    }
    if (count === 0) return {};
    if (this.#isText) return { texts: readTexts(encoding, page, start, count, maxCount) };
    const isDouble = this.column.kind === 'double';
    return { words: readWords(encoding, page, start, count, maxCount, isDouble) };
  }

  #pageV1(header: PageHeader, bytes: Uint8Array) {
    const page = decompress(this.#chunk.codec, bytes, header.size, this.#place);
    if (!this.column.isOptional) return { present: undefined, page, start: 0 };
    if (header.levelEncoding !== RLE) throw wrongEncoding(header.levelEncoding);
    if (page.length < 4) throw new PageFault('no definition levels');
    const end = 4 + Buffer.from(page.buffer, page.byteOffset, 4).readUInt32LE(0);
    if (end > page.length) throw new PageFault('definition levels that are longer than their page');
    return { present: readRuns(page, 4, end, 1, header.values), page, start: end };
  }

  #pageV2({ definitionBytes, repetitionBytes, ...header }: PageHeader, bytes: Uint8Array) {
    const start = definitionBytes + repetitionBytes;
    if (!(definitionBytes >= 0 && repetitionBytes >= 0 && start <= bytes.length && start <= header.size))
      throw new PageFault(`levels of ${definitionBytes} and ${repetitionBytes} bytes`);
    const present = this.column.isOptional
      ? readRuns(bytes, repetitionBytes, start, 1, header.values)
      : undefined;
    const values = bytes.subarray(start);
    const codec = header.isCompressed ? this.#chunk.codec : 0;
    // A page without values may be left uncompressed, as nothing.
    const page = values.length === 0 ? values : decompress(codec, values, header.size - start, this.#place);
    return { present, page, start: 0 };
  }

  #heldBytes(size: number): number {
    return this.#chunk.codec === 0 ? 0 : size;
  }

  #hold(pageBytes: number, dictionaryBytes: number): void {
    const budget = this.#budget;
    budget.openBytes += pageBytes + dictionaryBytes - this.#pageBytes - this.#dictionaryBytes;
    [this.#pageBytes, this.#dictionaryBytes] = [pageBytes, dictionaryBytes];
    const what = 'bytes in pages that are open at once';
    if (budget.openBytes > MAX_OPEN_BYTES)
      throw parquetTooLarge(this.#place, budget.openBytes, MAX_OPEN_BYTES, what);
  }

  get #place(): string {
    return this.#pages === 0 ? this.#where : `page ${this.#pages} of ${this.#where}`;
  }
}

function wordsOf({ words }: DictionaryEntries, entries: Int32Array): Int32Array<ArrayBuffer> {
  const values = new Int32Array(2 * entries.length);
  for (let value = 0; value < entries.length; value++) {
    values[2 * value] = words[2 * entries[value]!]!;
    values[2 * value + 1] = words[2 * entries[value]! + 1]!;
  }
  return values;
}

function countPresent(present: Int32Array): number {
  let count = 0;
  for (let row = 0; row < present.length; row++) {
    const level = present[row]!;
    if (level > 1) throw new PageFault(`a definition level of ${level}`);
    count += level;
  }
  return count;
}
