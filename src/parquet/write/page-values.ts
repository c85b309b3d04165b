import { type ByteSink, putBytes, putText } from './byte-sink.ts';
import { hasExactDeltas, putBigDeltas, putDeltas } from './delta-packed.ts';

/** Values of a column by row, and how a page of them is written; `set` holds ranges of rows: from, to, from, to, …. */
export interface ColumnValues {
  readonly encoding: 'PLAIN' | 'DELTA_BINARY_PACKED';
  put(sink: ByteSink, set: Int32Array): void;
  /** Smallest and largest; undefined where there is none, or a value that has no place between others. */
  bounds(set: Int32Array): Bounds | undefined;
  /** Values as keys of a dictionary; undefined for a column that never has one. */
  readonly cells?: Int32Array;
  readonly texts?: Texts;
}

export interface Bounds {
  readonly min: bigint | number;
  readonly max: bigint | number;
}

/** Texts by row: `bytes[ends[e - 1] ?? 0, ends[e])`, where `e` is `entries[row * stride]`. */
export interface Texts {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
  readonly entries: Int32Array;
  readonly stride: number;
}

const TWO_32 = 2 ** 32;

/** A 64-bit cell as a number: exact up to 2^53. */
export function cellNumber(cells: Int32Array, row: number): number {
  return cells[2 * row + 1]! * TWO_32 + (cells[2 * row]! >>> 0);
}

/** Microseconds, or other whole numbers that a double holds; of a column without nulls. */
export function microsValues(micros: Float64Array): ColumnValues {
  return wholeValues(
    (set) => micros.subarray(set[0], set[1]),
    (row) => BigInt(micros[row]!),
  );
}

export function longValues(cells: Int32Array): ColumnValues {
  let scratch = new Float64Array(0);
  const gather = (set: Int32Array): Float64Array => {
    const count = countOf(set);
    if (scratch.length < count) scratch = new Float64Array(count);
    let at = 0;
    for (let i = 0; i < set.length; i += 2) at = toNumbers(cells, set[i]!, set[i + 1]!, scratch, at);
    return scratch.subarray(0, count);
  };
  const exact = (row: number) => BigInt(cells[2 * row + 1]!) * BigInt(TWO_32) + BigInt(cells[2 * row]! >>> 0);
  return { ...wholeValues(gather, exact), cells };
}

/** Of rows: their numbers one behind the other, as doubles; and each exactly, for those that doubles cannot tell apart. */
function wholeValues(
  gather: (set: Int32Array) => Float64Array,
  exactAt: (row: number) => bigint,
): ColumnValues {
  const gathered = (set: Int32Array) => {
    const numbers = gather(set);
    const { min, max } = minMax(numbers, Int32Array.of(0, numbers.length));
    return { numbers, min, max, isExact: numbers.length === 0 || hasExactDeltas(min, max) };
  };
  return {
    encoding: 'DELTA_BINARY_PACKED',
    bounds(set) {
      const { min, max, isExact } = gathered(set);
      if (isExact) return min <= max ? { min: BigInt(min), max: BigInt(max) } : undefined;
      const values = valuesOf(set, exactAt);
      return {
        min: values.reduce((a, b) => (b < a ? b : a)),
        max: values.reduce((a, b) => (b > a ? b : a)),
      };
    },
    put(sink, set) {
      const { numbers, isExact } = gathered(set);
      if (isExact) putDeltas(sink, numbers, 0, numbers.length);
      else putBigDeltas(sink, valuesOf(set, exactAt));
    },
  };
}

export function doubleValues(cells: Int32Array): ColumnValues {
  const bytes = new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength);
  const doubles = new Float64Array(cells.buffer, cells.byteOffset, cells.length >> 1);
  return {
    encoding: 'PLAIN',
    cells,
    put(sink, set) {
      for (let i = 0; i < set.length; i += 2) putBytes(sink, bytes, 8 * set[i]!, 8 * set[i + 1]!);
    },
    bounds(set) {
      const { min, max, hasNaN } = minMax(doubles, set);
      // Readers do not agree on where NaN belongs: without bounds none of them skips it.
      if (hasNaN || !(min <= max)) return undefined;
      // Zeros of either sign are equal: parquet.thrift asks for -0 as the smallest and +0 as the largest.
      return { min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
    },
  };
}

/** Texts; bounds would be as long as they, and are no help for JSON. */
export function textValues(texts: Texts): ColumnValues {
  const { bytes, ends, entries, stride } = texts;
  return {
    encoding: 'PLAIN',
    texts,
    bounds: () => undefined,
    put(sink, set) {
      for (let i = 0; i < set.length; i += 2)
        for (let row = set[i]!; row < set[i + 1]!; row++) {
          const entry = entries[row * stride]!;
          const from = entry === 0 ? 0 : ends[entry - 1]!;
          putText(sink, bytes, from, ends[entry]!);
        }
    },
  };
}

function toNumbers(cells: Int32Array, from: number, to: number, numbers: Float64Array, at: number): number {
  let next = at;
  for (let row = from; row < to; row++) numbers[next++] = cellNumber(cells, row);
  return next;
}

/** Infinity and -Infinity where there is no number. */
const UNSEEN = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY, hasNaN: false };

function minMax(values: Float64Array, set: Int32Array): typeof UNSEEN {
  const seen = { ...UNSEEN };
  for (let i = 0; i < set.length; i += 2) widen(seen, values, set[i]!, set[i + 1]!);
  return seen;
}

function widen(seen: typeof UNSEEN, values: Float64Array, from: number, to: number): void {
  let { min, max, hasNaN } = seen;
  for (let row = from; row < to; row++) {
    const value = values[row]!;
    if (value < min) min = value;
    if (value > max) max = value;
    if (Number.isNaN(value)) hasNaN = true;
  }
  Object.assign(seen, { min, max, hasNaN });
}

const countOf = (set: Int32Array): number => {
  let count = 0;
  for (let i = 0; i < set.length; i += 2) count += set[i + 1]! - set[i]!;
  return count;
};

function valuesOf(set: Int32Array, valueAt: (row: number) => bigint): bigint[] {
  const values: bigint[] = [];
  for (let i = 0; i < set.length; i += 2)
    for (let row = set[i]!; row < set[i + 1]!; row++) values.push(valueAt(row));
  return values;
}
