import type { ColumnChunk, FileMetaData, RowGroup, SchemaElement, Statistics } from 'hyparquet';
import {
  CompressionCodecs,
  ConvertedTypes,
  Encodings,
  FieldRepetitionTypes,
  PageTypes,
  ParquetTypes,
} from 'hyparquet/src/constants.js';
import type { ByteSink } from './byte-sink.ts';
import { putBytes, putUint32, putVarint, reserve } from './byte-sink.ts';

/**
 * A footer in Thrift's compact form, as parquet.thrift has it: of its fields those that files of ours have. The general
 * writer takes 30 modules of two libraries, in each thread, and asks each value for its type.
 */

// Types of fields and of a list's elements.
const TRUE = 1;
const FALSE = 2;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;
const STOP = 0;

/** A head and a varint of at most eight bytes. */
const FIELD_BYTES = 9;

/** The metadata of a file and its length in four bytes; the closing magic follows. */
export function putFileMetadata(sink: ByteSink, metadata: FileMetaData): void {
  const from = sink.at;
  const leaves = metadata.schema.filter(({ type }) => type !== undefined);
  putStruct(sink, (fields) => {
    fields.whole(1, I32, metadata.version);
    fields.structs(2, metadata.schema, putSchemaElement);
    fields.whole(3, I64, metadata.num_rows);
    fields.structs(4, metadata.row_groups, putRowGroup);
    fields.structs(5, metadata.key_value_metadata, (pair, { key, value }) => {
      pair.binary(1, key);
      pair.binary(2, value);
    });
    fields.binary(6, metadata.created_by);
    // The order of each column's values: that of its type.
    fields.structs(7, leaves, (order) => order.struct(1, () => {}));
  });
  reserve(sink, 4);
  putUint32(sink, sink.at - from);
}

function putSchemaElement(fields: Fields, element: SchemaElement): void {
  const { type, repetition_type, converted_type, logical_type } = element;
  fields.whole(1, I32, type && ParquetTypes.indexOf(type));
  fields.whole(3, I32, repetition_type && FieldRepetitionTypes.indexOf(repetition_type));
  fields.binary(4, element.name);
  fields.whole(5, I32, element.num_children);
  fields.whole(6, I32, converted_type && ConvertedTypes.indexOf(converted_type));
  fields.whole(9, I32, element.field_id);
  if (logical_type === undefined) return;
  fields.struct(10, (kind) => {
    if (logical_type.type === 'STRING') return kind.struct(1, () => {});
    if (logical_type.type !== 'TIMESTAMP' || logical_type.unit !== 'MICROS')
      throw new RangeError(`got the logical type ${logical_type.type}, expected a string or microseconds`);
    kind.struct(8, (timestamp) => {
      timestamp.truth(1, logical_type.isAdjustedToUTC);
      timestamp.struct(2, (unit) => unit.struct(2, () => {}));
    });
  });
}

function putRowGroup(fields: Fields, group: RowGroup): void {
  fields.structs(1, group.columns, putColumnChunk);
  fields.whole(2, I64, group.total_byte_size);
  fields.whole(3, I64, group.num_rows);
  fields.structs(4, group.sorting_columns, (column, { column_idx, descending, nulls_first }) => {
    column.whole(1, I32, column_idx);
    column.truth(2, descending);
    column.truth(3, nulls_first);
  });
  fields.whole(5, I64, group.file_offset);
  fields.whole(6, I64, group.total_compressed_size);
}

function putColumnChunk(fields: Fields, chunk: ColumnChunk): void {
  fields.whole(2, I64, chunk.file_offset);
  const { meta_data } = chunk;
  if (meta_data !== undefined) fields.struct(3, (inner) => putColumnMetadata(inner, meta_data));
  fields.whole(4, I64, chunk.offset_index_offset);
  fields.whole(5, I32, chunk.offset_index_length);
  fields.whole(6, I64, chunk.column_index_offset);
  fields.whole(7, I32, chunk.column_index_length);
}

