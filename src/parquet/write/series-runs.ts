import { MICROS_PER_HOUR, type RunColumns } from '../../core/model/index.ts';
import { cellNumber } from './page-values.ts';

/** Runs of rows sorted by series and time; `first`: the first row of each rank and, in the end, their number. `counts`: readings in a row. */
export function findRuns(first: Int32Array, micros: Float64Array, counts?: Int32Array): RunColumns {
  const ranks: number[] = [];
  const ends: number[] = [0];
  for (let rank = 0; rank + 1 < first.length; rank++)
    for (let row = first[rank]!, end = row; row < first[rank + 1]!; row = end) {
      const hourEnds = (Math.floor(micros[row]! / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR;
      end = firstFrom(micros, hourEnds, row, first[rank + 1]!);
      ranks.push(rank);
      ends.push(end);
    }
  const column = (of: (from: number, to: number) => number) =>
    Float64Array.from(ranks, (_, run) => of(ends[run]!, ends[run + 1]!));
  return {
    ranks: Int32Array.from(ranks),
    counts: column((from, to) => (counts === undefined ? to - from : sumOf(counts, from, to))),
    firstMicros: column((from) => micros[from]!),
    lastMicros: column((_, to) => micros[to - 1]!),
  };
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
