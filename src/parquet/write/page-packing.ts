import { isWide } from './value-dictionary.ts';
import { compressed, discard, FRAME_BYTES, framed, isWorthwhile } from './zstd.ts';

/** Which pages of a column chunk are compressed: those for which it pays. */

interface Page {
  readonly rows: number;
  readonly bytes: Uint8Array;
}

interface ChunkPages {
  readonly encoding: 'PLAIN' | 'DELTA_BINARY_PACKED' | 'RLE_DICTIONARY';
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

/** From a page or a dictionary to what the file gets. */
type Packer = (bytes: Uint8Array) => Uint8Array;

/** Of pages that are not compressed. */
export const asItIs: Packer = (bytes) => bytes;

/** What each page goes through: zstd where it pays for the largest page and the dictionary together. */
export function packerOf({ pages, dictionary, encoding, packed }: ChunkPages): Packer {
  const pack: Packer = (bytes) =>
    packedOnce(packed, bytes, bytes === dictionary?.plain ? undefined : dictionary?.entries);
  const probe = probeOf(pages);
  const probed = [probe.bytes, ...(dictionary === undefined ? [] : [dictionary.plain])];
  if (isWorthwhile(sizeOf(probed.map(pack)), sizeOf(probed))) return pack;
  return encoding === 'DELTA_BINARY_PACKED' ? tightPacker(pages, probe, pack) : asItIs;
}

const sizeOf = (all: readonly Uint8Array[]): number => all.reduce((sum, { length }) => sum + length, 0);

/** Pages of less than such a part of the probe's bytes a row hold other differences than it. */
const TIGHT_SHARE = 0.75;
/** Of all pages together. */
const MIN_SAVED = 0.005;

/**
 * Differences that are random leave nothing to zstd, and mostly fill the largest page; those of series that are read at
 * fixed steps take no bits but for the heads of their blocks, which are alike. So pages that are much tighter than the
 * probe are compressed where that pays, and all others are put into a frame as they are.
 */
function tightPacker(pages: readonly Page[], probe: Page, pack: Packer): Packer {
  const mostPerRow = (TIGHT_SHARE * probe.bytes.length) / probe.rows;
  const tight = pages.filter(({ bytes, rows }) => bytes.length < mostPerRow * rows).map(({ bytes }) => bytes);
  const saved = sizeOf(tight) - sizeOf(tight.map(pack)) - (pages.length - tight.length) * FRAME_BYTES;
  if (saved <= MIN_SAVED * sizeOf(pages.map(({ bytes }) => bytes))) return asItIs;
  const isTight = new Set(tight);
  return (bytes) => (isTight.has(bytes) ? pack(bytes) : framed(bytes));
}

/** The page that tells whether compressing pays: the largest. */
function probeOf(pages: readonly Page[]): Page {
  return pages.reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a));
}
