import { MICROS_PER_HOUR, type RunColumns } from '../../core/model/index.ts';

const TWO_32 = 2 ** 32;

/** A 64-bit cell as a number: exact up to 2^53. */
export function cellNumber(cells: Int32Array, row: number): number {
  return cells[2 * row + 1]! * TWO_32 + (cells[2 * row]! >>> 0);
}

/**
 * Runs of rows that are sorted by series and time; `first` is the first row of each rank and, in the end, the number of
 * rows. A row counts as one reading, or as many as its cell in `counts` says.
 */
export function findRuns(first: Int32Array, micros: Float64Array, counts?: Int32Array): RunColumns {
  let ranks = new Int32Array(FIRST_RUNS);
  /** Of each run its count, first and last time. */
  let cells = new Float64Array(3 * FIRST_RUNS);
  let runs = 0;
  for (let rank = 0; rank + 1 < first.length; rank++)
    for (let row = first[rank]!, end = row; row < first[rank + 1]!; row = end) {
      const hourEnds = (Math.floor(micros[row]! / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR;
      end = firstFrom(micros, hourEnds, row, first[rank + 1]!);
      if (runs === ranks.length) [ranks, cells] = [widened(ranks), widened(cells)];
      ranks[runs] = rank;
      cells[3 * runs] = counts === undefined ? end - row : sumOf(counts, row, end);
      cells[3 * runs + 1] = micros[row]!;
      cells[3 * runs + 2] = micros[end - 1]!;
      runs++;
    }
  const column = (cell: number) => {
    const values = new Float64Array(runs);
    for (let run = 0; run < runs; run++) values[run] = cells[3 * run + cell]!;
    return values;
  };
  return { ranks: ranks.slice(0, runs), counts: column(0), firstMicros: column(1), lastMicros: column(2) };
}

/** Runs that there is room for at first: those of a small vessel-day. */
const FIRST_RUNS = 2_048;

function widened<T extends Int32Array | Float64Array>(array: T): T {
  const wider = new (array.constructor as new (length: number) => T)(2 * array.length);
  wider.set(array);
  return wider;
}

/** The first of rows `[from, to)` that is not before an instant. */
function firstFrom(micros: Float64Array, instant: number, from: number, to: number): number {
  let row = from;
  while (row < to && micros[row]! < instant) row++;
  return row;
}

function sumOf(cells: Int32Array, from: number, to: number): number {
  let sum = 0;
  for (let row = from; row < to; row++) sum += cellNumber(cells, row);
  return sum;
}
