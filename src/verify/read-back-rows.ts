/** What is asked of a published object, `{file}`, in SQL, and what the answers come to. */
import type { DuckDBValue } from '@duckdb/node-api';
import type { Micros, TimeRange, VesselDay } from '../model/index.ts';
import { DayCounts, dayRange, MICROS_PER_HOUR } from '../model/index.ts';

/** Values at one instant that are remembered as possible first or last ones. */
const MAX_EDGE_VALUES = 1_000;

/** A value as the lake holds it: a long, a double, or a JSON text. */
export type LakeValue = bigint | number | { readonly json: string };

/** What one series' rows of a day come to. */
export interface SeriesRows {
  readonly longs: number;
  readonly doubles: number;
  readonly jsons: number;
  /** Undefined without a number. */
  readonly min: bigint | number | undefined;
  readonly max: bigint | number | undefined;
  /** Exact where every row is a long. */
  readonly sum: bigint | number;
  /** Sum of the absolute values: what the error of a sum is measured by. */
  readonly magnitude: number;
  /** Every value at the first and at the last instant: the contract gives no order to those. */
  readonly first: readonly LakeValue[];
  readonly last: readonly LakeValue[];
}

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

/** Hour of the day of `timestamp`. */
function hourSql(day: VesselDay): string {
  return `(epoch_us("timestamp") - ${dayRange(day.date).fromMicros}) // ${MICROS_PER_HOUR}`;
}

export function totalsSql(day: VesselDay): string {
  return `SELECT time_series_id, ${hourSql(day)}, count(*), epoch_us(min("timestamp")), epoch_us(max("timestamp")),
      count(long_value), count(double_value), count(json_value),
      min(long_value), max(long_value), sum(long_value)::VARCHAR,
      min(double_value), max(double_value), fsum(double_value),
      fsum(abs(coalesce(double_value, long_value::DOUBLE))),
      count(*) FILTER ((long_value IS NOT NULL)::INT + (double_value IS NOT NULL)::INT + (json_value IS NOT NULL)::INT <> 1)
    FROM {file} GROUP BY ALL`;
}

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

export function windowCountsSql(day: VesselDay): string {
  return `SELECT time_series_id, ${hourSql(day)}, sum("count")::BIGINT, epoch_us(min("timestamp")), epoch_us(max("timestamp"))
    FROM {file} GROUP BY ALL`;
}

export function toCounts(day: VesselDay, totals: readonly DuckDBValue[][]): DayCounts {
  const counts = new DayCounts(dayRange(day.date).fromMicros);
  for (const [id, , count, first, last] of totals)
    counts.add(String(id), Number(count), Number(first), Number(last));
  return counts;
}

interface Gathered {
  longs: number;
  doubles: number;
  jsons: number;
  minLong: bigint | null;
  maxLong: bigint | null;
  sumLong: bigint;
  minDouble: number | null;
  maxDouble: number | null;
  sumDouble: number;
  magnitude: number;
  first: LakeValue[];
  last: LakeValue[];
}

export function dayRows(
  day: VesselDay,
  totals: readonly DuckDBValue[][],
  edges: readonly DuckDBValue[][],
): DayRows {
  const gathered = new Map<string, Gathered>();
  let oddRows = 0;
  for (const row of totals) {
    const one = gathered.get(String(row[0])) ?? nothingGathered();
    gathered.set(String(row[0]), one);
    addHour(one, row.slice(5));
    oddRows += Number(row[15]);
  }
  for (const [id, isFirst, isLast, long, double, json] of edges) {
    const value = toValue(long, double, json);
    const one = gathered.get(String(id));
    if (value === undefined || one === undefined) continue;
    if (isFirst === true) one.first.push(value);
    if (isLast === true) one.last.push(value);
  }
  const series = [...gathered].map(([id, one]) => [id, toSeriesRows(one)] as const);
  return { counts: toCounts(day, totals), series: new Map(series), oddRows };
}

function nothingGathered(): Gathered {
  return {
    ...{ longs: 0, doubles: 0, jsons: 0, sumLong: 0n, sumDouble: 0, magnitude: 0, first: [], last: [] },
    ...{ minLong: null, maxLong: null, minDouble: null, maxDouble: null },
  };
}

function addHour(one: Gathered, cells: readonly DuckDBValue[]): void {
  const [longs, doubles, jsons, minLong, maxLong, sumLong, minDouble, maxDouble, sumDouble, magnitude] =
    cells;
  one.longs += Number(longs);
  one.doubles += Number(doubles);
  one.jsons += Number(jsons);
  one.minLong = pick(one.minLong, minLong as bigint | null, (a, b) => a < b);
  one.maxLong = pick(one.maxLong, maxLong as bigint | null, (a, b) => a > b);
  one.minDouble = pick(one.minDouble, minDouble as number | null, (a, b) => a < b);
  one.maxDouble = pick(one.maxDouble, maxDouble as number | null, (a, b) => a > b);
  one.sumLong += BigInt((sumLong as string | null) ?? 0);
  one.sumDouble += (sumDouble as number | null) ?? 0;
  one.magnitude += (magnitude as number | null) ?? 0;
}

function pick<T>(a: T | null, b: T | null, isBetter: (a: T, b: T) => boolean): T | null {
  if (a === null || b === null) return a ?? b;
  return isBetter(b, a) ? b : a;
}

function toSeriesRows(one: Gathered): SeriesRows {
  const { longs, doubles, jsons, magnitude, first, last } = one;
  const exact = doubles === 0;
  const among = (choose: (...values: number[]) => number, long: bigint | null, double: number | null) => {
    if (long === null || double === null) return long ?? double ?? undefined;
    return choose(Number(long), double);
  };
  return {
    ...{ longs, doubles, jsons, magnitude, first, last },
    min: among(Math.min, one.minLong, one.minDouble),
    max: among(Math.max, one.maxLong, one.maxDouble),
    sum: exact ? one.sumLong : one.sumDouble + Number(one.sumLong),
  };
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
