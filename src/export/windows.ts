/** Pages of statistics windows → the row group builder. A page is taken whole: its order is not promised. */

import { parseInt64Text } from '../decode/index.ts';
import type { RowGroupBuilder } from '../encode/index.ts';
import { DataError } from '../errors.ts';
import type { StatisticsRow, TimeRange } from '../model/index.ts';
import { formatVesselDay, microsToIso } from '../model/index.ts';
import type { Assembly } from './assembly.ts';
import { UnknownSeriesError } from './clean-start.ts';
import { askStatistics } from './source.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';

/** Windows × series that one request asks for at most; bounds the memory of a page. */
export const PAGE_TARGET_WINDOWS = 100_000;

export interface WindowsOptions {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly builder: RowGroupBuilder<readonly StatisticsRow[]>;
  readonly assembly: Assembly;
  readonly tally: { pages: number; clippedRows: number };
  readonly onRows: (rows: number) => void;
}

/** Fetch pages in order. A row exists exactly where `count` is above 0. */
export async function fetchWindows(options: WindowsOptions, pages: readonly TimeRange[]): Promise<void> {
  for (const page of pages) {
    const rows = await fetchWindowPage(options, page);
    options.builder.append(rows, 0, rows.length);
    options.onRows(rows.length);
    options.tally.pages++;
    await options.assembly.sealReady();
  }
}

async function fetchWindowPage(options: WindowsOptions, page: TimeRange): Promise<StatisticsRow[]> {
  const { context, series } = options;
  const { window, aggregations } = context.job;
  let merged = new Map<string, MergedRow>();
  let clipped = 0;
  await askStatistics(
    context,
    {
      expressions: series.expressions,
      range: page,
      aggregations: aggregations ?? ['count'],
      ...(window === undefined ? {} : { window }),
      windowEdges: 'whole',
    },
    () => {
      merged = new Map();
      clipped = 0;
      return {
        add(row) {
          if (!series.idOf.has(row.id)) throw new UnknownSeriesError(context.day, row.id);
          if (row.timestampMicros >= page.fromMicros && row.timestampMicros < page.toMicros)
            merge(merged, row, options);
          else clipped++;
        },
        end() {},
      };
    },
  );
  options.tally.clippedRows += clipped;
  return [...merged.values()]
    .filter((row) => hasReadings(row))
    .sort((a, b) => a.timestampMicros - b.timestampMicros);
}

type MergedRow = Omit<StatisticsRow, 'values'> & { values: Map<string, string> };

/** The older version sends one object per series, window and aggregation: one row of ours. */
function merge(merged: Map<string, MergedRow>, row: StatisticsRow, options: WindowsOptions): void {
  const key = `${row.timestampMicros}/${row.id}`;
  const known = merged.get(key);
  if (known === undefined) {
    merged.set(key, { timestampMicros: row.timestampMicros, id: row.id, values: new Map(row.values) });
    return;
  }
  for (const [aggregation, text] of row.values) {
    if (known.values.has(aggregation)) {
      throw new DataError(
        'repeated-result',
        `${formatVesselDay(options.context.day)}: got '${aggregation}' of series ${row.id} twice for the window at ${microsToIso(row.timestampMicros)}, expected once; report it to the operator of the query service`,
      );
    }
    known.values.set(aggregation, text);
  }
}

function hasReadings(row: StatisticsRow): boolean {
  const count = row.values.get('count');
  return count !== undefined && count !== 'null' && parseInt64Text(count) > 0;
}
