import type { ColumnChunk, ColumnIndex, OffsetIndex, Statistics } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writePlain } from 'hyparquet-writer/src/plain.js';
import type { Column } from './columns.ts';

/**
 * The column chunk of a text that belongs to the row's series, encoded from the runs that sorted rows are, a few
 * hundred, instead of row by row: parquet-wasm looks every row's text up in a hash table, for a third of all the time
 * that encoding took. Page headers and texts are written by hyparquet-writer.
 *
 * Dictionary and pages are not compressed: together they are a hundredth of the row group.
 */

/** Rows of one series that follow each other, and its text. */
export interface TextRun {
  /** Null where the series has none. */
  readonly text: Uint8Array | null;
  readonly rows: number;
}

/** A column chunk; its offsets count from its first byte. */
export interface SeriesChunk {
  readonly bytes: Uint8Array;
  readonly chunk: ColumnChunk & { readonly meta_data: NonNullable<ColumnChunk['meta_data']> };
  readonly columnIndex: ColumnIndex | undefined;
  readonly offsetIndex: OffsetIndex;
}

/** As many as parquet-wasm puts into a page of the other columns. */
const PAGE_ROWS = 20_000;

/** Distinct texts in order of first use, and the runs with their places among them. */
function buildDictionary(runs: readonly TextRun[]): { texts: Uint8Array[]; entryRuns: EntryRun[] } {
  const texts: Uint8Array[] = [];
  const entryOf = new Map<string, number>();
  const place = (text: Uint8Array): number => {
    const key = Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1');
    const known = entryOf.get(key);
    if (known !== undefined) return known;
    entryOf.set(key, texts.length);
    return texts.push(text) - 1;
  };
  return {
    texts,
    entryRuns: runs.map(({ text, rows }) => ({ entry: text === null ? -1 : place(text), rows })),
  };
}

function dictionaryPage(writer: ByteWriter, texts: readonly Uint8Array[]): void {
  const body = new ByteWriter();
  writePlain(body, [...texts], 'BYTE_ARRAY', undefined);
  const bytes = body.getBytes();
  writePageHeader(writer, {
    type: 'DICTIONARY_PAGE',
    uncompressed_page_size: bytes.length,
    compressed_page_size: bytes.length,
    dictionary_page_header: { num_values: texts.length, encoding: 'PLAIN' },
  });
  writer.appendBytes(bytes);
}

/** Rows of one dictionary entry that follow each other; entry -1: null. */
interface EntryRun {
  readonly entry: number;
  readonly rows: number;
}

/** Runs of the RLE/bit-packing hybrid, each as its length and the value that repeats. */
function appendRuns(writer: ByteWriter, runs: readonly EntryRun[], bitWidth: number): void {
  for (const { entry, rows } of runs) {
    writer.appendVarInt(rows << 1);
    for (let bits = 0; bits < bitWidth; bits += 8) writer.appendUint8((entry >> bits) & 255);
  }
}

/** Definition levels and dictionary indices of a page. */
function dataPage(writer: ByteWriter, runs: readonly EntryRun[], required: boolean, bitWidth: number): void {
  const body = new ByteWriter();
  if (!required) {
    const levels = new ByteWriter();
    const isSet = runs.map(({ entry, rows }) => ({ entry: entry < 0 ? 0 : 1, rows }));
    appendRuns(levels, isSet, 1);
    body.appendUint32(levels.offset);
    body.appendBytes(levels.getBytes());
  }
  body.appendUint8(bitWidth);
  appendRuns(
    body,
    runs.filter(({ entry }) => entry >= 0),
    bitWidth,
  );
  const bytes = body.getBytes();
  writePageHeader(writer, {
    type: 'DATA_PAGE',
    uncompressed_page_size: bytes.length,
    compressed_page_size: bytes.length,
    data_page_header: {
      num_values: rowsOf(runs),
      encoding: 'RLE_DICTIONARY',
      definition_level_encoding: 'RLE',
      repetition_level_encoding: 'RLE',
    },
  });
  writer.appendBytes(bytes);
}

