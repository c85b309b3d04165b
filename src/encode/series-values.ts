/** What the values of each series come to, from rows that are sorted by series and time. */
import type { LakeValue, SeriesRows } from '../model/index.ts';
import { MAX_EDGE_VALUES } from '../model/index.ts';
import type { ColumnBuffers } from './arrow-stream.ts';

/** What the rows of one series (rank) come to. */
export interface RankValues {
  readonly rank: number;
  readonly rows: SeriesRows;
}

/** Sorted readings; `jsonAt`: the text of a row that holds JSON. */
interface Readings {
  readonly timestamps: Int32Array;
  readonly long: ColumnBuffers;
  readonly double: ColumnBuffers;
  readonly jsonAt: (row: number) => string;
}

const TWO_32 = 2 ** 32;

/** A 64-bit integer of its words; `low` is unsigned. Sums of words may be wider. */
function bigintOf(high: number, low: number): bigint {
  const value = high * TWO_32 + low;
  return Number.isSafeInteger(value) ? BigInt(value) : BigInt(high) * BigInt(TWO_32) + BigInt(low);
}

/** The doubles of a column, one a row. */
function doublesOf({ cells }: Pick<ColumnBuffers, 'cells'>): Float64Array {
  return new Float64Array(cells.buffer, cells.byteOffset, cells.length >> 1);
}

const isSet = (bits: Uint8Array, row: number): boolean => ((bits[row >> 3]! >> (row & 7)) & 1) === 1;

/** Of readings: `rowsOfRank` rows of each rank, one rank after the other. */
export function readingValues(rowsOfRank: Int32Array, readings: Readings): RankValues[] {
  const values: RankValues[] = [];
  const doubles = doublesOf(readings.double);
  let from = 0;
  for (const [rank, count] of rowsOfRank.entries()) {
    if (count === 0) continue;
    const numbers = sumReadings(readings, doubles, from, from + count);
    const edges = edgesOf(readings, doubles, from, from + count);
    values.push({ rank, rows: { ...numbers, ...edges } });
    from += count;
  }
  return values;
}

type Numbers = Omit<SeriesRows, 'first' | 'last'>;

/** Rows `[from, to)`; most series are of one kind. */
function sumReadings({ long, double }: Readings, doubles: Float64Array, from: number, to: number): Numbers {
  const total = to - from;
  if (areSet(double.validity, from, to)) {
    const ofDoubles = sumDoubles(doubles, undefined, from, to);
    return { longs: 0, doubles: total, jsons: 0, ...ofDoubles };
  }
  if (areSet(long.validity, from, to))
    return { longs: total, doubles: 0, jsons: 0, ...sumLongs(long.cells, undefined, from, to) };
  const [longRows, doubleRows] = [countSet(long.validity, from, to), countSet(double.validity, from, to)];
  const kinds = { longs: longRows, doubles: doubleRows, jsons: total - longRows - doubleRows };
  const ofLongs = sumLongs(long.cells, long.validity, from, to);
  if (doubleRows === 0 && longRows > 0) return { ...kinds, ...ofLongs };
  const ofDoubles = sumDoubles(doubles, double.validity, from, to);
  if (doubleRows === 0) return { ...kinds, min: undefined, max: undefined, sum: undefined, magnitude: 0 };
  if (longRows === 0) return { ...kinds, ...ofDoubles };
  return {
    ...kinds,
    min: Math.min(Number(ofLongs.min), ofDoubles.min),
    max: Math.max(Number(ofLongs.max), ofDoubles.max),
    sum: Number(ofLongs.sum) + ofDoubles.sum,
    magnitude: ofLongs.magnitude + ofDoubles.magnitude,
  };
}

function areSet(bits: Uint8Array, from: number, to: number): boolean {
  for (let row = from; row < to; row++) {
    if ((row & 7) === 0 && row + 8 <= to && bits[row >> 3] === 0xff) row += 7;
    else if (!isSet(bits, row)) return false;
  }
  return true;
}

function countSet(bits: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let row = from; row < to; row++) count += (bits[row >> 3]! >> (row & 7)) & 1;
  return count;
}

/** What numbers of one kind come to. */
interface KindNumbers<T> {
  readonly min: T;
  readonly max: T;
  readonly sum: T;
  readonly magnitude: number;
}

/** Of the rows whose bit is set, or of all. */
function sumDoubles(
  doubles: Float64Array,
  bits: Uint8Array | undefined,
  from: number,
  to: number,
): KindNumbers<number> {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let magnitude = 0;
  for (let row = from; row < to; row++) {
    if (bits !== undefined && !isSet(bits, row)) continue;
    const value = doubles[row]!;
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
    magnitude += Math.abs(value);
  }
  return { min, max, sum, magnitude };
}

