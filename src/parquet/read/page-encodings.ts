/**
 * The encodings of Parquet pages, read a few values at a time: a page that claims a thousand million values in ten bytes
 * costs nothing but the rows that are taken of it. Every reader is bounded by the bytes of its page, and throws a
 * PageFault where they end.
 */

/** What is wrong with a page, before its place is known. */
export class PageFault extends Error {}

/** Widest index of a dictionary: 16 million entries. */
const MAX_INDEX_BITS = 24;
const MAX_BLOCK_VALUES = 1 << 16;
const MAX_MINIBLOCKS = 512;

/** Numbers in Parquet's hybrid of runs and bit-packed groups: levels, and indexes of a dictionary. */
export class RunReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #width: number;
  #position: number;
  /** Values left of the run or of the bit-packed groups. */
  #left = 0;
  #isPacked = false;
  #value = 0;
  /** Bits of the groups that have been taken. */
  #bit = 0;

  constructor(bytes: Uint8Array, start: number, end: number, width: number) {
    if (width > MAX_INDEX_BITS)
      throw new PageFault(`indexes of ${width} bits, and not of ${MAX_INDEX_BITS} at most`);
    this.#bytes = bytes;
    this.#position = start;
    this.#end = Math.min(end, bytes.length);
    this.#width = width;
  }

  /** The next `count` numbers. */
  read(out: Int32Array, count: number): void {
    for (let at = 0; at < count; ) {
      if (this.#left === 0) this.#open();
      const taken = Math.min(this.#left, count - at);
      if (this.#isPacked) this.#unpack(out, at, taken);
      else out.fill(this.#value, at, at + taken);
      this.#left -= taken;
      at += taken;
    }
  }

  #open(): void {
    if (this.#isPacked) this.#position += Math.ceil(this.#bit / 8);
    const width = this.#width;
    // A dictionary of one entry needs no bits, and some writers then write nothing at all.
    if (width === 0) {
      this.#isPacked = false;
      this.#value = 0;
      this.#left = Number.MAX_SAFE_INTEGER;
      return;
    }
    const header = this.#varint();
    this.#bit = 0;
    this.#isPacked = header % 2 === 1;
    this.#left = this.#isPacked ? ((header - 1) / 2) * 8 : header / 2;
    if (this.#isPacked) return;
    const valueBytes = (width + 7) >> 3;
    if (this.#position + valueBytes > this.#end) throw new PageFault('fewer levels or indexes than values');
    this.#value = 0;
    for (let at = 0; at < valueBytes; at++) this.#value |= this.#bytes[this.#position++]! << (8 * at);
  }

  #unpack(out: Int32Array, from: number, count: number): void {
    const bytes = this.#bytes;
    const width = this.#width;
    const mask = (1 << width) - 1;
    let bit = this.#bit;
    const endBit = bit + count * width;
    if (this.#position + Math.ceil(endBit / 8) > this.#end)
      throw new PageFault('fewer levels or indexes than values');
    const start = this.#position;
    for (let at = from; at < from + count; at++) {
      const byte = start + (bit >>> 3);
      // What lies behind the last byte reads as zero.
      const word =
        bytes[byte]! | (bytes[byte + 1]! << 8) | (bytes[byte + 2]! << 16) | (bytes[byte + 3]! << 24);
      out[at] = (word >>> (bit & 7)) & mask;
      bit += width;
    }
    this.#bit = bit;
  }

  #varint(): number {
    const { value, next } = varintAt(
      this.#bytes,
      this.#position,
      this.#end,
      'fewer levels or indexes than values',
    );
    this.#position = next;
    return value;
  }
}

/** A LEB128 number of at most five bytes before `end`, and where it ends. Throws PageFault `fault` where there is none. */
function varintAt(
  bytes: Uint8Array,
  position: number,
  end: number,
  fault: string,
): { readonly value: number; readonly next: number } {
  let value = 0;
  let scale = 1;
  for (let next = position; next < Math.min(end, position + 5); ) {
    const byte = bytes[next++]!;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, next };
    scale *= 128;
  }
  throw new PageFault(fault);
}

/** DELTA_BINARY_PACKED: 64-bit numbers as two 32-bit words each, low word first, which wrap as the format has it. */
export class DeltaReader {
  /** Numbers that there are. */
  readonly count: number;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #miniblocks: number;
  readonly #miniblockValues: number;
  #position: number;
  /** Values that have been read. */
  #taken = 0;
  #low = 0;
  #high = 0;
  #minLow = 0;
  #minHigh = 0;
  /** Where the bit widths of the block are; the next miniblock in it. */
  #widthsAt = 0;
  #miniblock: number;
  #left = 0;
  #width = 0;
  #bit = 0;

  constructor(bytes: Uint8Array, start: number, maxCount: number) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = bytes.length;
    const blockValues = this.#varint();
    this.#miniblocks = this.#varint();
    this.#miniblockValues = blockValues / this.#miniblocks;
    this.#miniblock = this.#miniblocks;
    this.count = this.#varint();
    const isSound =
      blockValues > 0 &&
      blockValues <= MAX_BLOCK_VALUES &&
      this.#miniblocks >= 1 &&
      this.#miniblocks <= MAX_MINIBLOCKS &&
      this.#miniblockValues % 8 === 0;
    if (!isSound) throw new PageFault(`delta blocks of ${blockValues} values in ${this.#miniblocks} pieces`);
    if (this.count > maxCount) throw new PageFault(`${this.count} deltas for ${maxCount} values`);
    this.#readZigZag();
    [this.#low, this.#high] = [this.#minLow, this.#minHigh];
  }

  /** The next `count` numbers to the words `out[2 * at …]`. */
  read(out: Int32Array, count: number): void {
    if (this.#taken + count > this.count) throw new PageFault('fewer deltas than values');
    let at = 0;
    if (this.#taken === 0 && count > 0) {
      out[0] = this.#low;
      out[1] = this.#high;
      at = 1;
    }
    while (at < count) {
      if (this.#left === 0) this.#openMiniblock();
      const taken = Math.min(this.#left, count - at);
      this.#unpack(out, at, taken);
      this.#left -= taken;
      at += taken;
    }
    this.#taken += count;
  }

  /** Where the deltas end; for a reader of which nothing was taken. */
  endOfAll(): number {
    for (let rest = this.count - 1; rest > 0; rest -= this.#miniblockValues) {
      this.#openMiniblock();
      this.#bit = this.#miniblockValues * this.#width;
    }
    this.#leaveMiniblock();
    return this.#position;
  }

  #leaveMiniblock(): void {
    // The rest of the last one is padding.
    if (this.#bit > 0) this.#position += (this.#miniblockValues * this.#width) / 8;
    this.#bit = 0;
    if (this.#position > this.#end) throw new PageFault('deltas that end too soon');
  }

  #openMiniblock(): void {
    this.#leaveMiniblock();
    if (this.#miniblock === this.#miniblocks) {
      this.#readZigZag();
      this.#widthsAt = this.#position;
      this.#position += this.#miniblocks;
      this.#miniblock = 0;
      if (this.#position > this.#end) throw new PageFault('deltas that end too soon');
    }
    this.#width = this.#bytes[this.#widthsAt + this.#miniblock++]!;
    if (this.#width > 64) throw new PageFault(`deltas of ${this.#width} bits`);
    this.#left = this.#miniblockValues;
  }

  #unpack(out: Int32Array, from: number, count: number): void {
    const bytes = this.#bytes;
    const width = this.#width;
    const start = this.#position;
    const [minLow, minHigh] = [this.#minLow, this.#minHigh];
    let [low, high, bit] = [this.#low, this.#high, this.#bit];
    if (start + Math.ceil((bit + count * width) / 8) > this.#end)
      throw new PageFault('deltas that end too soon');
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
      out[2 * at] = low;
      out[2 * at + 1] = high;
    }
    [this.#low, this.#high, this.#bit] = [low, high, bit];
  }

  #readZigZag(): void {
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 63 || this.#position >= this.#end) throw new PageFault('deltas that end too soon');
      const byte = this.#bytes[this.#position++]!;
      const bits = byte & 0x7f;
      if (shift < 32) {
        low |= bits << shift;
        if (shift > 25) high |= bits >>> (32 - shift);
      } else high |= bits << (shift - 32);
      if (byte < 0x80) break;
    }
    const sign = -(low & 1);
    this.#minLow = ((low >>> 1) | (high << 31)) ^ sign;
    this.#minHigh = (high >>> 1) ^ sign;
  }

  #varint(): number {
    const { value, next } = varintAt(this.#bytes, this.#position, this.#end, 'deltas that end too soon');
    this.#position = next;
    return value;
  }
}
