import { isWide } from './value-dictionary.ts';
import { compressed, isWorthwhile } from './zstd.ts';

/** Which pages of a column chunk are compressed: those for which it pays. */

interface Page {
  readonly bytes: Uint8Array;
}

interface ChunkPages {
  readonly dictionary?: { readonly entries: number; readonly plain: Uint8Array };
  readonly pages: readonly Page[];
  readonly packed?: PackedPages;
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

/** From a page or a dictionary to what the file gets. */
type Packer = (bytes: Uint8Array) => Uint8Array;

/** Of pages that are not compressed. */
export const asItIs: Packer = (bytes) => bytes;

/** What each page goes through: zstd where it pays for the largest page and the dictionary together. */
export function packerOf({ pages, dictionary, packed = new Map() }: ChunkPages): Packer {
  const pack: Packer = (bytes) =>
    packedOnce(packed, bytes, bytes === dictionary?.plain ? undefined : dictionary?.entries);
  const probed = [probeOf(pages).bytes, ...(dictionary === undefined ? [] : [dictionary.plain])];
  return isWorthwhile(sizeOf(probed.map(pack)), sizeOf(probed)) ? pack : asItIs;
}

const sizeOf = (all: readonly Uint8Array[]): number => all.reduce((sum, { length }) => sum + length, 0);

/** The page that tells whether compressing pays: the largest. */
function probeOf(pages: readonly Page[]): Page {
  return pages.reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a));
}
