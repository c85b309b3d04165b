/** Statistics: one row per window and id, in this order. Memory is bounded by one slice of readings and the windows open in it. */
import type { Aggregation, ColumnBatch, Micros, TimeRange } from '../../core/model/index.ts';
import type { DataSource } from '../data/source.ts';
import { STEPS_PER_LOOK, type Work } from '../turns.ts';
import { needTimesOnly, WindowAccumulator, WindowTimes } from './aggregations.ts';
import type { SelectedSeries } from './selection.ts';
import { type Window, windowAt } from './windows.ts';

/** Up to fifteen values each, which become text one by one. */
const RESULTS_PER_PIECE = 256;

/** One window of what is answered under one id. */
export interface StatisticsResult {
  readonly start: Micros;
  readonly end: Micros;
  /** Names it: the first of those that share the id. */
  readonly series: SelectedSeries;
  /** Position of `series` among all that are answered. */
  readonly group: number;
  readonly values: WindowTimes;
}

interface StatisticsQuery {
  readonly series: readonly SelectedSeries[];
  /** After `windowedRange`. */
  readonly range: TimeRange;
  readonly window: Window;
  readonly aggregations: readonly Aggregation[];
  /** True: series that share an id give one result. */
  readonly mergeSharedIds: boolean;
}

/** Results by window, and then by the position of their series. */
export async function* computeStatistics(
  source: DataSource,
  query: StatisticsQuery,
  work: Work,
): AsyncGenerator<StatisticsResult[], void, void> {
  const { named, groupOf, shared } = await groupSeries(query, work);
  const timesOnly = needTimesOnly(query.aggregations);
  const open: (StatisticsResult | undefined)[] = new Array(named.length).fill(undefined);
  /** Those that the next reading of their group, or the end of a slice, has left. */
  let closed: StatisticsResult[] = [];

  /** Add rows `[from, to)` to the windows. */
  function gather(batch: ColumnBatch, from: number, to: number): void {
    const { timestampMicros, seriesCodes } = batch;
    for (let row = from; row < to; ) {
      const micros = timestampMicros[row]!;
      const code = seriesCodes[row]!;
      const group = groupOf[code]!;
      let current = open[group];
      if (current === undefined || micros >= current.end) {
        if (current !== undefined) closed.push(current);
        const values = timesOnly ? new WindowTimes() : new WindowAccumulator(query.aggregations);
        current = { ...windowAt(micros, query.window, query.range), series: named[group]!, group, values };
        open[group] = current;
      }
      // Readings of one series mostly follow each other.
      let end = row + 1;
      while (end < to && seriesCodes[end] === code && timestampMicros[end]! < current.end) end++;
      if (timesOnly) current.values.addTimes(batch, row, end);
      else (current.values as WindowAccumulator).add(batch, row, end);
      row = end;
    }
  }

  const records = query.series.map(({ record }) => record);
  // Merged series must come in one order; otherwise each series' own order is enough.
  const need = { values: !timesOnly, interleaved: shared };
  for await (const { batch, toMicros } of source.read(records, query.range, need, work)) {
    for (let from = 0; from < batch.rows; from += STEPS_PER_LOOK) {
      if (work.isDue()) await work.pause();
      gather(batch, from, Math.min(batch.rows, from + STEPS_PER_LOOK));
    }
    for (const [group, current] of open.entries()) {
      if (current === undefined || current.end > toMicros) continue;
      closed.push(current);
      open[group] = undefined;
    }
    yield* inOrder(closed, work);
    closed = [];
  }
  yield* inOrder(
    open.filter((window) => window !== undefined),
    work,
  );
}

async function* inOrder(
  windows: StatisticsResult[],
  work: Work,
): AsyncGenerator<StatisticsResult[], void, void> {
  windows.sort((a, b) => a.start - b.start || a.group - b.group);
  for (let at = 0; at < windows.length; at += RESULTS_PER_PIECE) {
    if (work.isDue()) await work.pause();
    yield windows.slice(at, at + RESULTS_PER_PIECE);
  }
}

/** Which series are answered as one: the first of each group gives its name. */
async function groupSeries({ series, mergeSharedIds }: StatisticsQuery, work: Work) {
  if (!mergeSharedIds) return { named: series, groupOf: series.map((_, index) => index), shared: false };
  const groups = new Map<string, number>();
  const named: SelectedSeries[] = [];
  const groupOf: number[] = [];
  for (const selected of series) {
    if (groupOf.length % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    const known = groups.get(selected.id);
    if (known === undefined) groups.set(selected.id, named.length);
    groupOf.push(known ?? named.push(selected) - 1);
  }
  return { named, groupOf, shared: named.length < series.length };
}