const rowsOf = (runs: readonly { rows: number }[]): number => runs.reduce((sum, { rows }) => sum + rows, 0);

/** Cut runs into pages of so many rows. */
function* pagesOf(runs: readonly EntryRun[]): Generator<EntryRun[]> {
  let page: EntryRun[] = [];
  let room = PAGE_ROWS;
  for (const { entry, rows } of runs) {
    for (let left = rows; left > 0; ) {
      const taken = Math.min(left, room);
      page.push({ entry, rows: taken });
      left -= taken;
      room -= taken;
      if (room > 0) continue;
      yield page;
      page = [];
      room = PAGE_ROWS;
    }
  }
  if (page.length > 0) yield page;
}

/**
 * Encode a column of type `series` from its runs, in the order of the rows; there is at least one. A column with
 * statistics has no nulls, and its texts ascend by their bytes.
 */
export function encodeSeriesChunk(column: Column, runs: readonly TextRun[]): SeriesChunk {
  const { texts, entryRuns } = buildDictionary(runs);
  const bitWidth = texts.length < 2 ? 1 : 32 - Math.clz32(texts.length - 1);
  const writer = new ByteWriter();
  dictionaryPage(writer, texts);
  const dataAt = writer.offset;
  const pages: Page[] = [];
  let row = 0;
  for (const page of pagesOf(entryRuns)) {
    const at = writer.offset;
    dataPage(writer, page, column.required, bitWidth);
    const [first, last] = [texts[page[0]!.entry], texts[page.at(-1)!.entry]];
    pages.push({ at, bytes: writer.offset - at, row, first, last });
    row += rowsOf(page);
  }
  const bytes = writer.getBytes();
  const meta: SeriesChunk['chunk']['meta_data'] = {
    type: 'BYTE_ARRAY',
    encodings: ['PLAIN', 'RLE', 'RLE_DICTIONARY'],
    path_in_schema: [column.name],
    codec: 'UNCOMPRESSED',
    num_values: BigInt(row),
    total_uncompressed_size: BigInt(bytes.length),
    total_compressed_size: BigInt(bytes.length),
    dictionary_page_offset: 0n,
    data_page_offset: BigInt(dataAt),
    encoding_stats: [
      { page_type: 'DICTIONARY_PAGE', encoding: 'PLAIN', count: 1 },
      { page_type: 'DATA_PAGE', encoding: 'RLE_DICTIONARY', count: pages.length },
    ],
    ...(column.statistics === 'none' ? {} : { statistics: chunkStatistics(pages) }),
  };
  return {
    bytes,
    chunk: { file_offset: 0n, meta_data: meta },
    columnIndex: column.statistics === 'page' ? columnIndexOf(pages) : undefined,
    offsetIndex: offsetIndexOf(pages),
  };
}

interface Page {
  /** From the first byte of the chunk. */
  readonly at: number;
  readonly bytes: number;
  /** Its first row. */
  readonly row: number;
  readonly first: Uint8Array | undefined;
  readonly last: Uint8Array | undefined;
}

function chunkStatistics(pages: readonly Page[]): Statistics {
  return {
    null_count: 0n,
    min_value: pages[0]!.first!,
    max_value: pages.at(-1)!.last!,
    is_min_value_exact: true,
    is_max_value_exact: true,
  };
}

function columnIndexOf(pages: readonly Page[]): ColumnIndex {
  return {
    null_pages: pages.map(() => false),
    min_values: pages.map(({ first }) => first!),
    max_values: pages.map(({ last }) => last!),
    boundary_order: 'ASCENDING',
    null_counts: pages.map(() => 0n),
  };
}

function offsetIndexOf(pages: readonly Page[]): OffsetIndex {
  return {
    page_locations: pages.map(({ at, bytes, row }) => ({
      offset: BigInt(at),
      compressed_page_size: bytes,
      first_row_index: BigInt(row),
    })),
  };
}
