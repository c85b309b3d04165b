/** Thrift's compact protocol, written struct by struct: the one writer of what Parquet keeps beside values. */
import { type ByteSink, putBytes, putVarint, reserve } from './byte-sink.ts';

export const THRIFT = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
const STOP = 0;

/** A head and a varint of at most eight bytes. */
const FIELD_BYTES = 9;

/** The fields of one struct, in ascending order. A value that is undefined is left out. */
export class Fields {
  readonly #sink: ByteSink;
  #last = 0;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  /** A whole number from 0. Throws RangeError for any other: Parquet has none but in checksums. */
  whole(field: number, type: 'i32' | 'i64', value: number | bigint | undefined): void {
    if (value === undefined) return;
    this.#head(field, THRIFT[type]);
    putWhole(this.#sink, Number(value));
  }

  /** The 32 bits of a checksum, which Parquet keeps as a signed number. */
  bits32(field: number, value: number): void {
    this.#head(field, THRIFT.i32);
    putVarint(this.#sink, ((value << 1) ^ (value >> 31)) >>> 0);
  }

  truth(field: number, value: boolean | undefined): void {
    if (value !== undefined) this.#head(field, value ? THRIFT.true : THRIFT.false);
  }

  binary(field: number, value: Uint8Array | string | undefined): void {
    if (value === undefined) return;
    this.#head(field, THRIFT.binary);
    putBinary(this.#sink, value);
  }

  struct(field: number, put: (fields: Fields) => void): void {
    this.#head(field, THRIFT.struct);
    putStruct(this.#sink, put);
  }

  list<T>(
    field: number,
    type: keyof typeof THRIFT,
    items: readonly T[] | undefined,
    put: (sink: ByteSink, item: T) => void,
  ): void {
    if (items === undefined) return;
    this.#head(field, THRIFT.list);
    reserve(this.#sink, FIELD_BYTES);
    putByte(this.#sink, (Math.min(items.length, 15) << 4) | THRIFT[type]);
    if (items.length >= 15) putVarint(this.#sink, items.length);
    for (const item of items) put(this.#sink, item);
  }

  structs<T>(field: number, items: readonly T[] | undefined, put: (fields: Fields, item: T) => void): void {
    this.list(field, 'struct', items, (sink, item) => putStruct(sink, (fields) => put(fields, item)));
  }

  /** Four bits of how much its number is larger than that of the field before, four of its type. */
  #head(field: number, type: number): void {
    reserve(this.#sink, FIELD_BYTES);
    putByte(this.#sink, ((field - this.#last) << 4) | type);
    this.#last = field;
  }
}

export function putStruct(sink: ByteSink, put: (fields: Fields) => void): void {
  put(new Fields(sink));
  reserve(sink, 1);
  putByte(sink, STOP);
}

export function putWhole(sink: ByteSink, value: number): void {
  if (!(value >= 0)) throw new RangeError(`got ${value} in a footer, expected a whole number from 0`);
  reserve(sink, FIELD_BYTES);
  putVarint(sink, 2 * value);
}

export function putBinary(sink: ByteSink, value: Uint8Array | string): void {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  reserve(sink, FIELD_BYTES);
  putVarint(sink, bytes.length);
  putBytes(sink, bytes);
}

export function putByte(sink: ByteSink, byte: number): void {
  reserve(sink, 1);
  sink.bytes[sink.at++] = byte;
}
