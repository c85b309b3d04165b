import type { SchemaElement } from 'hyparquet';
import { BoundaryOrders } from 'hyparquet/src/constants.js';
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import type { ByteSink } from './byte-sink.ts';
import { beginIn, putBytes } from './byte-sink.ts';
import type { PlacedChunk } from './column-chunk.ts';
import type { Column } from './columns.ts';
import { CREATED_BY } from './columns.ts';
import { PARQUET_MAGIC } from './parquet-tail.ts';
import { rootElement, schemaElement } from './schema.ts';

/** Begin a file of one row group in this memory; where it becomes larger, it goes on in new memory. */
export function beginFile(file: ByteSink, memory = new ArrayBuffer(0)): void {
  beginIn(file, memory);
  putBytes(file, PARQUET_MAGIC);
}

/**
 * End it behind its chunks: page indexes, footer and magic. It is the begin of its memory, which the sink gives up, so
 * that both can be handed to another thread.
 */
export function endFile(
  file: ByteSink,
  rows: number,
  columns: readonly Column[],
  chunks: readonly PlacedChunk[],
): Uint8Array<ArrayBuffer> {
  const writer = new ByteWriter();
  const placed = chunks.map((chunk) => ({ ...chunk.chunk, ...appendIndexes(writer, file.at, chunk) }));
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
  // Whole values: at its default of 16 bytes the writer cuts the smallest string and rounds the largest.
  writeMetadata(
    writer,
    { version: 1, schema, num_rows, row_groups: [group], created_by: CREATED_BY, metadata_length: 0 },
    Number.POSITIVE_INFINITY,
  );
  putBytes(file, writer.getBytes());
  putBytes(file, PARQUET_MAGIC);
  const ended = file.bytes.subarray(0, file.at);
  beginIn(file, new ArrayBuffer(0));
  return ended;
}

/** Where the page indexes of a chunk are, once they are written. */
function appendIndexes(
  writer: ByteWriter,
  begin: number,
  { columnIndex, offsetIndex }: PlacedChunk,
): Partial<PlacedChunk['chunk']> {
  const append = (fields: object): [offset: bigint, length: number] => {
    const from = writer.offset;
    serializeTCompactProtocol(writer, fields as Parameters<typeof serializeTCompactProtocol>[1]);
    return [BigInt(begin + from), writer.offset - from];
  };
  const column =
    columnIndex &&
    append({
      field_1: columnIndex.null_pages,
      field_2: columnIndex.min_values,
      field_3: columnIndex.max_values,
      field_4: BoundaryOrders.indexOf(columnIndex.boundary_order),
      field_5: columnIndex.null_counts,
    });
  const [offset_index_offset, offset_index_length] = append({
    field_1: offsetIndex.page_locations.map((page) => ({
      field_1: page.offset,
      field_2: page.compressed_page_size,
      field_3: page.first_row_index,
    })),
  });
  return {
    ...(column && { column_index_offset: column[0], column_index_length: column[1] }),
    offset_index_offset,
    offset_index_length,
  };
}
