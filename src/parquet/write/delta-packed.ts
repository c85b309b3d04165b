import { type ByteSink, putVarint, reserve } from './byte-sink.ts';

/** DELTA_BINARY_PACKED: the first value, then blocks of 128 differences, each of four miniblocks with a bit width of its own. */

const BLOCK_ROWS = 128;
const MINIBLOCK_ROWS = 32;
const MINIBLOCKS = BLOCK_ROWS / MINIBLOCK_ROWS;
const TWO_32 = 2 ** 32;
/** A value takes at most eight bytes, a block's head ten and its widths four. */
const MAX_BYTES_A_ROW = 9;
const HEAD_BYTES = 64;

/** May `putDeltas` have whole numbers of this range? Then differences, and twice these, are exact as doubles. */
export function hasExactDeltas(min: number, max: number): boolean {
  return min >= -(2 ** 51) && max < 2 ** 53 && max - min < 2 ** 52;
}

const deltas = new Float64Array(BLOCK_ROWS);

/** Differences of `count` values from the one before, filled up with the smallest, which is returned. */
function takeDeltas(values: Float64Array, from: number, count: number): number {
  let min = values[from]! - values[from - 1]!;
  for (let i = 0; i < count; i++) {
    const delta = values[from + i]! - values[from + i - 1]!;
    deltas[i] = delta;
    if (delta < min) min = delta;
  }
  for (let i = count; i < BLOCK_ROWS; i++) deltas[i] = min;
  return min;
}

function widthOf(from: number, min: number): number {
  let max = min;
  for (let i = from; i < from + MINIBLOCK_ROWS; i++) if (deltas[i]! > max) max = deltas[i]!;
  const most = max - min;
  return most < TWO_32 ? 32 - Math.clz32(most) : 64 - Math.clz32(most / TWO_32);
}

/** 32 differences from `min`, so many bits each, least significant first; those of more than 32 bits in two steps. */
function packMiniblock(view: DataView<ArrayBuffer>, start: number, from: number, min: number, width: number) {
  let at = start;
  let bits = 0;
  let used = 0;
  for (let i = from; i < from + MINIBLOCK_ROWS; i++)
    for (let rest = deltas[i]! - min, left = width; left > 0; left -= 32, rest = Math.floor(rest / TWO_32)) {
      const low = rest | 0;
      const count = left < 32 ? left : 32;
      bits |= low << used;
      used += count;
      if (used < 32) continue;
      view.setInt32(at, bits, true);
      at += 4;
      used -= 32;
      bits = used === 0 ? 0 : low >>> (count - used);
    }
}

/** Append `values[from, to)`: whole numbers of which `hasExactDeltas` holds. */
export function putDeltas(sink: ByteSink, values: Float64Array, from: number, to: number): void {
  reserve(sink, (to - from) * MAX_BYTES_A_ROW + HEAD_BYTES + MINIBLOCKS * MINIBLOCK_ROWS * 8);
  putVarint(sink, BLOCK_ROWS);
  putVarint(sink, MINIBLOCKS);
  putVarint(sink, to - from);
  putZigzag(sink, from === to ? 0 : values[from]!);
  for (let row = from + 1; row < to; row += BLOCK_ROWS) {
    const min = takeDeltas(values, row, Math.min(BLOCK_ROWS, to - row));
    putZigzag(sink, min);
    const widthsAt = sink.at;
    sink.at += MINIBLOCKS;
    for (let mini = 0; mini < MINIBLOCKS; mini++) {
      const width = widthOf(MINIBLOCK_ROWS * mini, min);
      sink.bytes[widthsAt + mini] = width;
      packMiniblock(sink.view, sink.at, MINIBLOCK_ROWS * mini, min, width);
      sink.at += (MINIBLOCK_ROWS / 8) * width;
    }
  }
}

function putZigzag(sink: ByteSink, value: number): void {
  putVarint(sink, value < 0 ? -2 * value - 1 : 2 * value);
}

/** The same for any 64-bit integers, whose differences wrap; rare, and much slower. */
export function putBigDeltas(sink: ByteSink, values: readonly bigint[]): void {
  reserve(sink, values.length * MAX_BYTES_A_ROW + HEAD_BYTES + BLOCK_ROWS * 8);
  putVarint(sink, BLOCK_ROWS);
  putVarint(sink, MINIBLOCKS);
  putVarint(sink, values.length);
  putBigZigzag(sink, values[0] ?? 0n);
  for (let row = 1; row < values.length; row += BLOCK_ROWS) {
    const steps = values
      .slice(row, row + BLOCK_ROWS)
      .map((value, i) => BigInt.asIntN(64, value - values[row + i - 1]!));
    const min = steps.reduce((a, b) => (b < a ? b : a));
    putBigZigzag(sink, min);
    const widthsAt = sink.at;
    sink.at += MINIBLOCKS;
    for (let mini = 0; mini < MINIBLOCKS; mini++) {
      const rest = steps.slice(MINIBLOCK_ROWS * mini, MINIBLOCK_ROWS * (mini + 1)).map((step) => step - min);
      const width = Math.max(0, ...rest.map((value) => (value === 0n ? 0 : value.toString(2).length)));
      sink.bytes[widthsAt + mini] = width;
      let packed = rest.reduce((bits, value, i) => bits | (value << BigInt(width * i)), 0n);
      for (let byte = 0; byte < (MINIBLOCK_ROWS / 8) * width; byte++, packed >>= 8n)
        sink.bytes[sink.at++] = Number(packed & 255n);
    }
  }
}

function putBigZigzag(sink: ByteSink, value: bigint): void {
  let rest = value < 0n ? -2n * value - 1n : 2n * value;
  for (; rest >= 128n; rest >>= 7n) sink.bytes[sink.at++] = Number(rest & 127n) | 128;
  sink.bytes[sink.at++] = Number(rest);
}
