/** Time slices of statistics → the row group builder. One is taken whole: the order in it is not promised. */

import { DataError, RetriableError } from '../core/errors.ts';
import type { StatisticsRow, TimeRange, VesselDay } from '../core/model/index.ts';
import { formatVesselDay, isWithin, microsToIso, windowMicrosOf } from '../core/model/index.ts';
import { firstThree } from '../core/proof/day-totals.ts';
import { repeatedResult, UnknownSeriesError } from '../source/answer-faults.ts';
import type { SourceContext } from '../source/context.ts';
import { seriesName } from '../source/context.ts';
import { idExpressions } from '../source/series.ts';
import { aggregationsOf, collectStatistics, exportedWindows } from '../source/statistics.ts';
import type { FetchOptions } from './assembly.ts';
import type { MissingValue } from './missing-values.ts';
import { countOf, findMissingValues, isAlwaysDefined } from './missing-values.ts';

type WindowsOptions = FetchOptions<readonly StatisticsRow[]>;
type MergedRow = Omit<StatisticsRow, 'values'> & { readonly values: Map<string, string> };

/** Fetch time slices in order. A row exists exactly where `count` is above 0. */
export async function fetchWindows(options: WindowsOptions, slices: readonly TimeRange[]): Promise<void> {
  for (const slice of slices) {
    const rows = await fetchWindowsSlice(options, slice);
    options.builder.append(rows, 0, rows.length);
    options.onRows(rows.length);
    options.tally.slices++;
    await options.assembly.sealReady();
  }
}

/** Tries of an answer that lacks values. */
const TRIES = 3;

async function fetchWindowsSlice(options: WindowsOptions, slice: TimeRange): Promise<StatisticsRow[]> {
  const { context, tally } = options;
  const { day, log } = context;
  for (let attempt = 1; ; attempt++) {
    const { rows, clippedRows } = await askWindows(options, slice, options.series.expressions);
    tally.clippedRows += clippedRows;
    const missing = await confirmMissing(options, findMissingValues(rows, aggregationsOf(context)));
    if (missing.length === 0)
      return rows.filter((row) => countOf(row) > 0).sort((a, b) => a.timestampMicros - b.timestampMicros);
    const reason = `an answer was cut: ${describeMissing(options, missing)}`;
    if (attempt === TRIES)
      throw new RetriableError(
        'answer-cut',
        `${formatVesselDay(day)}: ${reason}. Nothing was published; run again later, and if it stays, report it to the operator of the query service`,
      );
    log.warn({ vesselDay: formatVesselDay(day), reason }, 'asking for the windows again');
  }
}

async function askWindows(
  { context, series }: WindowsOptions,
  slice: TimeRange,
  expressions: readonly string[],
): Promise<{ rows: StatisticsRow[]; clippedRows: number }> {
  const { merged, clippedRows } = await collectStatistics(
    context,
    exportedWindows(context, { ...series, expressions }, slice),
    () => ({ merged: new Map<string, MergedRow>(), clippedRows: 0 }),
    (gathered, row) => {
      if (!series.idOf.has(row.id)) throw new UnknownSeriesError(context.day, row.id);
      if (!isWithin(slice, row.timestampMicros)) gathered.clippedRows++;
      else {
        checkAligned(row, context);
        merge(gathered.merged, row, context.day);
      }
    },
  );
  return { rows: [...merged.values()], clippedRows };
}

/** Windows divide a day: others would overlap with those, and be without number. */
function checkAligned({ timestampMicros }: StatisticsRow, { job, day }: SourceContext): void {
  if (timestampMicros % windowMicrosOf(job) === 0) return;
  throw new DataError(
    'windows-misaligned',
    `${formatVesselDay(day)}: got a window of ${job.window ?? '1h'} that begins at ${microsToIso(timestampMicros)}, expected windows that follow each other from UTC midnight on; report it to the operator of the query service`,
  );
}

/**
 * Those that a smaller question brings to light. What the service leaves out then too is not defined: a sum beyond the
 * range of a double, a mean of numbers and JSON, an average over no time.
 */
async function confirmMissing(
  options: WindowsOptions,
  missing: readonly MissingValue[],
): Promise<readonly MissingValue[]> {
  if (missing.length === 0) return missing;
  const starts = missing.map(({ timestampMicros }) => timestampMicros).sort((a, b) => a - b);
  const range = {
    fromMicros: starts[0]!,
    toMicros: starts.at(-1)! + windowMicrosOf(options.context.job),
  };
  const ids = [...new Set(missing.map(({ id }) => id))];
  const { rows } = await askWindows(options, range, idExpressions(ids));
  const answered = new Map(rows.map((row) => [keyOf(row), row.values]));
  const isUndefined = (value: MissingValue) =>
    !isAlwaysDefined(value) && answered.get(keyOf(value))?.has(value.aggregation) === false;
  return missing.filter((value) => !isUndefined(value));
}

function describeMissing({ series }: WindowsOptions, missing: readonly MissingValue[]): string {
  return firstThree(
    missing,
    ({ id, timestampMicros, aggregation }) =>
      `it lacks '${aggregation}' of series ${seriesName(series, id)} in the window at ${microsToIso(timestampMicros)}`,
  );
}

function keyOf({ timestampMicros, id }: Pick<StatisticsRow, 'timestampMicros' | 'id'>): string {
  return `${timestampMicros}/${id}`;
}

/** The older version sends one object per series, window and aggregation: one row of ours. */
function merge(merged: Map<string, MergedRow>, row: StatisticsRow, day: VesselDay): void {
  const key = keyOf(row);
  const known = merged.get(key);
  if (known === undefined) {
    merged.set(key, { timestampMicros: row.timestampMicros, id: row.id, values: new Map(row.values) });
    return;
  }
  for (const [aggregation, text] of row.values) {
    if (known.values.has(aggregation))
      throw repeatedResult(formatVesselDay(day), aggregation, row.id, row.timestampMicros);
    known.values.set(aggregation, text);
  }
}
