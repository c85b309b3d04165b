/** Runs and deltas of pages. Bounded by the bytes of the page and the checked number of its values; throws PageFault where the bytes end first. */

/** What is wrong with a page, before its place is known. */
export class PageFault extends Error {}

/** Widest index of a dictionary: 16 million entries. */
const MAX_INDEX_BITS = 24;
const MAX_BLOCK_VALUES = 1 << 16;
const MAX_MINIBLOCKS = 512;

/** `count` numbers in Parquet's hybrid of runs and bit-packed groups in `bytes[start, end)`: levels, and indexes of a dictionary. */
export function readRuns(
  bytes: Uint8Array,
  start: number,
  end: number,
  width: number,
  count: number,
): Int32Array<ArrayBuffer> {
  if (width > MAX_INDEX_BITS)
    throw new PageFault(`indexes of ${width} bits, and not of ${MAX_INDEX_BITS} at most`);
  const numbers = new Int32Array(count);
  // A dictionary of one entry needs no bits, and some writers then write nothing at all.
  if (width === 0) return numbers;
  const cursor = new Cursor(bytes, start, end, 'fewer levels or indexes than values');
  for (let at = 0; at < count; ) {
    const header = cursor.varint();
    const isPacked = header % 2 === 1;
    const taken = Math.min(isPacked ? (header - 1) * 4 : header / 2, count - at);
    const from = cursor.at;
    cursor.skip(isPacked ? Math.ceil((taken * width) / 8) : (width + 7) >> 3);
    if (isPacked) unpackRun(bytes, from, width, numbers, at, taken);
    else {
      let value = 0;
      for (let p = from; p < cursor.at; p++) value |= bytes[p]! << (8 * (p - from));
      numbers.fill(value, at, at + taken);
    }
    at += taken;
  }
  return numbers;
}

function unpackRun(
  bytes: Uint8Array,
  start: number,
  width: number,
  numbers: Int32Array,
  from: number,
  count: number,
): void {
  const mask = (1 << width) - 1;
  for (let at = from, bit = 0; at < from + count; at++, bit += width) {
    const byte = start + (bit >>> 3);
    // What lies behind the last byte reads as zero.
    const word = bytes[byte]! | (bytes[byte + 1]! << 8) | (bytes[byte + 2]! << 16) | (bytes[byte + 3]! << 24);
    numbers[at] = (word >>> (bit & 7)) & mask;
  }
}

/** 64-bit numbers as two words each, low word first, and where they end. */
export interface Deltas {
  readonly words: Int32Array<ArrayBuffer>;
  readonly end: number;
}

/** DELTA_BINARY_PACKED: sums wrap as the format has it. */
export function readDeltas(bytes: Uint8Array, start: number, count: number, maxCount: number): Deltas {
  const cursor = new Cursor(bytes, start, bytes.length, 'deltas that end too soon');
  const [blockValues, miniblocks, total] = [cursor.varint(), cursor.varint(), cursor.varint()];
  const size = blockValues / miniblocks;
  const isSound =
    blockValues > 0 &&
    blockValues <= MAX_BLOCK_VALUES &&
    miniblocks >= 1 &&
    miniblocks <= MAX_MINIBLOCKS &&
    size % 8 === 0;
  if (!isSound) throw new PageFault(`delta blocks of ${blockValues} values in ${miniblocks} pieces`);
  if (total > maxCount) throw new PageFault(`${total} deltas for ${maxCount} values`);
  if (total < count) throw new PageFault('fewer deltas than values');
  const words = new Int32Array(2 * total);
  const first = cursor.zigZag();
  if (total > 0) words.set(first);
  for (let value = 1; value < total; ) {
    const min = cursor.zigZag();
    const widthsAt = cursor.at;
    cursor.skip(miniblocks);
    for (let miniblock = 0; miniblock < miniblocks && value < total; miniblock++) {
      const width = bytes[widthsAt + miniblock]!;
      if (width > 64) throw new PageFault(`deltas of ${width} bits`);
      const taken = Math.min(size, total - value);
      const from = cursor.at;
      cursor.skip(Math.ceil((taken * width) / 8));
      addDeltas(bytes, from, width, min, words, value, taken);
      // The rest of the last one is padding.
      cursor.at = from + (size * width) / 8;
      value += taken;
    }
  }
  return { words, end: cursor.at };
}

/** Each value is the one before, the smallest delta of the block, and so many bits more. */
function addDeltas(
  bytes: Uint8Array,
  start: number,
  width: number,
  [minLow, minHigh]: readonly [number, number],
  words: Int32Array,
  from: number,
  count: number,
): void {
  let [low, high, bit] = [words[2 * from - 2]!, words[2 * from - 1]!, 0];
  for (let at = from; at < from + count; at++) {
    let deltaLow = 0;
    let deltaHigh = 0;
    for (let got = 0; got < width; ) {
      const shift = bit & 7;
      const taken = Math.min(8 - shift, width - got);
      const bits = (bytes[start + (bit >>> 3)]! >>> shift) & ((1 << taken) - 1);
      if (got < 32) {
        deltaLow |= bits << got;
        if (got + taken > 32) deltaHigh |= bits >>> (32 - got);
      } else deltaHigh |= bits << (got - 32);
      got += taken;
      bit += taken;
    }
    // The sum of three, with the carries of the low words.
    const sumLow = (low >>> 0) + (minLow >>> 0) + (deltaLow >>> 0);
    high = (high + minHigh + deltaHigh + Math.floor(sumLow / 0x1_0000_0000)) | 0;
    low = sumLow | 0;
    words[2 * at] = low;
    words[2 * at + 1] = high;
  }
}

/** A place in a page; throws `fault` at its end. */
class Cursor {
  at: number;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #fault: string;

  constructor(bytes: Uint8Array, start: number, end: number, fault: string) {
    this.#bytes = bytes;
    this.at = start;
    this.#end = end;
    this.#fault = fault;
  }

  skip(bytes: number): void {
    this.at += bytes;
    if (this.at > this.#end) throw new PageFault(this.#fault);
  }

  /** A LEB128 number of at most five bytes. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new PageFault(this.#fault);
  }

  /** A zigzag number of 64 bits as two words, low word first. */
  zigZag(): [number, number] {
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 63) throw new PageFault(this.#fault);
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (shift < 32) {
        low |= bits << shift;
        if (shift > 25) high |= bits >>> (32 - shift);
      } else high |= bits << (shift - 32);
      if (byte < 0x80) break;
    }
    const sign = -(low & 1);
    return [((low >>> 1) | (high << 31)) ^ sign, (high >>> 1) ^ sign];
  }

  #byte(): number {
    this.skip(1);
    return this.#bytes[this.at - 1]!;
  }
}
