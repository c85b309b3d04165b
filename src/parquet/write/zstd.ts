import { isMarkedAsUntransferable } from 'node:worker_threads';
import { constants, zstdCompressSync } from 'node:zlib';

/**
 * Level 1 with longer matches and a smaller table: about as small as level 3, at the price of level 1. Asynchronous calls
 * would take half as much processor time again. Bytes follow the zstd that Node brings along: another Node may write others
 * for a day that is exported again, never other rows.
 */
const VALUES = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_minMatch]: 5,
  [constants.ZSTD_c_hashLog]: 16,
};
/** Of codes in two bytes each, two of them are a match. */
const CODES = { ...VALUES, [constants.ZSTD_c_minMatch]: 4 };
/** A page's output comes in one piece, which is given back at once: no larger than it may have to be. */
const MAX_CHUNK_BYTES = 1 << 17;
/** What a page that cannot be made smaller grows by, and more. */
const boundOf = (bytes: number) => bytes + (bytes >> 8) + 128;
/** Below this a frame of one raw block is written: a call of zstd takes some 20 µs, and most pages are all null. */
const MIN_BYTES = 256;
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** A block has no more. */
const MAX_RAW_BYTES = 1 << 17;

/** A zstd frame of the bytes: codes of a dictionary in two bytes each, or anything else. */
export function compressed(bytes: Uint8Array, kind: 'wide codes' | 'values'): Uint8Array {
  if (bytes.length < MIN_BYTES) return framed(bytes);
  const chunkSize = Math.min(MAX_CHUNK_BYTES, boundOf(bytes.length));
  return zstdCompressSync(bytes, { params: kind === 'wide codes' ? CODES : VALUES, chunkSize });
}

/**
 * Give the memory of a frame back at once. It is up to twice as large as the frame, and a row group's pages come to 12 MB
 * before garbage is collected. The memory that small buffers share is left alone, and twice is as good as once.
 */
export function discard({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached && !isMarkedAsUntransferable(buffer))
    buffer.transfer(0);
}

/** A zstd frame of one raw block: bytes as they are, at most `MAX_RAW_BYTES` of them. */
export function framed(bytes: Uint8Array): Uint8Array {
  const size = bytes.length;
  if (size > MAX_RAW_BYTES) throw new RangeError(`got ${size} bytes, expected at most ${MAX_RAW_BYTES}`);
  // RFC 8878: a descriptor (one segment, its size in one byte or in four) and the size; a block's head is its size, its
  // type (0: raw) and whether it is the last.
  const head = size < 256 ? [0x20, size] : [0xa0, size & 255, (size >> 8) & 255, size >> 16, 0];
  const block = (size << 3) | 1;
  return Buffer.concat([
    Uint8Array.of(...MAGIC, ...head, block & 255, (block >> 8) & 255, block >> 16),
    bytes,
  ]);
}

/** What `framed` adds to a page. */
export const FRAME_BYTES = 12;

/** Must save so much of a page to be worth a reader's time. */
const MIN_GAIN = 0.05;

export function isWorthwhile(packedBytes: number, bytes: number): boolean {
  return bytes > MIN_BYTES && packedBytes < (1 - MIN_GAIN) * bytes;
}
