import { isMarkedAsUntransferable } from 'node:worker_threads';
import { constants, zstdCompressSync } from 'node:zlib';
import { isWide } from './value-dictionary.ts';

/** Which pages of a column chunk are compressed: those for which it pays. */

interface Page {
  readonly rows: number;
  readonly bytes: Uint8Array;
}

export interface ChunkPages {
  readonly encoding: 'PLAIN' | 'DELTA_BINARY_PACKED' | 'RLE_DICTIONARY';
  /** Entries as PLAIN has them. */
  readonly dictionary?: { readonly entries: number; readonly plain: Uint8Array };
  readonly pages: readonly Page[];
  readonly packed: PackedPages;
}

/** Pages and dictionaries with their zstd frames: none is compressed twice. */
export type PackedPages = Map<Uint8Array, Uint8Array>;

/** The zstd frame of a page or a dictionary; `entries` of the dictionary that the codes of a page refer to. */
export function packedOnce(packed: PackedPages, bytes: Uint8Array, entries = 0): Uint8Array {
  const known = packed.get(bytes);
  if (known !== undefined) return known;
  const frame = compressed(bytes, isWide(entries) ? 'wide codes' : 'values');
  packed.set(bytes, frame);
  return frame;
}

/** Give the memory of all frames back: of those that were written, and of those that were only looked at. */
export function discardPacked(packed: PackedPages): void {
  for (const frame of packed.values()) discard(frame);
  packed.clear();
}

type Packer = (bytes: Uint8Array) => Uint8Array;

export const asItIs: Packer = (bytes) => bytes;

/** What each page goes through: zstd where it pays for the largest page and the dictionary together. */
export function packerOf({ pages, dictionary, encoding, packed }: ChunkPages): Packer {
  const pack: Packer = (bytes) =>
    packedOnce(packed, bytes, bytes === dictionary?.plain ? undefined : dictionary?.entries);
  const probe = pages.reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a));
  const probed = [probe.bytes, ...(dictionary === undefined ? [] : [dictionary.plain])];
  const bytes = sizeOf(probed);
  if (bytes > MIN_BYTES && sizeOf(probed.map(pack)) < (1 - MIN_GAIN) * bytes) return pack;
  return encoding === 'DELTA_BINARY_PACKED' ? tightPacker(pages, probe, pack) : asItIs;
}

/** Must save so much of a page to be worth a reader's time. */
const MIN_GAIN = 0.05;
const sizeOf = (all: readonly Uint8Array[]): number => all.reduce((sum, { length }) => sum + length, 0);

/** Pages of less than such a part of the probe's bytes a row hold other differences than it. */
const TIGHT_SHARE = 0.75;
/** Of all pages together. */
const MIN_SAVED = 0.005;

/** Random differences, of which the largest page is full, leave nothing to zstd; those of fixed steps are all heads of blocks, and much tighter. */
function tightPacker(pages: readonly Page[], probe: Page, pack: Packer): Packer {
  const mostPerRow = (TIGHT_SHARE * probe.bytes.length) / probe.rows;
  const tight = pages.filter(({ bytes, rows }) => bytes.length < mostPerRow * rows).map(({ bytes }) => bytes);
  const saved = sizeOf(tight) - sizeOf(tight.map(pack)) - (pages.length - tight.length) * FRAME_BYTES;
  if (saved <= MIN_SAVED * sizeOf(pages.map(({ bytes }) => bytes))) return asItIs;
  const isTight = new Set(tight);
  return (bytes) => (isTight.has(bytes) ? pack(bytes) : framed(bytes));
}

/**
 * Level 1 with longer matches and a smaller table: about as small as level 3, at the price of level 1. Asynchronous calls would take
 * half as much CPU again. Another Node, with another zstd, may write other bytes for the same rows.
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

/** Give the memory of a frame back at once: a row group's pages come to 12 MB before garbage is collected. Twice is as good as once. */
export function discard({ buffer }: Uint8Array): void {
  // The memory that small buffers share is left alone.
  if (buffer instanceof ArrayBuffer && !buffer.detached && !isMarkedAsUntransferable(buffer))
    buffer.transfer(0);
}

/** A zstd frame of one raw block: bytes as they are, at most `MAX_RAW_BYTES` of them. */
function framed(bytes: Uint8Array): Uint8Array {
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

const FRAME_BYTES = 12;
