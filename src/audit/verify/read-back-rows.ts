/** What is asked of a published object, a relation, in SQL, and what the answers come to. */
import type { DuckDBValue } from '../../core/duckdb/connection.ts';
import { duckdbText, joinSql, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import type { LakeValue, Micros, SeriesRows, TimeRange, VesselDay } from '../../core/model/index.ts';
import { DayCounts, dayRange, MAX_EDGE_VALUES, MICROS_PER_HOUR } from '../../core/model/index.ts';

export interface DayRows {
  readonly counts: DayCounts;
  /** With one value each at the first and last instant; none for a series that holds several kinds. */
  readonly series: ReadonlyMap<string, SeriesRows>;
  readonly oddRows: number;
}

export type EdgeValues = Pick<SeriesRows, 'first' | 'last'>;

/** One row of a statistics object: a value per column, instants in microseconds. */
export interface WindowRow {
  readonly timestampMicros: Micros;
  readonly timeSeriesId: string;
  readonly values: ReadonlyMap<string, bigint | number | string | null>;
}

/** An instant as microseconds of the day, which are exact in a number. */
function ofDay(day: VesselDay, instant: Sql): Sql {
  return sql`epoch_us(${instant}) - ${dayRange(day.date).fromMicros}`;
}

/** Count, first and last time of each hour in one text a series: every value that crosses from DuckDB to us is dear. */
function hoursSql(day: VesselDay): Sql {
  return sql`string_agg(concat_ws(' ', readings, ${ofDay(day, sql`first`)}, ${ofDay(day, sql`last`)}), ';')`;
}

function hourSql(day: VesselDay): Sql {
  return sql`(${ofDay(day, sql`"timestamp"`)}) // ${MICROS_PER_HOUR}`;
}

/** Readings per series of a statistics object, by the hour in which their window begins. */
export const windowCountsSql = (day: VesselDay) => (file: Sql) =>
  sql`WITH hourly AS (
      SELECT time_series_id, ${hourSql(day)} AS hour, sum("count")::BIGINT AS readings,
        min("timestamp") AS first, max("timestamp") AS last
      FROM ${file} GROUP BY ALL
    )
    SELECT time_series_id, ${hoursSql(day)} FROM hourly GROUP BY ALL`;

/**
 * Counts by series and hour, and what the values of each series come to, in one pass: what reading a column takes is
 * most of what a query does. `arg_min` passes over rows without the value: of a series of one kind it is one at the
 * first instant.
 */
export const measurementsSql = (day: VesselDay) => (file: Sql) =>
  sql`WITH hourly AS (
      SELECT time_series_id, ${hourSql(day)} AS hour, count(*) AS readings,
        min("timestamp") AS first, max("timestamp") AS last,
        count(long_value) AS longs, count(double_value) AS doubles, count(json_value) AS jsons,
        min(long_value) AS min_long, max(long_value) AS max_long, sum(long_value) AS sum_long,
        min(double_value) AS min_double, max(double_value) AS max_double, fsum(double_value) AS sum_double,
        sum(abs(coalesce(double_value, long_value::DOUBLE))) AS magnitude,
        arg_min(long_value, "timestamp") AS first_long, arg_max(long_value, "timestamp") AS last_long,
        arg_min(double_value, "timestamp") AS first_double, arg_max(double_value, "timestamp") AS last_double,
        arg_min(json_value, "timestamp") AS first_json, arg_max(json_value, "timestamp") AS last_json,
        count(*) FILTER ((long_value IS NOT NULL)::INT + (double_value IS NOT NULL)::INT + (json_value IS NOT NULL)::INT <> 1) AS odd
      FROM ${file} GROUP BY ALL
    )
    SELECT time_series_id, ${hoursSql(day)}, sum(odd)::DOUBLE,
      sum(longs)::DOUBLE, sum(doubles)::DOUBLE, sum(jsons)::DOUBLE,
      min(min_long), max(max_long), sum(sum_long)::VARCHAR,
      min(min_double), max(max_double), fsum(sum_double), sum(magnitude),
      arg_min(first_long, first)::VARCHAR, arg_min(first_double, first), arg_min(first_json, first),
      arg_max(last_long, last)::VARCHAR, arg_max(last_double, last), arg_max(last_json, last)
    FROM hourly GROUP BY ALL`;

export const edgesSql = (file: Sql) => sql`WITH edge AS (
    SELECT time_series_id, min("timestamp") AS first, max("timestamp") AS last FROM ${file} GROUP BY ALL
  ), value AS (
    SELECT time_series_id, "timestamp" = first AS is_first, "timestamp" = last AS is_last,
      long_value::VARCHAR AS long, double_value AS double, json_value AS json
    FROM ${file} JOIN edge USING (time_series_id)
    WHERE "timestamp" = first OR "timestamp" = last
  )
  SELECT DISTINCT time_series_id, is_first, is_last, long, double, json FROM value
  QUALIFY row_number() OVER (PARTITION BY time_series_id, is_first) <= ${MAX_EDGE_VALUES}`;

export function toCounts(day: VesselDay, counted: readonly DuckDBValue[][]): DayCounts {
  const { fromMicros } = dayRange(day.date);
  const counts = new DayCounts(fromMicros);
  for (const [id, hours] of counted)
    for (const hour of String(hours).split(';')) {
      const [count, first, last] = hour.split(' ').map(Number) as [number, number, number];
      counts.add(String(id), count, fromMicros + first, fromMicros + last);
    }
  return counts;
}

export function toDayRows(day: VesselDay, rows: readonly DuckDBValue[][]): DayRows {
  return {
    counts: toCounts(day, rows),
    series: new Map(rows.map((row) => [String(row[0]), toSeriesRows(row)])),
    oddRows: rows.reduce((sum, row) => sum + Number(row[2]), 0),
  };
}

export function toEdges(rows: readonly DuckDBValue[][]): Map<string, EdgeValues> {
  const edges = new Map<string, { first: LakeValue[]; last: LakeValue[] }>();
  for (const [id, isFirst, isLast, long, double, json] of rows) {
    const edge = edges.get(String(id)) ?? { first: [], last: [] };
    edges.set(String(id), edge);
    const value = toValue(long, double, json);
    if (value === undefined) continue;
    if (isFirst === true) edge.first.push(value);
    if (isLast === true) edge.last.push(value);
  }
  return edges;
}

function toSeriesRows(row: readonly DuckDBValue[]): SeriesRows {
  const [longs, doubles, jsons] = row.slice(3, 6) as [number, number, number];
  const [minLong, maxLong] = row.slice(6, 8) as [bigint | null, bigint | null];
  const [minDouble, maxDouble, sumDouble, magnitude] = row.slice(9, 13) as (number | null)[];
  const sumLong = BigInt((row[8] as string | null) ?? 0);
  const isOneKind = [longs, doubles, jsons].filter((rows) => rows > 0).length === 1;
  const edge = (value: LakeValue | undefined) => (isOneKind && value !== undefined ? [value] : []);
  return {
    ...{ longs, doubles, jsons, magnitude: magnitude ?? 0 },
    first: edge(toValue(row[13], row[14], row[15])),
    last: edge(toValue(row[16], row[17], row[18])),
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

export const windowsSql = (columns: readonly NamedColumn[], range: TimeRange) => (file: Sql) => {
  const values = columns
    .filter(({ name }) => !NOT_AGGREGATED.has(name))
    .map(({ name, type }) => {
      const column = duckdbText.quote(name);
      return type.startsWith('TIMESTAMP') ? sql`epoch_us(${column})` : column;
    });
  const all = joinSql([sql`epoch_us("timestamp")`, sql`time_series_id`, ...values]);
  return sql`SELECT ${all} FROM ${file}
    WHERE epoch_us("timestamp") >= ${range.fromMicros} AND epoch_us("timestamp") < ${range.toMicros}`;
};

export function toWindows(columns: readonly NamedColumn[], rows: readonly DuckDBValue[][]): WindowRow[] {
  const names = columns.map(({ name }) => name).filter((name) => !NOT_AGGREGATED.has(name));
  return rows.map(([micros, id, ...cells]) => ({
    timestampMicros: Number(micros),
    timeSeriesId: String(id),
    values: new Map(names.map((name, index) => [name, cells[index] as bigint | number | string | null])),
  }));
}
