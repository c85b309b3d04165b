/**
 * Rows of one kind that follow each other: what nulls, levels and values of a column follow from. For readings the kind
 * is that of the value, for a column of a table whether there is one.
 */
export interface KindRuns {
  /** Runs in use; the arrays may be longer. */
  count: number;
  /** First row of each run; it ends where the next begins. */
  starts: Int32Array;
  kinds: Uint8Array;
  /** Where the last run ends. */
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