function putColumnMetadata(fields: Fields, meta: NonNullable<ColumnChunk['meta_data']>): void {
  const { type, statistics } = meta;
  fields.whole(1, I32, ParquetTypes.indexOf(type));
  fields.list(2, I32, meta.encodings, (sink, encoding) => putWhole(sink, Encodings.indexOf(encoding)));
  fields.list(3, BINARY, meta.path_in_schema, (sink, name) => putBinary(sink, name));
  fields.whole(4, I32, CompressionCodecs.indexOf(meta.codec));
  fields.whole(5, I64, meta.num_values);
  fields.whole(6, I64, meta.total_uncompressed_size);
  fields.whole(7, I64, meta.total_compressed_size);
  fields.whole(9, I64, meta.data_page_offset);
  fields.whole(11, I64, meta.dictionary_page_offset);
  if (statistics !== undefined) fields.struct(12, (inner) => putStatistics(inner, statistics, type));
  fields.structs(13, meta.encoding_stats, (inner, { page_type, encoding, count }) => {
    inner.whole(1, I32, PageTypes.indexOf(page_type));
    inner.whole(2, I32, Encodings.indexOf(encoding));
    inner.whole(3, I32, count);
  });
}

/** Whole values: none is cut. */
function putStatistics(fields: Fields, statistics: Statistics, type: string): void {
  fields.whole(3, I64, statistics.null_count);
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

/** A struct's fields, in ascending order; of a value that is undefined nothing is written. */
class Fields {
  readonly #sink: ByteSink;
  #last = 0;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  whole(field: number, type: typeof I32 | typeof I64, value: number | bigint | undefined): void {
    if (value === undefined) return;
    this.#head(field, type);
    putWhole(this.#sink, Number(value));
  }

  truth(field: number, value: boolean | undefined): void {
    if (value !== undefined) this.#head(field, value ? TRUE : FALSE);
  }

  binary(field: number, value: Uint8Array | string | undefined): void {
    if (value === undefined) return;
    this.#head(field, BINARY);
    putBinary(this.#sink, value);
  }

  struct(field: number, put: (fields: Fields) => void): void {
    this.#head(field, STRUCT);
    putStruct(this.#sink, put);
  }

  list<T>(
    field: number,
    type: number,
    items: readonly T[] | undefined,
    put: (sink: ByteSink, item: T) => void,
  ): void {
    if (items === undefined) return;
    this.#head(field, LIST);
    reserve(this.#sink, FIELD_BYTES);
    putByte(this.#sink, (Math.min(items.length, 15) << 4) | type);
    if (items.length >= 15) putVarint(this.#sink, items.length);
    for (const item of items) put(this.#sink, item);
  }

  structs<T>(field: number, items: readonly T[] | undefined, put: (fields: Fields, item: T) => void): void {
    this.list(field, STRUCT, items, (sink, item) => putStruct(sink, (fields) => put(fields, item)));
  }

  /** Four bits of how much its number is larger than that of the field before, four of its type. */
  #head(field: number, type: number): void {
    reserve(this.#sink, FIELD_BYTES);
    putByte(this.#sink, ((field - this.#last) << 4) | type);
    this.#last = field;
  }
}

function putStruct(sink: ByteSink, put: (fields: Fields) => void): void {
  put(new Fields(sink));
  reserve(sink, 1);
  putByte(sink, STOP);
}

function putByte(sink: ByteSink, byte: number): void {
  sink.bytes[sink.at++] = byte;
}

/** No number of a footer is negative. */
function putWhole(sink: ByteSink, value: number): void {
  if (!(value >= 0)) throw new RangeError(`got ${value} in a footer, expected a whole number from 0`);
  reserve(sink, FIELD_BYTES);
  putVarint(sink, 2 * value);
}

function putBinary(sink: ByteSink, value: Uint8Array | string): void {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  reserve(sink, FIELD_BYTES);
  putVarint(sink, bytes.length);
  putBytes(sink, bytes);
}
