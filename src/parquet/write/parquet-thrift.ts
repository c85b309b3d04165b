/** What Parquet keeps beside values: page headers, page indexes and the footer; of their fields those that files of ours have. */
import { crc32 } from 'node:zlib';
import type {
  ColumnChunk,
  ColumnIndex,
  Encoding,
  FileMetaData,
  OffsetIndex,
  RowGroup,
  SchemaElement,
  Statistics,
} from 'hyparquet';
import * as names from 'hyparquet/src/constants.js';
import { readOffsetIndex } from 'hyparquet/src/indexes.js';
import { FatalError } from '../../core/errors.ts';
import { type ByteSink, createByteSink, putBytes, putUint32 } from './byte-sink.ts';
import { type Fields, putBinary, putByte, putStruct, putWhole } from './thrift.ts';

export const PARQUET_MAGIC: Uint8Array = Uint8Array.of(0x50, 0x41, 0x52, 0x31);
const RLE = names.Encodings.indexOf('RLE');

/** The header of a page of so many bytes before it was packed: of data, whose levels are RLE, or of a dictionary, which is PLAIN. */
export function putPageHeader(
  sink: ByteSink,
  type: 'DATA_PAGE' | 'DICTIONARY_PAGE',
  bytes: number,
  packed: Uint8Array,
  values: number,
  encoding: Encoding,
): void {
  const isData = type === 'DATA_PAGE';
  putStruct(sink, (header) => {
    header.whole(1, 'i32', names.PageTypes.indexOf(type));
    header.whole(2, 'i32', bytes);
    header.whole(3, 'i32', packed.length);
    header.bits32(4, crc32(packed));
    header.struct(isData ? 5 : 7, (page) => {
      page.whole(1, 'i32', values);
      page.whole(2, 'i32', names.Encodings.indexOf(encoding));
      if (isData) for (const level of [3, 4]) page.whole(level, 'i32', RLE);
    });
  });
}

export function putColumnIndex(sink: ByteSink, index: ColumnIndex): void {
  putStruct(sink, (fields) => {
    fields.list(1, 'false', index.null_pages, (list, isNull) => putByte(list, isNull ? 1 : 0));
    fields.list(2, 'binary', index.min_values as Uint8Array[], putBinary);
    fields.list(3, 'binary', index.max_values as Uint8Array[], putBinary);
    fields.whole(4, 'i32', names.BoundaryOrders.indexOf(index.boundary_order));
    fields.list(5, 'i64', index.null_counts, (list, count) => putWhole(list, Number(count)));
  });
}

/** `shiftBytes`: how much further back in the file the pages are than the index says. */
export function putOffsetIndex(sink: ByteSink, { page_locations: pages }: OffsetIndex, shiftBytes = 0): void {
  putStruct(sink, (fields) =>
    fields.structs(1, pages, (page, { offset, compressed_page_size, first_row_index }) => {
      page.whole(1, 'i64', Number(offset) + shiftBytes);
      page.whole(2, 'i32', compressed_page_size);
      page.whole(3, 'i64', first_row_index);
    }),
  );
}

/** Append an offset index of `putOffsetIndex`, shifted. Throws FatalError `encode-check-failed` for any other bytes. */
export function putShiftedOffsetIndex(sink: ByteSink, bytes: Uint8Array, shiftBytes: number): void {
  const again = createByteSink(bytes.length);
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const index = readOffsetIndex({ view, offset: 0 });
    putOffsetIndex(again, index);
    if (Buffer.compare(again.bytes.subarray(0, again.at), bytes) !== 0)
      throw new Error('it is written otherwise');
    putOffsetIndex(sink, index, shiftBytes);
  } catch (cause) {
    throw new FatalError(
      'encode-check-failed',
      `Got ${bytes.length} bytes, expected an offset index of a row group; start this vessel-day clean`,
      { cause },
    );
  }
}

interface Footer extends Omit<FileMetaData, 'row_groups' | 'metadata_length'> {
  /** Whole, or as `rowGroupBytes` has written them. */
  readonly row_groups: readonly (RowGroup | Uint8Array)[];
}

/** The end of a file: its metadata, their length in four bytes, and the closing magic. */
export function putFooter(sink: ByteSink, metadata: Footer): void {
  const from = sink.at;
  const leaves = metadata.schema.filter(({ type }) => type !== undefined);
  putStruct(sink, (fields) => {
    fields.whole(1, 'i32', metadata.version);
    fields.structs(2, metadata.schema, putSchemaElement);
    fields.whole(3, 'i64', metadata.num_rows);
    fields.list(4, 'struct', metadata.row_groups, (list, group) => {
      if (group instanceof Uint8Array) putBytes(list, group);
      else putStruct(list, (inner) => putRowGroup(inner, group));
    });
    fields.structs(5, metadata.key_value_metadata, (pair, { key, value }) => {
      pair.binary(1, key);
      pair.binary(2, value);
    });
    fields.binary(6, metadata.created_by);
    // The order of each column's values: that of its type.
    fields.structs(7, leaves, (order) => order.struct(1, () => {}));
  });
  putUint32(sink, sink.at - from);
  putBytes(sink, PARQUET_MAGIC);
}

