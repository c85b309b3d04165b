import { MICROS_PER_HOUR, type SeriesRun } from '../model/index.ts';

/** The runs of a row group by series (rank) and UTC hour, as arrays. */
export interface RunColumns {
  readonly ranks: number[];
  readonly counts: number[];
  readonly firstMicros: number[];
  readonly lastMicros: number[];
}

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
  const runs: RunColumns = { ranks: [], counts: [], firstMicros: [], lastMicros: [] };
  for (let rank = 0; rank + 1 < first.length; rank++)
    for (let row = first[rank]!, end = row; row < first[rank + 1]!; row = end) {
      const hourEnds = (Math.floor(micros[row]! / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR;
      end = firstFrom(micros, hourEnds, row, first[rank + 1]!);
      runs.ranks.push(rank);
      runs.counts.push(counts === undefined ? end - row : sumOf(counts, row, end));
      runs.firstMicros.push(micros[row]!);
      runs.lastMicros.push(micros[end - 1]!);
    }
  return runs;
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

/** The same as objects, with ids for ranks. */
export function seriesRuns(runs: RunColumns, ids: readonly string[]): SeriesRun[] {
  return runs.ranks.map((rank, i) => ({
    timeSeriesId: ids[rank]!,
    count: runs.counts[i]!,
    firstMicros: runs.firstMicros[i]!,
    lastMicros: runs.lastMicros[i]!,
  }));
}
