/** Gzip of a text made of pieces, some of them the same. */
import { constants, crc32, deflateRawSync } from 'node:zlib';

/** Magic number, deflate, and nothing of what else a header may say: no name, no time, no system. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** What deflate makes no smaller, with the flush behind it. */
const MAX_STORED_BYTES = 16;

/** Bytes as they are, behind their length and what that is not. */
function storedBlock(piece: Uint8Array): Uint8Array {
  const { length } = piece;
  return Buffer.concat([Uint8Array.of(0, length, 0, ~length, 0xff), piece]);
}

/**
 * One gzip member that holds the pieces one after the other. A piece that is there again (the same array) is compressed
 * once: a full flush ends it at a whole byte, and none refers to what was before it.
 */
export function gzipPieces(pieces: readonly Uint8Array[], level: number): Uint8Array {
  const compressed = new Map<Uint8Array, Uint8Array>();
  const body: Uint8Array[] = [HEADER];
  let [checksum, sizeBytes] = [0, 0];
  for (const piece of pieces) {
    let block = compressed.get(piece);
    if (block === undefined) {
      block =
        piece.length <= MAX_STORED_BYTES
          ? storedBlock(piece)
          : deflateRawSync(piece, { level, finishFlush: constants.Z_FULL_FLUSH });
      compressed.set(piece, block);
    }
    body.push(block);
    checksum = crc32(piece, checksum);
    sizeBytes += piece.length;
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(checksum, 0);
  trailer.writeUInt32LE(sizeBytes % 2 ** 32, 4);
  return Buffer.concat([...body, LAST_BLOCK, trailer]);
}

/** An empty block that says that it is the last one. */
const LAST_BLOCK = Uint8Array.of(0x03, 0x00);
