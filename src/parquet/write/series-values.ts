/** What the values of each series come to, from rows that are sorted by series and time. */
import { DOUBLE, type LakeValue, LONG, MAX_EDGE_VALUES, type SeriesRows } from '../../core/model/index.ts';
import type { SortedReadings } from './measurement-sort.ts';
import { cellNumber } from './page-values.ts';
import { endOfRun } from './pages.ts';

export interface RankValues {
  readonly rank: number;
  readonly rows: SeriesRows;
}

const TWO_32 = 2 ** 32;

/** A 64-bit integer of its words; `low` is unsigned. Sums of words may be wider. */
function bigintOf(high: number, low: number): bigint {
  const value = high * TWO_32 + low;
  return Number.isSafeInteger(value) ? BigInt(value) : BigInt(high) * BigInt(TWO_32) + BigInt(low);
}

function doublesOf(cells: Int32Array): Float64Array {
  return new Float64Array(cells.buffer, cells.byteOffset, cells.length >> 1);
}

/** Of readings; `jsonAt`: the text of a row that holds JSON. */
export function readingValues(sorted: SortedReadings, jsonAt: (row: number) => string): RankValues[] {
  const { first, cells, kinds } = sorted;
  const doubles = doublesOf(cells);
  const values: RankValues[] = [];
  let run = 0;
  for (let rank = 0; rank + 1 < first.length; rank++) {
    const [from, to] = [first[rank]!, first[rank + 1]!];
    if (from === to) continue;
    while (endOfRun(kinds, run) <= from) run++;
    const rows = sumReadings(sorted, doubles, run, from, to);
    Object.assign(rows, edgesOf(sorted, doubles, jsonAt, run, from, to));
    values.push({ rank, rows });
  }
  return values;
}

/** Rows `[from, to)`, which begin within a run of kinds; their first and last values are not known yet. */
function sumReadings(
  { cells, kinds }: SortedReadings,
  doubles: Float64Array,
  firstRun: number,
  from: number,
  to: number,
): SeriesRows {
  // Of a small vessel-day a series has a few rows of one kind: to make both, and to spread them, took longer than to add.
  let ofLongs: Longs | undefined;
  let ofDoubles: Doubles | undefined;
  for (let run = firstRun, row = from; row < to; run++) {
    const end = Math.min(to, endOfRun(kinds, run));
    if (kinds.kinds[run] === DOUBLE) {
      ofDoubles ??= new Doubles();
      ofDoubles.add(doubles, row, end);
    } else if (kinds.kinds[run] === LONG) {
      ofLongs ??= new Longs();
      ofLongs.add(cells, row, end);
    }
    row = end;
  }
  const rows = to - from;
  if (ofLongs === undefined) return rowsOf(rows, 0, ofDoubles ?? NO_NUMBERS);
  const min = bigintOf(ofLongs.minHigh, ofLongs.minLow);
  const max = bigintOf(ofLongs.maxHigh, ofLongs.maxLow);
  const sum = bigintOf(ofLongs.highSum, ofLongs.lowSum);
  const { count, magnitude } = ofLongs;
  if (ofDoubles === undefined) return rowsOf(rows, count, { count: 0, min, max, sum, magnitude });
  return rowsOf(rows, count, {
    count: ofDoubles.count,
    min: Math.min(Number(min), ofDoubles.min),
    max: Math.max(Number(max), ofDoubles.max),
    sum: Number(sum) + ofDoubles.sum,
    magnitude: magnitude + ofDoubles.magnitude,
  });
}

/** What numbers come to; `count` of the doubles among them. */
interface Numbers extends Pick<SeriesRows, 'min' | 'max' | 'sum' | 'magnitude'> {
  readonly count: number;
}

const NO_NUMBERS: Numbers = { count: 0, min: undefined, max: undefined, sum: undefined, magnitude: 0 };

function rowsOf(rows: number, longs: number, numbers: Numbers): SeriesRows {
  const { count: doubles, min, max, sum, magnitude } = numbers;
  const jsons = rows - longs - doubles;
  return { longs, doubles, jsons, min, max, sum, magnitude, first: undefined, last: undefined };
}

class Doubles {
  count = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  sum = 0;
  magnitude = 0;

  add(doubles: Float64Array, from: number, end: number): void {
    let { min, max, sum, magnitude } = this;
    for (let row = from; row < end; row++) {
      const value = doubles[row]!;
      if (value < min) min = value;
      if (value > max) max = value;
      sum += value;
      magnitude += Math.abs(value);
    }
    this.count += end - from;
    Object.assign(this, { min, max, sum, magnitude });
  }
}

