import type { ColumnChunk, ColumnIndex, Encoding, OffsetIndex, SchemaElement, Statistics } from 'hyparquet';
import { type ByteSink, createByteSink, putBytes } from './byte-sink.ts';
import { type ChunkColumn, type Column, CREATED_BY, rootElement, schemaElement } from './columns.ts';
import type { ChunkPages, PackedPages } from './page-packing.ts';
import { asItIs, discard, discardPacked, packerOf } from './page-packing.ts';
import { PARQUET_MAGIC, putColumnIndex, putFooter, putOffsetIndex, putPageHeader } from './parquet-thrift.ts';

/** A column chunk in its place, as the footer describes it; offsets count from the first byte of the file. */
export interface PlacedChunk {
  readonly chunk: ColumnChunk & { readonly meta_data: NonNullable<ColumnChunk['meta_data']> };
  readonly columnIndex: ColumnIndex | undefined;
  readonly offsetIndex: OffsetIndex;
}

export interface PageBody {
  readonly row: number;
  readonly rows: number;
  /** Entries of its levels, where a row may have several; else its rows. */
  readonly values?: number;
  readonly nulls: number;
  readonly bytes: Uint8Array;
  /** As the column index has them; undefined where the page has none. */
  readonly min?: Uint8Array | undefined;
  readonly max?: Uint8Array | undefined;
}

export interface ChunkBody extends Omit<ChunkPages, 'packed'> {
  readonly column: ChunkColumn;
  readonly pages: readonly PageBody[];
  readonly bounds?: Pick<Statistics, 'min_value' | 'max_value'> | undefined;
  readonly ascending: boolean;
  /** What was compressed before, by whoever chose between encodings. */
  readonly packed?: PackedPages;
}

/** Write a column chunk behind what the file holds. There is a page at least. */
export function appendChunk(file: ByteSink, body: ChunkBody): PlacedChunk {
  const { column, encoding, dictionary, pages, bounds } = body;
  const chunkAt = file.at;
  const packed: PackedPages = body.packed ?? new Map();
  const pack = packerOf({ ...body, packed });
  let uncompressedBytes = 0;
  const append = (type: 'DATA_PAGE' | 'DICTIONARY_PAGE', bytes: Uint8Array, values: number, as: Encoding) => {
    const at = file.at;
    const packed = pack(bytes);
    putPageHeader(file, type, bytes.length, packed, values, as);
    uncompressedBytes += file.at - at + bytes.length;
    putBytes(file, packed);
    if (packed !== bytes) discard(packed);
    return at;
  };
  if (dictionary !== undefined) {
    const { plain, entries } = dictionary;
    append('DICTIONARY_PAGE', plain, entries, 'PLAIN');
  }
  const dataAt = file.at;
  const places = pages.map(({ bytes, row, rows, values = rows }) => {
    const at = append('DATA_PAGE', bytes, values, encoding);
    return { offset: BigInt(at), compressed_page_size: file.at - at, first_row_index: BigInt(row) };
  });
  discardPacked(packed);
  const meta_data: PlacedChunk['chunk']['meta_data'] = {
    type: column.type,
    encodings: dictionary === undefined ? ['RLE', encoding] : ['PLAIN', 'RLE', encoding],
    path_in_schema: [...column.path],
    codec: pack === asItIs ? 'UNCOMPRESSED' : 'ZSTD',
    num_values: BigInt(pages.reduce((sum, { rows, values = rows }) => sum + values, 0)),
    total_uncompressed_size: BigInt(uncompressedBytes),
    total_compressed_size: BigInt(file.at - chunkAt),
    ...(dictionary && { dictionary_page_offset: BigInt(chunkAt) }),
    data_page_offset: BigInt(dataAt),
    statistics: {
      null_count: BigInt(pages.reduce((sum, page) => sum + page.nulls, 0)),
      ...(bounds && { ...bounds, is_min_value_exact: true, is_max_value_exact: true }),
    },
    encoding_stats: [
      ...(dictionary === undefined
        ? []
        : [{ page_type: 'DICTIONARY_PAGE' as const, encoding: 'PLAIN' as const, count: 1 }]),
      { page_type: 'DATA_PAGE', encoding, count: pages.length },
    ],
  };
  return {
    chunk: { file_offset: 0n, meta_data },
    columnIndex: column.isIndexed ? columnIndexOf(body) : undefined,
    offsetIndex: { page_locations: places },
  };
}

/** A chunk whose bytes are so many further back in the file. */
export function shiftChunk(chunk: ColumnChunk, bytes: bigint): void {
  // 0 says that no metadata is written beside the chunk: it is no offset, and stays.
  if (chunk.file_offset !== 0n) chunk.file_offset += bytes;
  const { meta_data: meta } = chunk;
  if (meta === undefined) return;
  meta.data_page_offset += bytes;
  if (meta.dictionary_page_offset !== undefined) meta.dictionary_page_offset += bytes;
}

const NOTHING = new Uint8Array(0);

function columnIndexOf({ pages, ascending }: ChunkBody): ColumnIndex {
  return {
    null_pages: pages.map(({ rows, nulls }) => rows === nulls),
    min_values: pages.map(({ min = NOTHING }) => min),
    max_values: pages.map(({ max = NOTHING }) => max),
    boundary_order: ascending ? 'ASCENDING' : 'UNORDERED',
    null_counts: pages.map(({ nulls }) => BigInt(nulls)),
  };
}

/** Memory of larger files is given up: one huge row group does not keep as much for all others. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

export function beginFile(file: ByteSink): void {
  file.at = 0;
  putBytes(file, PARQUET_MAGIC);
}

/** End it behind its chunks: page indexes, footer and magic. What comes back has memory of its own, the sink's is used again. */
export function endFile(
  file: ByteSink,
  rows: number,
  columns: readonly Column[],
  chunks: readonly PlacedChunk[],
): Uint8Array<ArrayBuffer> {
  const placed = chunks.map((chunk) => ({ ...chunk.chunk, ...appendIndexes(file, chunk) }));
  const sum = (field: 'total_compressed_size' | 'total_uncompressed_size') =>
    placed.reduce((total, { meta_data: meta }) => total + meta[field], 0n);
  const group = {
    columns: placed,
    num_rows: BigInt(rows),
    total_byte_size: sum('total_uncompressed_size'),
    total_compressed_size: sum('total_compressed_size'),
  };
  const schema: SchemaElement[] = [rootElement(columns), ...columns.map(schemaElement)];
  const { num_rows } = group;
  putFooter(file, { version: 1, schema, num_rows, row_groups: [group], created_by: CREATED_BY });
  const ended = file.bytes.slice(0, file.at);
  if (file.bytes.length > MAX_KEPT_BYTES) Object.assign(file, createByteSink());
  return ended;
}

function appendIndexes(
  file: ByteSink,
  { columnIndex, offsetIndex }: PlacedChunk,
): Partial<PlacedChunk['chunk']> {
  const columnIndexAt = file.at;
  if (columnIndex !== undefined) putColumnIndex(file, columnIndex);
  const offsetIndexAt = file.at;
  putOffsetIndex(file, offsetIndex);
  return {
    ...(columnIndex && {
      column_index_offset: BigInt(columnIndexAt),
      column_index_length: offsetIndexAt - columnIndexAt,
    }),
    offset_index_offset: BigInt(offsetIndexAt),
    offset_index_length: file.at - offsetIndexAt,
  };
}