/** The same, in numbers that stay exact: high and low words are added apart. */
function sumLongs(
  cells: Int32Array,
  bits: Uint8Array | undefined,
  from: number,
  to: number,
): KindNumbers<bigint> {
  let minHigh = TWO_32;
  let minLow = 0;
  let maxHigh = -TWO_32;
  let maxLow = 0;
  let highSum = 0;
  let lowSum = 0;
  let magnitude = 0;
  for (let row = from; row < to; row++) {
    if (bits !== undefined && !isSet(bits, row)) continue;
    const low = cells[2 * row]! >>> 0;
    const high = cells[2 * row + 1]!;
    lowSum += low;
    highSum += high;
    magnitude += Math.abs(high * TWO_32 + low);
    if (high < minHigh || (high === minHigh && low < minLow)) {
      minHigh = high;
      minLow = low;
    }
    if (high > maxHigh || (high === maxHigh && low > maxLow)) {
      maxHigh = high;
      maxLow = low;
    }
  }
  const [min, max] = [bigintOf(minHigh, minLow), bigintOf(maxHigh, maxLow)];
  return { min, max, sum: bigintOf(highSum, lowSum), magnitude };
}

function edgesOf(
  readings: Readings,
  doubles: Float64Array,
  from: number,
  to: number,
): { first: LakeValue[]; last: LakeValue[] } {
  const { timestamps, long, double, jsonAt } = readings;
  const isSameTime = (a: number, b: number) =>
    timestamps[2 * a] === timestamps[2 * b] && timestamps[2 * a + 1] === timestamps[2 * b + 1];
  const valueAt = (row: number): LakeValue => {
    if (isSet(double.validity, row)) return doubles[row]!;
    if (!isSet(long.validity, row)) return { json: jsonAt(row) };
    return bigintOf(long.cells[2 * row + 1]!, long.cells[2 * row]! >>> 0);
  };
  const first: LakeValue[] = [];
  const last: LakeValue[] = [];
  for (let row = from; row < to && isSameTime(row, from) && first.length < MAX_EDGE_VALUES; row++)
    first.push(valueAt(row));
  for (let row = to - 1; row >= from && isSameTime(row, to - 1) && last.length < MAX_EDGE_VALUES; row--)
    last.push(valueAt(row));
  return { first, last };
}

/** Columns of windows by aggregation; those that are not exported are missing. */
type WindowColumns = ReadonlyMap<string, ColumnBuffers>;

/**
 * Of statistics: what the readings in the windows come to, as far as their columns tell it. No series is told of where
 * a change of its values could not be seen: with neither sum nor mean, or with JSON whose first and last values are
 * exported.
 */
export function windowValues(index: Int32Array, rows: number, columns: WindowColumns): RankValues[] {
  const counts = columns.get('count');
  if (counts === undefined || !(columns.has('sum') || columns.has('mean'))) return [];
  const hasEdges = columns.has('first_val') || columns.has('last_val');
  const [sumAt, meanAt, minAt, maxAt] = ['sum', 'mean', 'min', 'max'].map((name) =>
    cellsOf(columns.get(name)),
  );
  const values: RankValues[] = [];
  for (let from = 0, to = 0; from < rows; from = to) {
    const rank = index[from]!;
    const gathered = { longs: 0, doubles: 0, jsons: 0, sum: 0, magnitude: 0 };
    let [min, max]: (number | undefined)[] = [];
    for (to = from; to < rows && index[to] === rank; to++) {
      const count = counts.cells[2 * to + 1]! * TWO_32 + (counts.cells[2 * to]! >>> 0);
      const [least, greatest, mean] = [minAt!(to), maxAt!(to), meanAt!(to)];
      const sum = sumAt!(to) ?? (mean === undefined ? undefined : mean * count);
      if (sum === undefined) gathered.jsons++;
      else {
        gathered.doubles++;
        gathered.sum += sum;
        gathered.magnitude += Math.abs(sum);
      }
      if (least !== undefined) min = Math.min(min ?? least, least);
      if (greatest !== undefined) max = Math.max(max ?? greatest, greatest);
    }
    const isNumeric = gathered.jsons === 0;
    const isJson = gathered.doubles === 0 && min === undefined && max === undefined && !hasEdges;
    if (isNumeric || isJson)
      values.push({ rank, rows: { ...gathered, min, max, first: undefined, last: undefined } });
  }
  return values;
}

/** Reads the doubles of a column; undefined where it is missing or null. */
function cellsOf(column: ColumnBuffers | undefined): (row: number) => number | undefined {
  if (column === undefined) return () => undefined;
  const doubles = doublesOf(column);
  return (row) => (isSet(column.validity, row) ? doubles[row]! : undefined);
}
