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
 * Runs of rows that are sorted by series and time. A row counts as one reading, or as many as its cell in
 * `counts` says.
 */
export function findRuns(
  index: Int32Array,
  timestamps: Int32Array,
  rows: number,
  counts?: Int32Array,
): RunColumns {
  const runs: RunColumns = { ranks: [], counts: [], firstMicros: [], lastMicros: [] };
  let rank = -1;
  let hourEnds = 0;
  let count = 0;
  let last = 0;
  for (let row = 0; row < rows; row++) {
    const micros = cellNumber(timestamps, row);
    if (index[row] !== rank || micros >= hourEnds) {
      if (rank >= 0) {
        runs.counts.push(count);
        runs.lastMicros.push(last);
      }
      rank = index[row]!;
      hourEnds = (Math.floor(micros / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR;
      count = 0;
      runs.ranks.push(rank);
      runs.firstMicros.push(micros);
    }
    count += counts === undefined ? 1 : cellNumber(counts, row);
    last = micros;
  }
  if (rank >= 0) {
    runs.counts.push(count);
    runs.lastMicros.push(last);
  }
  return runs;
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
