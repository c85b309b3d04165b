import type { ColumnChunk, FileMetaData, SchemaElement } from 'hyparquet';
import { BoundaryOrders } from 'hyparquet/src/constants.js';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import type { Column } from './columns.ts';
import { MAGIC_BYTES, PARQUET_MAGIC, splitParquetFile } from './parquet-tail.ts';
import type { SeriesChunk } from './series-chunk.ts';

/** A text column that was encoded on its own. */
interface InsertedColumn {
  readonly column: Column;
  readonly encoded: SeriesChunk;
}

/**
 * Add columns to a file of one row group. Their chunks go behind those that are there, whose bytes and offsets stay;
 * `order` names all columns as the schema is to list them. Throws FatalError `encode-check-failed` when the file is no
 * whole Parquet file.
 */
export function insertColumns(
  file: Uint8Array,
  inserted: readonly InsertedColumn[],
  order: readonly Column[],
): Uint8Array<ArrayBuffer> {
  const { body, tail, metadata } = splitParquetFile(file);
  const tailAt = MAGIC_BYTES + body.length;
  let chunkAt = tailAt;
  const placed = inserted.map((insertion) => {
    const at = BigInt(chunkAt);
    chunkAt += insertion.encoded.bytes.length;
    return { ...insertion, at, chunk: movedChunk(insertion.encoded, at) };
  });
  const writer = new ByteWriter();
  for (const chunk of metadata.row_groups[0]!.columns) copyIndexes(writer, chunkAt, chunk, tail, tailAt);
  for (const column of placed) appendIndexes(writer, chunkAt, column);
  writeMetadata(writer, joined(metadata, placed, order), Number.POSITIVE_INFINITY);
  writer.appendBytes(PARQUET_MAGIC);
  return concatenated([
    PARQUET_MAGIC,
    body,
    ...inserted.map(({ encoded }) => encoded.bytes),
    writer.getBytes(),
  ]);
}

interface PlacedColumn extends InsertedColumn {
  /** Of its first byte, in the file. */
  readonly at: bigint;
  readonly chunk: ColumnChunk;
}

function movedChunk({ chunk }: SeriesChunk, at: bigint): ColumnChunk {
  const { dictionary_page_offset: dictionary = 0n, data_page_offset: data, ...meta } = chunk.meta_data;
  return {
    ...chunk,
    meta_data: { ...meta, dictionary_page_offset: dictionary + at, data_page_offset: data + at },
  };
}

/** Copy a chunk's page indexes as they are, and note where they are now. */
function copyIndexes(
  writer: ByteWriter,
  begin: number,
  chunk: ColumnChunk,
  tail: Uint8Array,
  tailAt: number,
): void {
  const copy = (offset: bigint, length = 0): bigint => {
    const at = BigInt(begin + writer.offset);
    const from = Number(offset) - tailAt;
    writer.appendBytes(tail.subarray(from, from + length));
    return at;
  };
  if (chunk.column_index_offset !== undefined)
    chunk.column_index_offset = copy(chunk.column_index_offset, chunk.column_index_length);
  if (chunk.offset_index_offset !== undefined)
    chunk.offset_index_offset = copy(chunk.offset_index_offset, chunk.offset_index_length);
}

function appendIndexes(writer: ByteWriter, begin: number, { encoded, at, chunk }: PlacedColumn): void {
  const { columnIndex, offsetIndex } = encoded;
  const append = (fields: object): [offset: bigint, length: number] => {
    const from = writer.offset;
    serializeTCompactProtocol(writer, fields as Parameters<typeof serializeTCompactProtocol>[1]);
    return [BigInt(begin + from), writer.offset - from];
  };
  if (columnIndex !== undefined) {
    [chunk.column_index_offset, chunk.column_index_length] = append({
      field_1: columnIndex.null_pages,
      field_2: columnIndex.min_values,
      field_3: columnIndex.max_values,
      field_4: BoundaryOrders.indexOf(columnIndex.boundary_order),
      field_5: columnIndex.null_counts,
    });
  }
  [chunk.offset_index_offset, chunk.offset_index_length] = append({
    field_1: offsetIndex.page_locations.map((page) => ({
      field_1: page.offset + at,
      field_2: page.compressed_page_size,
      field_3: page.first_row_index,
    })),
  });
}

/** The metadata of all columns; the Arrow schema that the encoder leaves knows only its own, and goes. */
function joined(
  metadata: FileMetaData,
  placed: readonly PlacedColumn[],
  order: readonly Column[],
): FileMetaData {
  const [root, ...elements] = metadata.schema as [SchemaElement, ...SchemaElement[]];
  const [group] = metadata.row_groups as [FileMetaData['row_groups'][0]];
  const elementOf = new Map(elements.map((element) => [element.name, element]));
  const chunkOf = new Map(group.columns.map((chunk) => [chunk.meta_data!.path_in_schema[0]!, chunk]));
  let bytes = 0n;
  for (const { column, chunk } of placed) {
    elementOf.set(column.name, schemaElement(column));
    chunkOf.set(column.name, chunk);
    bytes += chunk.meta_data!.total_compressed_size;
  }
  const { key_value_metadata: _, ...rest } = metadata;
  return {
    ...rest,
    schema: [{ ...root, num_children: order.length }, ...order.map(({ name }) => elementOf.get(name)!)],
    row_groups: [
      {
        ...group,
        columns: order.map(({ name }) => chunkOf.get(name)!),
        total_byte_size: group.total_byte_size + bytes,
        ...(group.total_compressed_size === undefined
          ? {}
          : { total_compressed_size: group.total_compressed_size + bytes }),
      },
    ],
  };
}

/** A column as Parquet's schema describes it. */
export function schemaElement({ name, type, required }: Column): SchemaElement {
  const repetition_type = required ? 'REQUIRED' : 'OPTIONAL';
  switch (type) {
    case 'long':
      return { name, type: 'INT64', repetition_type };
    case 'double':
      return { name, type: 'DOUBLE', repetition_type };
    case 'timestamp':
      return {
        name,
        type: 'INT64',
        repetition_type,
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      };
    default:
      return {
        name,
        type: 'BYTE_ARRAY',
        repetition_type,
        converted_type: 'UTF8',
        logical_type: { type: 'STRING' },
      };
  }
}

/** In memory of exactly their size: it is handed to another thread whole. */
function concatenated(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
