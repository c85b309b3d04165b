/** Time slices of statistics → the row group builder. A slice is taken as a whole, because its order is not guaranteed. */

import { DataError, RetriableError } from '../core/errors.ts';
import type { Aggregation, Micros, StatisticsRow, TimeRange, VesselDay } from '../core/model/index.ts';
import {
  formatVesselDay,
  isWithin,
  microsToIso,
  STATISTICS_ROW_GROUP_ROWS,
  windowMicrosOf,
} from '../core/model/index.ts';
import { firstThree } from '../core/proof/day-totals.ts';
import { createStatisticsRowGroups } from '../parquet/write/index.ts';
import { repeatedResult, UnknownSeriesError } from '../source/answer-faults.ts';
import { type SourceContext, seriesName } from '../source/context.ts';
import { parseInt64Text } from '../source/decode/number-lexeme.ts';
import { idExpressions } from '../source/series.ts';
import { aggregationsOf, collectStatistics, exportedWindows } from '../source/statistics.ts';
import { type FetchOptions, openStages, type StagesOptions } from './assembly.ts';

type WindowsOptions = FetchOptions<readonly StatisticsRow[]>;
type MergedRow = Omit<StatisticsRow, 'values'> & { readonly values: Map<string, string> };

export function openWindows(options: StagesOptions) {
  const { context, series, ports } = options;
  const builder = createStatisticsRowGroups({
    ...ports.sizes,
    rowGroupRows: Math.min(ports.sizes.rowGroupRows, STATISTICS_ROW_GROUP_ROWS),
    aggregations: context.job.aggregations ?? ['count'],
    idOf: (id) => series.idOf.get(id) ?? null,
    encoder: ports.encoder,
  });
  return openStages(options, builder, windowMicrosOf(context.job), fetchWindows);
}

/** Fetch time slices in order. A row exists exactly where `count` is above 0. */
async function fetchWindows(options: WindowsOptions, slices: readonly TimeRange[]): Promise<void> {
  for (const slice of slices) {
    const rows = await fetchWindowsSlice(options, slice);
    options.builder.append(rows, 0, rows.length);
    options.onRows(rows.length);
    options.tally.slices++;
    await options.sealReady();
  }
}

/** Attempts at an answer that lacks values. */
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
    if (attempt === TRIES) {
      const text = `${formatVesselDay(day)}: ${reason}. Nothing was published; run again later, and if it stays, report it to the operator of the query service`;
      throw new RetriableError('answer-cut', text);
    }
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

/** Windows divide a day: others would overlap, and their number would be unbounded. */
function checkAligned({ timestampMicros }: StatisticsRow, { job, day }: SourceContext): void {
  if (timestampMicros % windowMicrosOf(job) === 0) return;
  const text = `${formatVesselDay(day)}: got a window of ${job.window ?? '1h'} that begins at ${microsToIso(timestampMicros)}, expected windows that follow each other from UTC midnight on; report it to the operator of the query service`;
  throw new DataError('windows-misaligned', text);
}

/** Requests only the missing values again: what the service omits then too counts as undefined. */
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
    !OF_ANY.has(value.aggregation) && answered.get(keyOf(value))?.has(value.aggregation) === false;
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

interface MissingValue {
  readonly id: string;
  readonly timestampMicros: Micros;
  readonly aggregation: Aggregation;
}

/** Aggregations that every window with readings has, of numbers or of JSON. */
const OF_ANY: ReadonlySet<string> = new Set(['count', 'first_time', 'last_time', 'first_val', 'last_val']);

/** Minimum of readings for which an aggregation of numbers is defined, if it is more than one. */
const MIN_READINGS: Readonly<Partial<Record<Aggregation, number>>> = {
  ...{ avg: 2, integral: 2, stddev: 2, var: 2, skewness: 3, kurtosis: 4 },
};

/** Aggregations that need different readings. */
const OF_SPREAD: ReadonlySet<Aggregation> = new Set(['skewness', 'kurtosis']);

/** Values that should be defined, given the others, but are absent. JSON `null` counts as a value. Pure. */
export function findMissingValues(
  rows: readonly StatisticsRow[],
  aggregations: readonly Aggregation[],
): MissingValue[] {
  const numeric = new Set(rows.filter(hasNumbers).map(({ id }) => id));
  return rows.flatMap((row) => {
    const { id, timestampMicros, values } = row;
    const absent = aggregations.filter((aggregation) => !values.has(aggregation));
    if (absent.length === 0 || values.size === 0) return [];
    const count = values.has('count') ? countOf(row) : undefined;
    if (count === 0) return [];
    const isNumeric = numeric.has(id) && !hasJson(row);
    return absent
      .filter((aggregation) => OF_ANY.has(aggregation) || (isNumeric && isDefined(row, aggregation, count)))
      .map((aggregation) => ({ id, timestampMicros, aggregation }));
  });
}

/** Readings in a row's window; 0 if the row has no count. */
export function countOf({ values }: StatisticsRow): number {
  const count = values.get('count');
  return count === undefined || count === 'null' ? 0 : parseInt64Text(count);
}

function hasNumbers({ values }: StatisticsRow): boolean {
  for (const [aggregation, text] of values) if (!OF_ANY.has(aggregation) && text !== 'null') return true;
  return false;
}

function hasJson({ values }: StatisticsRow): boolean {
  return ['first_val', 'last_val'].some((name) => /^[^-\d]/.test(values.get(name) ?? ''));
}

function isDefined({ values }: StatisticsRow, aggregation: Aggregation, count: number | undefined): boolean {
  if (count === undefined || count < (MIN_READINGS[aggregation] ?? 1)) return false;
  if (!OF_SPREAD.has(aggregation)) return true;
  return (
    ['var', 'stddev'].some((name) => Number(values.get(name) ?? 0) > 0) ||
    Number(values.get('min')) < Number(values.get('max'))
  );
}
