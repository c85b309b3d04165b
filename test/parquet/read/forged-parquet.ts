/** Parquet bodies whose footers and page headers say what a test wants them to say. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';

export const ENCODING = { plain: 0, delta: 5, deltaBytes: 7, dictionary: 8 };
const TYPES = {
  timestamp: 'INT64',
  id: 'BYTE_ARRAY',
  long_value: 'INT64',
  double_value: 'DOUBLE',
  json_value: 'BYTE_ARRAY',
};
type Name = keyof typeof TYPES;
export const NAMES = Object.keys(TYPES) as Name[];
export type Codec = 'UNCOMPRESSED' | 'SNAPPY' | 'GZIP' | 'BROTLI' | 'ZSTD' | 'LZ4_RAW';

export interface ForgedPage {
  readonly kind: 'data' | 'dictionary';
  readonly values: number;
  readonly encoding?: number;
  /** As it stands in the body. */
  readonly bytes: Uint8Array;
  /** Of the page when decompressed, as its header says. */
  readonly size?: number;
}

export interface ForgedColumn {
  readonly pages: readonly ForgedPage[];
  readonly codec?: Codec;
  /** What the footer says of the chunk instead of the truth. */
  readonly claims?: Record<string, unknown>;
}

export interface Forged {
  readonly rows: number;
  readonly columns: Record<Name, ForgedColumn>;
  /** How often the footer lists the row group. */
  readonly groups?: number;
  readonly fileRows?: number;
  /** The schema instead of that of the contract. */
  readonly schema?: readonly Record<string, unknown>[];
}

/** A body; the columns are optional ones. */
export function forgeParquet({ rows, columns, groups = 1, fileRows, schema }: Forged): Buffer {
  const writer = new ByteWriter();
  writer.appendBytes(Buffer.from('PAR1'));
  const chunks = NAMES.map((name) => {
    const { pages, codec = 'UNCOMPRESSED', claims = {} } = columns[name];
    const start = writer.offset;
    for (const page of pages) writePage(writer, page);
    return {
      file_offset: 0n,
      meta_data: {
        ...{
          type: TYPES[name],
          encodings: ['PLAIN'],
          path_in_schema: [name],
          codec,
          num_values: BigInt(rows),
        },
        total_uncompressed_size: BigInt(
          pages.reduce((sum, { size, bytes }) => sum + (size ?? bytes.length), 0),
        ),
        ...{
          total_compressed_size: BigInt(writer.offset - start),
          data_page_offset: BigInt(start),
          ...claims,
        },
      },
    };
  });
  const leaves = NAMES.map((name) => ({
    ...{ type: TYPES[name], name, repetition_type: 'OPTIONAL' },
    ...(TYPES[name] === 'BYTE_ARRAY' ? { converted_type: 'UTF8' } : {}),
  }));
  const group = { columns: chunks, total_byte_size: 0n, num_rows: BigInt(rows) };
  const metadata = {
    version: 1,
    schema: schema ?? [{ name: 'root', num_children: leaves.length }, ...leaves],
    num_rows: BigInt(fileRows ?? rows * groups),
    row_groups: Array.from({ length: groups }, () => group),
    metadata_length: 0,
  };
  // biome-ignore lint/suspicious/noExplicitAny: what is forged need not be what the type says
  writeMetadata(writer, metadata as any, 16);
  writer.appendBytes(Buffer.from('PAR1'));
  return Buffer.from(writer.getBytes());
}

/** A body whose footer is these bytes. */
export function withFooter(footer: Uint8Array, length = footer.length): Buffer {
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(length);
  return Buffer.concat([Buffer.from('PAR1'), footer, tail, Buffer.from('PAR1')]);
}

function writePage(writer: ByteWriter, { kind, values, encoding = 0, bytes, size }: ForgedPage): void {
  const header = { field_1: kind === 'data' ? 0 : 2, field_2: size ?? bytes.length, field_3: bytes.length };
  const data = { field_1: values, field_2: encoding, field_3: 3, field_4: 3 };
  serializeTCompactProtocol(
    writer,
    kind === 'data' ? { ...header, field_5: data } : { ...header, field_7: { field_1: values, field_2: 0 } },
  );
  writer.appendBytes(bytes);
}

export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

/** Definition levels: all the same, `count` times in one run. */
export function levels(count: number, level: 0 | 1): Buffer {
  const run = [...varint(count * 2), level];
  return Buffer.from([run.length, 0, 0, 0, ...run]);
}

/** PLAIN cells. */
export function plain(...values: (bigint | number | string)[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      const cell = Buffer.alloc(typeof value === 'string' ? 4 : 8);
      if (typeof value === 'bigint') cell.writeBigInt64LE(value);
      else if (typeof value === 'number') cell.writeDoubleLE(value);
      else cell.writeUInt32LE(Buffer.byteLength(value));
      return typeof value === 'string' ? Buffer.concat([cell, Buffer.from(value)]) : cell;
    }),
  );
}

/** `rows` times the same value: a dictionary of one entry, and one run. */
export function constant(rows: number, value: bigint | number | string): ForgedColumn {
  const indexes = Buffer.concat([levels(rows, 1), Buffer.from([1, ...varint(rows * 2), 0])]);
  return {
    pages: [
      { kind: 'dictionary', values: 1, bytes: plain(value) },
      { kind: 'data', values: rows, encoding: ENCODING.dictionary, bytes: indexes },
    ],
  };
}

/** `rows` times null. */
export function nulls(rows: number): ForgedColumn {
  return { pages: [{ kind: 'data', values: rows, bytes: levels(rows, 0) }] };
}

/** The contract's columns for rows that are all alike. */
export function constantColumns(rows: number): Record<Name, ForgedColumn> {
  return {
    timestamp: constant(rows, 1_767_571_200_000n),
    id: constant(rows, 'a'),
    long_value: constant(rows, 5n),
    double_value: nulls(rows),
    json_value: nulls(rows),
  };
}

/** One data page of `values` whose decompressed bytes are `bytes`; its header may say another size. */
export function compressed(
  codec: Codec,
  values: number,
  bytes: Uint8Array,
  size = bytes.length,
): ForgedColumn {
  return { codec, pages: [{ kind: 'data', values, bytes: compress(codec, bytes), size }] };
}

function compress(codec: Codec, bytes: Uint8Array): Uint8Array {
  if (codec === 'GZIP') return gzipSync(bytes);
  if (codec === 'ZSTD') return zstdCompressSync(bytes);
  if (codec === 'BROTLI') return brotliCompressSync(bytes, { params: { 1: 1 } });
  if (codec === 'SNAPPY') return snappyZeros(bytes.length);
  return codec === 'LZ4_RAW' ? lz4Zeros(bytes.length) : bytes;
}

/** One zero, and copies of 64 bytes from one byte back. */
function snappyZeros(length: number): Uint8Array {
  const copies = Buffer.alloc(Math.ceil((length - 1) / 64) * 3);
  for (let at = 0; at < copies.length; at += 3) copies.set([(63 << 2) | 2, 1, 0], at);
  return Buffer.concat([Buffer.from([...varint(length), 0, 0]), copies]);
}

/** One zero, and one copy of all the others. */
function lz4Zeros(length: number): Uint8Array {
  const more = length - 1 - 4 - 15;
  return Buffer.concat([
    Buffer.from([0x1f, 0, 1, 0]),
    Buffer.alloc(Math.floor(more / 255), 255),
    Buffer.from([more % 255, 0x00]),
  ]);
}
