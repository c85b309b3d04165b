/** Rows of a statistics object against the service's answer for the same windows, asked anew, a time slice at a time. */

import type { TimeRange } from '../../core/model/index.ts';
import { formatVesselDay, isWithin, microsToIso } from '../../core/model/index.ts';
import { planWindowSlices } from '../../core/plan/time-slices.ts';
import { isWindowValue } from '../../core/proof/compare-values.ts';
import { repeatedResult } from '../../source/answer-faults.ts';
import type { ResolvedSeries } from '../../source/context.ts';
import { seriesName } from '../../source/context.ts';
import { parseInt64Text, parseTimestampText } from '../../source/decode/index.ts';
import { collectStatistics, exportedWindows } from '../../source/statistics.ts';
import type { WindowRow } from './read-back-rows.ts';
import type { DeepDay } from './source-check.ts';

/** Windows × series compared at once: what bounds the memory. */
const COMPARED_WINDOWS = 20_000;

/** One place where the two differ, as both say it. */
interface WindowDifference {
  readonly published: string;
  readonly now: string;
}

interface WindowComparison {
  /** Windows that count other readings now. */
  readonly changed: readonly WindowDifference[];
  /** Windows of equal counts with other values. */
  readonly differing: readonly WindowDifference[];
}

/** Compare every window of the day. */
export async function checkWindows(deep: DeepDay, series: ResolvedSeries): Promise<WindowComparison> {
  const { job, day } = deep.context;
  const changed: WindowDifference[] = [];
  const differing: WindowDifference[] = [];
  for (const slice of planWindowSlices(job, day.date, series.idOf.size, COMPARED_WINDOWS)) {
    deep.context.signal.throwIfAborted();
    const now = await askSlice(deep, series, slice);
    const rows = deep.receipt.object === null ? [] : await deep.readBack.windows(deep.object, slice);
    for (const row of rows) {
      const key = `${row.timestampMicros}/${row.timeSeriesId}`;
      compareWindow(
        row,
        now.get(key),
        describe(row.timestampMicros, row.timeSeriesId, series),
        changed,
        differing,
      );
      now.delete(key);
    }
    for (const [key, values] of now) {
      const count = countOf(values);
      const [micros, id] = key.split('/') as [string, string];
      if (count > 0)
        changed.push({
          published: 'no such window published',
          now: `${describe(Number(micros), id, series)}: ${count} readings now`,
        });
    }
  }
  return { changed, differing };
}

function askSlice(
  { context }: DeepDay,
  series: ResolvedSeries,
  slice: TimeRange,
): Promise<Map<string, Map<string, string>>> {
  return collectStatistics(
    context,
    exportedWindows(context, series, slice),
    () => new Map<string, Map<string, string>>(),
    (windows, row) => {
      if (!isWithin(slice, row.timestampMicros)) return;
      const key = `${row.timestampMicros}/${row.id}`;
      const values = windows.get(key) ?? new Map<string, string>();
      windows.set(key, values);
      for (const [aggregation, text] of row.values) {
        if (text === 'null') continue;
        if (values.has(aggregation))
          throw repeatedResult(formatVesselDay(context.day), aggregation, row.id, row.timestampMicros);
        values.set(aggregation, text);
      }
    },
  );
}

function compareWindow(
  row: WindowRow,
  now: ReadonlyMap<string, string> | undefined,
  place: string,
  changed: WindowDifference[],
  differing: WindowDifference[],
): void {
  const published = Number(row.values.get('count'));
  const counted = countOf(now);
  if (published !== counted) {
    changed.push({ published: `${published} published`, now: `${place}: ${counted} readings now` });
    return;
  }
  for (const [aggregation, cell, text] of cellsOf(row, now!)) {
    const micros = aggregation.endsWith('_time') && text !== undefined ? parseTimestampText(text) : undefined;
    if (isWindowValue(aggregation, cell, text, micros)) continue;
    const shown = micros === undefined ? (text ?? 'none') : microsToIso(micros);
    differing.push({ published: `${aggregation} of ${place}: ${cell ?? 'none'}`, now: shown.slice(0, 100) });
  }
}

/** Cells and answered texts by aggregation; the two columns of `first_val` and `last_val` are one value. */
function cellsOf(
  row: WindowRow,
  now: ReadonlyMap<string, string>,
): [aggregation: string, cell: bigint | number | string | null, text: string | undefined][] {
  return [...row.values].flatMap(([name, cell]) => {
    if (name.endsWith('_json')) return [];
    return [[name, cell ?? row.values.get(`${name}_json`) ?? null, now.get(name)]];
  });
}

function countOf(values: ReadonlyMap<string, string> | undefined): number {
  const text = values?.get('count');
  return text === undefined ? 0 : parseInt64Text(text);
}

function describe(micros: number, id: string, series: ResolvedSeries): string {
  return `series ${seriesName(series, id)} in the window at ${microsToIso(micros)}`;
}
