/** Pages of Parquet, decompressed: never to more bytes than their header says, and never in more memory. */
import { brotliDecompressSync, constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { CompressionCodecs } from 'hyparquet/src/constants.js';
import { messageOf } from '../../core/errors.ts';
import { badParquet } from './parquet-faults.ts';

const CODECS = ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4_RAW'];
/** A zstd frame may ask for a window far larger than its content; a page needs none beyond its own size. */
const ZSTD_WINDOW_LOG = 25;
/** Below this a loop over bytes beats a call. */
const LOOP_BYTES = 32;

/** The `size` bytes, which has been checked, that `bytes` come to. Throws DataError `bad-parquet` for more or fewer. */
export function decompress(codec: number, bytes: Uint8Array, size: number, where: string): Uint8Array {
  let page: Uint8Array;
  try {
    page = inflate(codec, bytes, size);
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
      throw badParquet(where, `more than ${size} bytes when decompressed`, `${size}, as its header says`);
    throw badParquet(
      where,
      `bytes that are not ${CompressionCodecs[codec]} (${messageOf(error)})`,
      'sound compression',
    );
  }
  if (page.length !== size)
    throw badParquet(where, `${page.length} bytes when decompressed`, `${size}, as its header says`);
  return page;
}

export function assertCodec(codec: number, where: string): void {
  const name = CompressionCodecs[codec] ?? String(codec);
  if (!CODECS.includes(name)) throw badParquet(where, `codec ${name}`, `one of ${CODECS.join(', ')}`);
}

function inflate(codec: number, bytes: Uint8Array, size: number): Uint8Array {
  if (codec === 0) return bytes;
  if (size === 0) return new Uint8Array(0);
  const options = { maxOutputLength: size, chunkSize: Math.max(64, Math.min(size, 1 << 20)) };
  const params = { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG };
  const name = CompressionCodecs[codec];
  if (name === 'SNAPPY') return inflateSnappy(bytes, size);
  if (name === 'LZ4_RAW') return inflateLz4(bytes, size);
  if (name === 'GZIP') return gunzipSync(bytes, options);
  if (name === 'BROTLI') return brotliDecompressSync(bytes, options);
  return zstdDecompressSync(bytes, { ...options, params });
}

/** Output of known size that literals and earlier output are copied to; every copy is checked. */
class CopyTarget {
  readonly bytes: Uint8Array;
  end = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
  }

  literal(from: Uint8Array, start: number, length: number): void {
    if (start + length > from.length) throw new Error('a literal runs past the end');
    this.#assertRoom(length);
    this.bytes.set(from.subarray(start, start + length), this.end);
    this.end += length;
  }

  /** Repeat what stands `distance` bytes back; both may overlap. */
  copy(distance: number, length: number): void {
    if (distance < 1 || distance > this.end) throw new Error('a copy from outside');
    this.#assertRoom(length);
    const { bytes } = this;
    let from = this.end - distance;
    let to = this.end;
    this.end += length;
    if (distance >= length && length > LOOP_BYTES) bytes.copyWithin(to, from, from + length);
    else while (to < this.end) bytes[to++] = bytes[from++]!;
  }

  #assertRoom(length: number): void {
    if (length > this.bytes.length - this.end) throw new Error('more bytes than its header says');
  }
}

function inflateSnappy(bytes: Uint8Array, size: number): Uint8Array {
  const target = new CopyTarget(size);
  let p = 0;
  while (p < 5 && bytes[p]! >= 0x80) p++;
  p++;
  while (p < bytes.length) {
    const tag = bytes[p++]!;
    const kind = tag & 3;
    if (kind === 0) {
      let length = (tag >>> 2) + 1;
      if (length > 60) {
        const lengthBytes = length - 60;
        length = littleEndian(bytes, p, lengthBytes) + 1;
        p += lengthBytes;
      }
      target.literal(bytes, p, length);
      p += length;
    } else if (kind === 1) {
      target.copy(((tag >>> 5) << 8) | littleEndian(bytes, p, 1), ((tag >>> 2) & 7) + 4);
      p += 1;
    } else {
      const distanceBytes = kind === 2 ? 2 : 4;
      target.copy(littleEndian(bytes, p, distanceBytes), (tag >>> 2) + 1);
      p += distanceBytes;
    }
  }
  return target.bytes.subarray(0, target.end);
}

/** An unsigned number of `length` bytes; what stands behind the end is a fault. */
function littleEndian(bytes: Uint8Array, start: number, length: number): number {
  if (start + length > bytes.length) throw new Error('it ends inside a number');
  let value = 0;
  for (let at = length - 1; at >= 0; at--) value = value * 256 + bytes[start + at]!;
  return value;
}

function inflateLz4(bytes: Uint8Array, size: number): Uint8Array {
  const target = new CopyTarget(size);
  let p = 0;
  const longer = (length: number): number => {
    if (length < 15) return length;
    for (let total = length; ; ) {
      const more = littleEndian(bytes, p++, 1);
      total += more;
      if (more < 255) return total;
    }
  };
  while (p < bytes.length) {
    const token = bytes[p++]!;
    const literals = longer(token >>> 4);
    target.literal(bytes, p, literals);
    p += literals;
    if (p >= bytes.length) break;
    const distance = littleEndian(bytes, p, 2);
    p += 2;
    target.copy(distance, longer(token & 15) + 4);
  }
  return target.bytes.subarray(0, target.end);
}
