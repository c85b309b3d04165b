import { crc32 } from 'node:zlib';
import type { ColumnIndex, Encoding, OffsetIndex } from 'hyparquet';
import { BoundaryOrders, Encodings } from 'hyparquet/src/constants.js';
import { FatalError } from '../../core/errors.ts';
import type { ByteSink } from './byte-sink.ts';
import { putBytes, putVarint, reserve } from './byte-sink.ts';

/**
 * What there is of each page besides its values, in Thrift's compact form as parquet.thrift has it: page headers and page
 * indexes. There are thousands in a large object: a general writer takes most of its time to find out which fields a
 * struct has.
 */

// A field's head: four bits of how much its number is larger than that of the field before, four of its type.
const NEXT_I32 = 0x15;
const NEXT_I64 = 0x16;
const NEXT_LIST = 0x19;
const NEXT_STRUCT = 0x1c;
const THIRD_NEXT_STRUCT = 0x3c;
const STOP = 0;
// Types of a list's elements.
const FALSE = 2;
const I64 = 6;
const BINARY = 8;
const STRUCT = 12;

const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const RLE = Encodings.indexOf('RLE');
const PLAIN = Encodings.indexOf('PLAIN');

/** A head and a varint of at most eight bytes. */
const FIELD_BYTES = 9;
const HEADER_BYTES = 11 * FIELD_BYTES;
const LOCATION_BYTES = 4 * FIELD_BYTES;

/** Of a whole number from 0 to 2^51; there is room for it. */
function putField(sink: ByteSink, head: number, value: number): void {
  sink.bytes[sink.at++] = head;
  putVarint(sink, 2 * value);
}

function putByte(sink: ByteSink, byte: number): void {
  sink.bytes[sink.at++] = byte;
}

/** `packed`: what stands behind the header. */
function beginPageHeader(sink: ByteSink, type: number, bytes: number, packed: Uint8Array): void {
  reserve(sink, HEADER_BYTES);
  putField(sink, NEXT_I32, type);
  putField(sink, NEXT_I32, bytes);
  putField(sink, NEXT_I32, packed.length);
  // A signed number, in zigzag.
  const crc = crc32(packed) | 0;
  putByte(sink, NEXT_I32);
  putVarint(sink, ((crc << 1) ^ (crc >> 31)) >>> 0);
}

/** The header of a data page of so many bytes before it was packed; levels are RLE. */
export function putDataPageHeader(
  sink: ByteSink,
  bytes: number,
  packed: Uint8Array,
  values: number,
  encoding: Encoding,
): void {
  beginPageHeader(sink, DATA_PAGE, bytes, packed);
  putByte(sink, NEXT_STRUCT);
  putField(sink, NEXT_I32, values);
  putField(sink, NEXT_I32, Encodings.indexOf(encoding));
  putField(sink, NEXT_I32, RLE);
  putField(sink, NEXT_I32, RLE);
  putByte(sink, STOP);
  putByte(sink, STOP);
}

/** The header of a dictionary's page, whose entries are PLAIN. */
export function putDictionaryPageHeader(
  sink: ByteSink,
  bytes: number,
  packed: Uint8Array,
  entries: number,
): void {
  beginPageHeader(sink, DICTIONARY_PAGE, bytes, packed);
  putByte(sink, THIRD_NEXT_STRUCT);
  putField(sink, NEXT_I32, entries);
  putField(sink, NEXT_I32, PLAIN);
  putByte(sink, STOP);
  putByte(sink, STOP);
}

/** The head of a list, which is the next field, with room for `bytes` of its elements. */
function beginList(sink: ByteSink, elements: number, type: number, bytes: number): void {
  reserve(sink, 2 * FIELD_BYTES + bytes);
  putByte(sink, NEXT_LIST);
  putByte(sink, (Math.min(elements, 15) << 4) | type);
  if (elements >= 15) putVarint(sink, elements);
}

export function putColumnIndex(sink: ByteSink, index: ColumnIndex): void {
  const { null_pages, min_values, max_values, boundary_order, null_counts = [] } = index;
  beginList(sink, null_pages.length, FALSE, null_pages.length);
  for (const isNull of null_pages) putByte(sink, isNull ? 1 : 0);
  for (const values of [min_values, max_values] as Uint8Array[][]) {
    beginList(sink, values.length, BINARY, 0);
    for (const value of values) {
      reserve(sink, FIELD_BYTES);
      putVarint(sink, value.length);
      putBytes(sink, value);
    }
  }
  reserve(sink, FIELD_BYTES);
  putField(sink, NEXT_I32, BoundaryOrders.indexOf(boundary_order));
  beginList(sink, null_counts.length, I64, null_counts.length * FIELD_BYTES);
  for (const count of null_counts) putVarint(sink, 2 * Number(count));
  putByte(sink, STOP);
}

export function putOffsetIndex(sink: ByteSink, { page_locations: pages }: OffsetIndex): void {
  beginList(sink, pages.length, STRUCT, pages.length * LOCATION_BYTES);
  for (const { offset, compressed_page_size, first_row_index } of pages)
    putLocation(sink, Number(offset), compressed_page_size, Number(first_row_index));
  putByte(sink, STOP);
}

function putLocation(sink: ByteSink, offset: number, bytes: number, firstRow: number): void {
  putField(sink, NEXT_I64, offset);
  putField(sink, NEXT_I32, bytes);
  putField(sink, NEXT_I64, firstRow);
  putByte(sink, STOP);
}

/**
 * Append an offset index that `putOffsetIndex` has written, its pages so many bytes further back in the file. Throws
 * FatalError `encode-check-failed` for any other bytes.
 */
export function putShiftedOffsetIndex(sink: ByteSink, index: Uint8Array, shiftBytes: number): void {
  const reader = { bytes: index, at: 0 };
  expectByte(reader, NEXT_LIST);
  const head = takeByte(reader);
  const pages = head >> 4 === 15 ? takeVarint(reader) : head >> 4;
  if ((head & 15) !== STRUCT || pages > index.length) throw noOffsetIndex(reader);
  beginList(sink, pages, STRUCT, pages * LOCATION_BYTES);
  for (let page = 0; page < pages; page++) {
    const offset = takeField(reader, NEXT_I64);
    const bytes = takeField(reader, NEXT_I32);
    putLocation(sink, offset + shiftBytes, bytes, takeField(reader, NEXT_I64));
    expectByte(reader, STOP);
  }
  expectByte(reader, STOP);
  putByte(sink, STOP);
}

interface Reader {
  readonly bytes: Uint8Array;
  at: number;
}

function takeByte(reader: Reader): number {
  const byte = reader.bytes[reader.at++];
  if (byte === undefined) throw noOffsetIndex(reader);
  return byte;
}

function expectByte(reader: Reader, expected: number): void {
  if (takeByte(reader) !== expected) throw noOffsetIndex(reader);
}

function takeVarint(reader: Reader): number {
  let value = 0;
  for (let scale = 1; scale < 2 ** 53; scale *= 128) {
    const byte = takeByte(reader);
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
  throw noOffsetIndex(reader);
}

/** A whole number that is not negative. */
function takeField(reader: Reader, head: number): number {
  expectByte(reader, head);
  const value = takeVarint(reader);
  if (value % 2 === 1) throw noOffsetIndex(reader);
  return value / 2;
}

function noOffsetIndex({ bytes, at }: Reader): FatalError {
  return new FatalError(
    'encode-check-failed',
    `An offset index of ${bytes.length} bytes is none from its byte ${at - 1} on; start this vessel-day clean`,
  );
}
