import type { SchemaElement } from 'hyparquet';
import type { ByteSink } from './byte-sink.ts';
import { createByteSink, putBytes } from './byte-sink.ts';
import type { PlacedChunk } from './column-chunk.ts';
import type { Column } from './columns.ts';
import { CREATED_BY, rootElement, schemaElement } from './columns.ts';
import { PARQUET_MAGIC, putColumnIndex, putFooter, putOffsetIndex } from './parquet-thrift.ts';

/** Memory of larger files is given up: one huge row group does not keep as much for all others. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** Begin a file of one row group. */
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

/** Where the page indexes of a chunk are, once they are written. */
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
