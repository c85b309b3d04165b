import { type ByteSink, putSized, putVarint, reserve } from './byte-sink.ts';

/** Rows of one kind that follow each other: of readings the kind of value, of a column of a table whether there is one. */
export interface KindRuns {
  count: number;
  /** First row of each run; it ends where the next begins. */
  starts: Int32Array;
  kinds: Uint8Array;
  rows: number;
}

export function createKindRuns(): KindRuns {
  return { count: 0, starts: new Int32Array(1024), kinds: new Uint8Array(1024), rows: 0 };
}

/** Begin a run at a row, unless the one under way is of this kind. */
export function startRun(runs: KindRuns, row: number, kind: number): void {
  const at = runs.count;
  if (at > 0 && runs.kinds[at - 1] === kind) return;
  if (at === runs.starts.length) {
    const [starts, kinds] = [new Int32Array(2 * at), new Uint8Array(2 * at)];
    starts.set(runs.starts);
    kinds.set(runs.kinds);
    Object.assign(runs, { starts, kinds });
  }
  runs.starts[at] = row;
  runs.kinds[at] = kind;
  runs.count = at + 1;
}

export function endOfRun({ starts, count, rows }: KindRuns, run: number): number {
  return run + 1 < count ? starts[run + 1]! : rows;
}

/** Rows of a page, and those of them that have a value. */
export interface PageRows {
  readonly row: number;
  readonly rows: number;
  /** Ranges of rows with a value: from, to, from, to, …, ascending. */
  readonly set: Int32Array;
  readonly nulls: number;
}

/** Half of what other writers have: who reads one series reads the pages that it touches. Objects are no larger by it. */
export const PAGE_ROWS = 10_000;

/** Pages of `PAGE_ROWS` rows, of a column without nulls where `runs` is undefined. */
export function pagesOf(rows: number, runs?: KindRuns, kind = 0): PageRows[] {
  const ends: number[] = [];
  for (let end = PAGE_ROWS; end < rows; end += PAGE_ROWS) ends.push(end);
  return pagesUntil([...ends, rows], runs, kind);
}

/** A page has so many values at least, if it ends where a series does. */
const MIN_PAGE_VALUES = 1_000;

/** In row groups of no more rows than these, what pages of their own spare is less than they take. */
const FEW_TIMES = 5_000;
const FEW_VALUES = 20_000;

/**
 * Pages that end where a series does, as far as they have enough values: no block of packed timestamps then holds the step back to the
 * beginning of the day, which makes all its values wide, and who reads one series reads no other's. `first`: the first row of each
 * series and, in the end, the number of rows.
 */
export function pagesBySeries(first: Int32Array, runs?: KindRuns, kind = 0): PageRows[] {
  const rows = first.at(-1)!;
  if (rows <= (runs === undefined ? FEW_TIMES : FEW_VALUES)) return pagesOf(rows, runs, kind);
  const ends: number[] = [];
  const valuesBefore = runs === undefined ? (row: number) => row : valueCounter(runs, kind);
  let from = 0;
  let valuesFrom = 0;
  for (let rank = 1; rank < first.length; rank++) {
    const end = first[rank]!;
    for (; end - from > PAGE_ROWS; from += PAGE_ROWS) {
      ends.push(from + PAGE_ROWS);
      valuesFrom = valuesBefore(from + PAGE_ROWS);
    }
    const valuesEnd = valuesBefore(end);
    if (valuesEnd - valuesFrom < MIN_PAGE_VALUES && rank + 1 < first.length) continue;
    if (end > from) ends.push(end);
    from = end;
    valuesFrom = valuesEnd;
  }
  return pagesUntil(ends, runs, kind);
}

/** Tells how many rows before one are of a kind; asked for rows that ascend. */
function valueCounter(runs: KindRuns, kind: number): (row: number) => number {
  let run = 0;
  let before = 0;
  return (row) => {
    for (; run < runs.count && endOfRun(runs, run) <= row; run++)
      if (runs.kinds[run] === kind) before += endOfRun(runs, run) - runs.starts[run]!;
    const isOpen = run < runs.count && runs.kinds[run] === kind && runs.starts[run]! < row;
    return isOpen ? before + row - runs.starts[run]! : before;
  };
}

function pagesUntil(ends: readonly number[], runs?: KindRuns, kind = 0): PageRows[] {
  let run = 0;
  return ends.map((end, page) => {
    const row = page === 0 ? 0 : ends[page - 1]!;
    const rows = end - row;
    if (runs === undefined) return { row, rows, set: Int32Array.of(row, end), nulls: 0 };
    const set: number[] = [];
    let nulls = rows;
    for (; run < runs.count && runs.starts[run]! < end; run++) {
      const runEnd = endOfRun(runs, run);
      if (runs.kinds[run] === kind) {
        const [from, to] = [Math.max(row, runs.starts[run]!), Math.min(end, runEnd)];
        set.push(from, to);
        nulls -= to - from;
      }
      if (runEnd > end) break;
    }
    return { row, rows, set: Int32Array.from(set), nulls };
  });
}

/** Bytes of a run in the hybrid of RLE and bit-packing: a length and a value. */
const RLE_RUN_BYTES = 4;

/** Definition levels with their length: as runs, or bit by bit where those are shorter. */
export function putLevels(sink: ByteSink, { row, rows, set }: PageRows): void {
  const groups = (rows + 7) >> 3;
  const runs = set.length + 1;
  reserve(sink, 16 + Math.max(groups, runs * RLE_RUN_BYTES));
  putSized(sink, () => {
    if (runs * RLE_RUN_BYTES < groups) return putLevelRuns(sink, row, rows, set);
    putVarint(sink, groups * 2 + 1);
    sink.bytes.fill(0, sink.at, sink.at + groups);
    for (let i = 0; i < set.length; i += 2) setBits(sink.bytes, sink.at, set[i]! - row, set[i + 1]! - row);
    sink.at += groups;
  });
}

function putLevelRuns(sink: ByteSink, row: number, rows: number, set: Int32Array): void {
  let at = row;
  const put = (to: number, level: number) => {
    if (to === at) return;
    putVarint(sink, (to - at) * 2);
    sink.bytes[sink.at++] = level;
    at = to;
  };
  for (let i = 0; i < set.length; i += 2) {
    put(set[i]!, 0);
    put(set[i + 1]!, 1);
  }
  put(row + rows, 0);
}

function setBits(bytes: Uint8Array, at: number, from: number, to: number): void {
  for (let i = from; i < to; i++) bytes[at + (i >> 3)]! |= 1 << (i & 7);
}
