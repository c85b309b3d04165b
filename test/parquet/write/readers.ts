/** An encoder and independent readers for the tests of a file, and the order in which a file has its rows. */
import { zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import { readParquet } from 'parquet-wasm';
import { afterAll } from 'vitest';
import type { Encoder } from '../../../src/parquet/write/index.ts';
import { createEncoder } from '../../../src/parquet/write/index.ts';
import type { Reader, Reading, Value } from './lake-file.ts';
import { openReader } from './lake-file.ts';

/** Until the tests of this file have ended. */
export async function readerHere(): Promise<Reader> {
  const reader = await openReader();
  afterAll(() => reader.close());
  return reader;
}

/** Until the tests of this file have ended. */
export function encoderHere(threads = 0): Encoder {
  const encoder = createEncoder({ threads });
  afterAll(() => encoder.close());
  return encoder;
}

export const arrayBuffer = ({ buffer, byteOffset, length }: Uint8Array) =>
  buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;

export type Decompress = (bytes: Uint8Array, length: number) => Uint8Array;
export const zstd: Decompress = (bytes) => zstdDecompressSync(bytes);

const COLUMNS = ['timestamp', 'time_series_id', 'id', 'long_value', 'double_value', 'json_value'];

/** Rows of measurements as READINGS_SQL has them. */
export async function byHyparquet(file: Buffer, ZSTD = zstd): Promise<unknown[][]> {
  const objects = await parquetReadObjects({
    file: arrayBuffer(file),
    compressors: { ZSTD },
    parsers: { timestampFromMicroseconds: (micros) => micros },
  });
  return objects.map((row) => COLUMNS.map((name) => row[name] ?? null));
}

/** The same, read by arrow-rs. */
export function byArrow(file: Buffer): unknown[][] {
  const table = tableFromIPC(readParquet(file).intoIPCStream());
  const micros = table.getChild('timestamp')!.data.flatMap((data) => [...(data.values as BigInt64Array)]);
  const others = COLUMNS.slice(1).map((name) => [...table.getChild(name)!]);
  return micros.map((time, row) => [time, ...others.map((column) => column[row] ?? null)]);
}

const bits = new DataView(new ArrayBuffer(8));

/** Doubles by their bits as a signed integer. */
export function orderOf(value: Value): bigint | string {
  if (typeof value !== 'number') return value;
  bits.setFloat64(0, value);
  return bits.getBigInt64(0);
}

/** Texts by their bytes: what is beyond U+FFFF comes last, and not, as in UTF-16, before U+E000. */
function compare(a: bigint | string, b: bigint | string): number {
  if (typeof a === 'string' || typeof b === 'string')
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
  return a < b ? -1 : a > b ? 1 : 0;
}

const KINDS = ['bigint', 'number', 'string'];
const kindOf = ({ value }: Reading) => KINDS.indexOf(typeof value);

/** As the lake's row groups are sorted, by the definition. */
export function inFileOrder(readings: readonly Reading[]): Reading[] {
  return [...readings].sort(
    (a, b) =>
      compare(a.series, b.series) ||
      a.micros - b.micros ||
      kindOf(a) - kindOf(b) ||
      compare(orderOf(a.value), orderOf(b.value)),
  );
}