/** A row group as the footer has it: some hundred bytes, for files whose row groups are thousands. */
export function rowGroupBytes(group: RowGroup): Uint8Array {
  const sink = createByteSink(2_048);
  putStruct(sink, (fields) => putRowGroup(fields, group));
  return sink.bytes.slice(0, sink.at);
}

function putSchemaElement(fields: Fields, element: SchemaElement): void {
  const { type, repetition_type, converted_type, logical_type } = element;
  fields.whole(1, 'i32', type && names.ParquetTypes.indexOf(type));
  fields.whole(3, 'i32', repetition_type && names.FieldRepetitionTypes.indexOf(repetition_type));
  fields.binary(4, element.name);
  fields.whole(5, 'i32', element.num_children);
  fields.whole(6, 'i32', converted_type && names.ConvertedTypes.indexOf(converted_type));
  fields.whole(9, 'i32', element.field_id);
  if (logical_type !== undefined) fields.struct(10, (kind) => putLogicalType(kind, logical_type));
}

/** Fields of the union `LogicalType` without anything in them. */
const PLAIN_KINDS: Readonly<Record<string, number>> = { STRING: 1, MAP: 2, LIST: 3 };

function putLogicalType(kind: Fields, logical: NonNullable<SchemaElement['logical_type']>): void {
  const plain = PLAIN_KINDS[logical.type];
  if (plain !== undefined) {
    kind.struct(plain, () => {});
    return;
  }
  if (logical.type !== 'TIMESTAMP' || logical.unit !== 'MICROS')
    throw new RangeError(`got the logical type ${logical.type}, expected one that files of ours have`);
  kind.struct(8, (timestamp) => {
    timestamp.truth(1, logical.isAdjustedToUTC);
    timestamp.struct(2, (unit) => unit.struct(2, () => {}));
  });
}

function putRowGroup(fields: Fields, group: RowGroup): void {
  fields.structs(1, group.columns, putColumnChunk);
  fields.whole(2, 'i64', group.total_byte_size);
  fields.whole(3, 'i64', group.num_rows);
  fields.structs(4, group.sorting_columns, (column, { column_idx, descending, nulls_first }) => {
    column.whole(1, 'i32', column_idx);
    column.truth(2, descending);
    column.truth(3, nulls_first);
  });
  fields.whole(5, 'i64', group.file_offset);
  fields.whole(6, 'i64', group.total_compressed_size);
}

function putColumnChunk(fields: Fields, chunk: ColumnChunk): void {
  fields.whole(2, 'i64', chunk.file_offset);
  const { meta_data } = chunk;
  if (meta_data !== undefined) fields.struct(3, (inner) => putColumnMetadata(inner, meta_data));
  fields.whole(4, 'i64', chunk.offset_index_offset);
  fields.whole(5, 'i32', chunk.offset_index_length);
  fields.whole(6, 'i64', chunk.column_index_offset);
  fields.whole(7, 'i32', chunk.column_index_length);
}

function putColumnMetadata(fields: Fields, meta: NonNullable<ColumnChunk['meta_data']>): void {
  const { type, statistics } = meta;
  fields.whole(1, 'i32', names.ParquetTypes.indexOf(type));
  fields.list(2, 'i32', meta.encodings, (sink, encoding) =>
    putWhole(sink, names.Encodings.indexOf(encoding)),
  );
  fields.list(3, 'binary', meta.path_in_schema, putBinary);
  fields.whole(4, 'i32', names.CompressionCodecs.indexOf(meta.codec));
  fields.whole(5, 'i64', meta.num_values);
  fields.whole(6, 'i64', meta.total_uncompressed_size);
  fields.whole(7, 'i64', meta.total_compressed_size);
  fields.whole(9, 'i64', meta.data_page_offset);
  fields.whole(11, 'i64', meta.dictionary_page_offset);
  if (statistics !== undefined) fields.struct(12, (inner) => putStatistics(inner, statistics, type));
  fields.structs(13, meta.encoding_stats, (inner, { page_type, encoding, count }) => {
    inner.whole(1, 'i32', names.PageTypes.indexOf(page_type));
    inner.whole(2, 'i32', names.Encodings.indexOf(encoding));
    inner.whole(3, 'i32', count);
  });
}

function putStatistics(fields: Fields, statistics: Statistics, type: string): void {
  fields.whole(3, 'i64', statistics.null_count);
  fields.binary(5, boundBytes(statistics.max_value, type));
  fields.binary(6, boundBytes(statistics.min_value, type));
  fields.truth(7, statistics.is_max_value_exact);
  fields.truth(8, statistics.is_min_value_exact);
}

/** A value as PLAIN has it, without the length of a text. */
function boundBytes(value: Statistics['min_value'], type: string): Uint8Array | undefined {
  if (value === undefined || value instanceof Uint8Array) return value;
  if (type === 'INT64') return new Uint8Array(BigInt64Array.of(BigInt(value as bigint | number)).buffer);
  if (type === 'DOUBLE') return new Uint8Array(Float64Array.of(value as number).buffer);
  throw new RangeError(`got ${typeof value} as a bound of ${type}, expected bytes`);
}
