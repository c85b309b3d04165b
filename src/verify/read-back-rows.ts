/** What is asked of a published object, `{file}`, in SQL, and what the answers come to. */
import type { DuckDBValue } from '@duckdb/node-api';
import type { LakeValue, Micros, SeriesRows, TimeRange, VesselDay } from '../model/index.ts';
import { DayCounts, dayRange, MAX_EDGE_VALUES, MICROS_PER_HOUR } from '../model/index.ts';

export interface DayRows {
  readonly counts: DayCounts;
  readonly series: ReadonlyMap<string, SeriesRows>;
  /** Rows that do not have exactly one value. */
  readonly oddRows: number;
}

/** One row of a statistics object: a value per column, instants in microseconds. */
export interface WindowRow {
  readonly timestampMicros: Micros;
  readonly timeSeriesId: string;
  readonly values: ReadonlyMap<string, bigint | number | string | null>;
}

/**
 * `count` (an aggregate), first and last time per series and hour of the day: the three, and the hours, in one text a
 * series, for every value that crosses from DuckDB to us costs as much as many rows cost it.
 */
function countsSql(day: VesselDay, count: string): string {
  const { fromMicros } = dayRange(day.date);
  return `WITH hourly AS (
      SELECT time_series_id, (epoch_us("timestamp") - ${fromMicros}) // ${MICROS_PER_HOUR} AS hour, ${count} AS readings,
        epoch_us(min("timestamp")) AS first, epoch_us(max("timestamp")) AS last
      FROM {file} GROUP BY ALL
    )
    SELECT time_series_id, string_agg(concat_ws(' ', readings, first, last), ';') FROM hourly GROUP BY ALL`;
}

export function rowCountsSql(day: VesselDay): string {
  return countsSql(day, 'count(*)');
}

/** Of a statistics object: readings, by the hour in which their window begins. */
export function windowCountsSql(day: VesselDay): string {
  return countsSql(day, 'sum("count")::BIGINT');
}

/** What the values of each series come to. */
export const VALUES_SQL = `SELECT time_series_id, count(long_value), count(double_value), count(json_value),
      min(long_value), max(long_value), sum(long_value)::VARCHAR,
      min(double_value), max(double_value), fsum(double_value),
      fsum(abs(coalesce(double_value, long_value::DOUBLE))),
      count(*) FILTER ((long_value IS NOT NULL)::INT + (double_value IS NOT NULL)::INT + (json_value IS NOT NULL)::INT <> 1)
    FROM {file} GROUP BY ALL`;

/** Values at each series' first and last instant. */
export const EDGES_SQL = `WITH edge AS (
    SELECT time_series_id, min("timestamp") AS first, max("timestamp") AS last FROM {file} GROUP BY ALL
  ), value AS (
    SELECT time_series_id, "timestamp" = first AS is_first, "timestamp" = last AS is_last,
      long_value::VARCHAR AS long, double_value AS double, json_value AS json
    FROM {file} JOIN edge USING (time_series_id)
    WHERE "timestamp" = first OR "timestamp" = last
  )
  SELECT DISTINCT time_series_id, is_first, is_last, long, double, json FROM value
  QUALIFY row_number() OVER (PARTITION BY time_series_id, is_first) <= ${MAX_EDGE_VALUES}`;

export function toCounts(day: VesselDay, counted: readonly DuckDBValue[][]): DayCounts {
  const counts = new DayCounts(dayRange(day.date).fromMicros);
  for (const [id, hours] of counted) {
    for (const hour of String(hours).split(';')) {
      const [count, first, last] = hour.split(' ').map(Number) as [number, number, number];
      counts.add(String(id), count, first, last);
    }
  }
  return counts;
}

export function toDayRows(
  day: VesselDay,
  counted: readonly DuckDBValue[][],
  values: readonly DuckDBValue[][],
  edges: readonly DuckDBValue[][],
): DayRows {
  const series = new Map(values.map((row) => [String(row[0]), toSeriesRows(row)]));
  for (const [id, isFirst, isLast, long, double, json] of edges) {
    const value = toValue(long, double, json);
    if (value === undefined) continue;
    if (isFirst === true) series.get(String(id))?.first.push(value);
    if (isLast === true) series.get(String(id))?.last.push(value);
  }
  const oddRows = values.reduce((sum, row) => sum + Number(row[11]), 0);
  return { counts: toCounts(day, counted), series, oddRows };
}

/** Without the values at its first and last instant. */
function toSeriesRows(row: readonly DuckDBValue[]): SeriesRows & { first: LakeValue[]; last: LakeValue[] } {
  const [longs, doubles, jsons] = row.slice(1, 4).map(Number) as [number, number, number];
  const [minLong, maxLong] = row.slice(4, 6) as [bigint | null, bigint | null];
  const [minDouble, maxDouble, sumDouble, magnitude] = row.slice(7, 11) as (number | null)[];
  const sumLong = BigInt((row[6] as string | null) ?? 0);
  return {
    ...{ longs, doubles, jsons, magnitude: magnitude ?? 0, first: [], last: [] },
    min: among(Math.min, minLong, minDouble),
    max: among(Math.max, maxLong, maxDouble),
    sum: doubles === 0 ? sumLong : (sumDouble ?? 0) + Number(sumLong),
  };
}

/** The least or greatest of a series' longs and doubles; a long stays exact where there are no doubles. */
function among(
  choose: (...values: number[]) => number,
  long: bigint | null,
  double: number | null = null,
): bigint | number | undefined {
  if (long === null || double === null) return long ?? double ?? undefined;
  return choose(Number(long), double);
}

function toValue(long: unknown, double: unknown, json: unknown): LakeValue | undefined {
  if (typeof long === 'string') return BigInt(long);
  if (typeof double === 'number') return double;
  return typeof json === 'string' ? { json } : undefined;
}

interface NamedColumn {
  readonly name: string;
  readonly type: string;
}

const NOT_AGGREGATED = new Set(['timestamp', 'time_series_id', 'id']);

export function windowsSql(columns: readonly NamedColumn[], range: TimeRange): string {
  const values = columns
    .filter(({ name }) => !NOT_AGGREGATED.has(name))
    .map(({ name, type }) => (type.startsWith('TIMESTAMP') ? `epoch_us("${name}")` : `"${name}"`));
  return `SELECT ${['epoch_us("timestamp")', 'time_series_id', ...values].join(', ')} FROM {file}
    WHERE epoch_us("timestamp") >= ${range.fromMicros} AND epoch_us("timestamp") < ${range.toMicros}`;
}

export function toWindows(columns: readonly NamedColumn[], rows: readonly DuckDBValue[][]): WindowRow[] {
  const names = columns.map(({ name }) => name).filter((name) => !NOT_AGGREGATED.has(name));
  return rows.map(([micros, id, ...cells]) => ({
    timestampMicros: Number(micros),
    timeSeriesId: String(id),
    values: new Map(names.map((name, index) => [name, cells[index] as bigint | number | string | null])),
  }));
}