/** The same of longs, in numbers that stay exact: high and low words are added apart. */
class Longs {
  count = 0;
  minHigh = TWO_32;
  minLow = 0;
  maxHigh = -TWO_32;
  maxLow = 0;
  highSum = 0;
  lowSum = 0;
  magnitude = 0;

  add(cells: Int32Array, from: number, end: number): void {
    let { minHigh, minLow, maxHigh, maxLow, highSum, lowSum, magnitude } = this;
    for (let row = from; row < end; row++) {
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
    this.count += end - from;
    Object.assign(this, { minHigh, minLow, maxHigh, maxLow, highSum, lowSum, magnitude });
  }
}

/** Values at the first and at the last instant of rows `[from, to)`. */
function edgesOf(
  { micros, cells, kinds }: SortedReadings,
  doubles: Float64Array,
  jsonAt: (row: number) => string,
  firstRun: number,
  from: number,
  to: number,
): { first: LakeValue[]; last: LakeValue[] } {
  let run = firstRun;
  const valueAt = (row: number): LakeValue => {
    while (endOfRun(kinds, run) <= row) run++;
    if (kinds.kinds[run] === DOUBLE) return doubles[row]!;
    if (kinds.kinds[run] !== LONG) return { json: jsonAt(row) };
    return bigintOf(cells[2 * row + 1]!, cells[2 * row]! >>> 0);
  };
  let firstEnd = from + 1;
  while (firstEnd < to && micros[firstEnd] === micros[from] && firstEnd - from < MAX_EDGE_VALUES) firstEnd++;
  let lastFrom = to - 1;
  while (lastFrom > from && micros[lastFrom - 1] === micros[to - 1] && to - lastFrom < MAX_EDGE_VALUES)
    lastFrom--;
  const first: LakeValue[] = [];
  for (let row = from; row < firstEnd; row++) first.push(valueAt(row));
  // Both may be the same rows: the search for the run begins anew.
  run = firstRun;
  const last: LakeValue[] = [];
  for (let row = lastFrom; row < to; row++) last.push(valueAt(row));
  return { first, last: last.reverse() };
}

export interface OrderedColumn {
  readonly cells: Int32Array;
  /** 1 where the row has a value. */
  readonly set: Uint8Array;
}

/** Of statistics, as far as their columns tell it. Left out: series of which a change could not be seen, without sum and mean, or with JSON's edges. */
export function windowValues(first: Int32Array, columns: ReadonlyMap<string, OrderedColumn>): RankValues[] {
  const counts = columns.get('count');
  if (counts === undefined || !(columns.has('sum') || columns.has('mean'))) return [];
  const hasEdges = columns.has('first_val') || columns.has('last_val');
  const readerOf = (name: string) => cellsOf(columns.get(name));
  const readers = [readerOf('sum'), readerOf('mean'), readerOf('min'), readerOf('max')] as const;
  const values: RankValues[] = [];
  for (let rank = 0; rank + 1 < first.length; rank++) {
    const [from, to] = [first[rank]!, first[rank + 1]!];
    if (from === to) continue;
    const rows = sumWindows(counts.cells, readers, from, to);
    const isJson = rows.doubles === 0 && rows.min === undefined && rows.max === undefined && !hasEdges;
    if (rows.jsons === 0 || isJson)
      values.push({ rank, rows: { ...rows, first: undefined, last: undefined } });
  }
  return values;
}

type ReadCell = (row: number) => number | undefined;

/** Windows `[from, to)` of one series; a window without sum and mean is one of JSON. */
function sumWindows(
  counts: Int32Array,
  [sumAt, meanAt, minAt, maxAt]: readonly [ReadCell, ReadCell, ReadCell, ReadCell],
  from: number,
  to: number,
) {
  const gathered = { longs: 0, doubles: 0, jsons: 0, sum: 0, magnitude: 0 };
  let [min, max]: (number | undefined)[] = [];
  for (let row = from; row < to; row++) {
    const count = cellNumber(counts, row);
    const [least, greatest, mean] = [minAt(row), maxAt(row), meanAt(row)];
    const sum = sumAt(row) ?? (mean === undefined ? undefined : mean * count);
    if (sum === undefined) gathered.jsons++;
    else {
      gathered.doubles++;
      gathered.sum += sum;
      gathered.magnitude += Math.abs(sum);
    }
    if (least !== undefined) min = Math.min(min ?? least, least);
    if (greatest !== undefined) max = Math.max(max ?? greatest, greatest);
  }
  return { ...gathered, min, max };
}

function cellsOf(column: OrderedColumn | undefined): ReadCell {
  if (column === undefined) return () => undefined;
  const doubles = doublesOf(column.cells);
  return (row) => (column.set[row] === 1 ? doubles[row]! : undefined);
}
