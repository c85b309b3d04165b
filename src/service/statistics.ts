/**
 * Statistics: readings in, one row per window and id out, in order of window and then of id. Memory is bounded
 * by one slice of readings and the windows open in it.
 */
import type { Aggregation, Micros, TimeRange } from '../model/index.ts';
import { needTimesOnly, WindowAccumulator } from './aggregations.ts';
import type { DataSource, ReadingsSlice } from './data/source.ts';
import type { SelectedSeries } from './selection.ts';
import type { Window } from './windows.ts';
import { windowAt } from './windows.ts';

export interface StatisticsResult {
  /** Start of the window. */
  readonly startMicros: Micros;
  readonly id: string;
  /** The domain of `id`. */
  readonly domain: string;
  /** Aggregation and its value as JSON text, in the order asked for; the undefined ones are missing. */
  readonly values: readonly (readonly [Aggregation, string])[];
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

interface OpenWindow {
  readonly start: Micros;
  readonly end: Micros;
  readonly group: number;
  readonly accumulator: WindowAccumulator;
}

export async function* computeStatistics(
  source: DataSource,
  query: StatisticsQuery,
): AsyncGenerator<StatisticsResult[], void, void> {
  const { named, groupOf, shared } = groupSeries(query);
  const timesOnly = needTimesOnly(query.aggregations);
  const open: (OpenWindow | undefined)[] = new Array(named.length).fill(undefined);
  let done: OpenWindow[] = [];
  const records = query.series.map(({ record }) => record);
  const slices = source.read(records, query.range, {
    values: !timesOnly,
    // Merged series must come in one order; otherwise each series' own order is enough.
    interleaved: shared,
  });
  for await (const slice of slices) {
    gather(slice, query, groupOf, timesOnly, open, done);
    const closed = done;
    done = [];
    for (let group = 0; group < open.length; group++) {
      const current = open[group];
      if (current === undefined || current.end > slice.toMicros) continue;
      closed.push(current);
      open[group] = undefined;
    }
    if (closed.length > 0) yield results(closed, named, query.aggregations);
  }
  const rest = open.filter((window) => window !== undefined);
  if (rest.length > 0) yield results(rest, named, query.aggregations);
}

/** Add a slice to the windows; those that the next reading of their group has left go to `done`. */
function gather(
  { batch }: ReadingsSlice,
  query: StatisticsQuery,
  groupOf: readonly number[],
  timesOnly: boolean,
  open: (OpenWindow | undefined)[],
  done: OpenWindow[],
): void {
  for (let row = 0; row < batch.rows; row++) {
    const micros = batch.timestampMicros[row]!;
    const group = groupOf[batch.seriesCodes[row]!]!;
    let current = open[group];
    if (current === undefined || micros >= current.end) {
      if (current !== undefined) done.push(current);
      const { start, end } = windowAt(micros, query.window, query.range);
      current = { start, end, group, accumulator: new WindowAccumulator(query.aggregations) };
      open[group] = current;
    }
    if (timesOnly) current.accumulator.addTime(micros);
    else current.accumulator.add(batch, row);
  }
}

function results(
  windows: OpenWindow[],
  named: readonly SelectedSeries[],
  aggregations: readonly Aggregation[],
): StatisticsResult[] {
  windows.sort((a, b) => a.start - b.start || a.group - b.group);
  return windows.map(({ start, group, accumulator }) => ({
    startMicros: start,
    id: named[group]!.id,
    domain: named[group]!.domain,
    values: aggregations.flatMap((aggregation) => {
      const value = accumulator.value(aggregation);
      return value === undefined ? [] : [[aggregation, value] as const];
    }),
  }));
}

/** Which series are answered as one: the first of each group gives its name. */
function groupSeries({ series, mergeSharedIds }: StatisticsQuery) {
  if (!mergeSharedIds) return { named: series, groupOf: series.map((_, index) => index), shared: false };
  const groups = new Map<string, number>();
  const named: SelectedSeries[] = [];
  const groupOf = series.map((selected) => {
    const known = groups.get(selected.id);
    if (known !== undefined) return known;
    groups.set(selected.id, named.length);
    return named.push(selected) - 1;
  });
  return { named, groupOf, shared: named.length < series.length };
}
