/** Are the rows of Parquet files those that were prepared or served? Asked of DuckDB, which wrote none of ours. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { BINDING_PRIME, type PreparedDay, type SeriesTruth } from './prepared-day.ts';
import { WIDE_START } from './signals.ts';

type FoundRows = Readonly<SeriesTruth>;

/**
 * What is wrong with the rows of a file, in a few words each; nothing when they equal the prepared ones: count, time
 * to the microsecond, value column, values and names of each series, and that values belong to their times.
 */
export async function findWrongRows(path: string, day: PreparedDay): Promise<string[]> {
  const found = await sumRows(path);
  const wrong: string[] = [];
  const total = sumOf(found, 'rows');
  if (total !== day.rows) wrong.push(`${total} rows instead of ${day.rows}`);
  const expected = new Map(day.series.filter(({ rows }) => rows > 0).map((one) => [one.timeSeriesId, one]));
  const inPlace = found.filter((one) => expected.get(one.timeSeriesId)?.column === one.column);
  const misplaced = total - sumOf(inPlace, 'rows');
  if (misplaced > 0) wrong.push(`${misplaced} rows in the wrong column`);
  const differing = (field: 'id' | 'rows' | 'amounts' | 'micros' | 'binding') => {
    const right = inPlace.filter((one) => one[field] === expected.get(one.timeSeriesId)![field]);
    return expected.size - right.length;
  };
  for (const [field, words] of [
    ['id', 'names'],
    ['rows', 'counts'],
    ['micros', 'times'],
    ['amounts', 'values'],
  ] as const) {
    const series = differing(field);
    if (series > 0) wrong.push(`${words} of ${series} series`);
  }
  const unbound = differing('binding');
  if (wrong.length === 0 && unbound > 0) wrong.push(`values at other times in ${unbound} series`);
  return wrong;
}

function sumOf(found: readonly FoundRows[], field: 'rows'): number {
  return found.reduce((sum, one) => sum + one[field], 0);
}

async function sumRows(path: string): Promise<FoundRows[]> {
  const rows = await duckRows(`
    WITH reading AS (
      SELECT time_series_id, id,
             epoch_us("timestamp") % 3600000000 AS micros,
             CASE WHEN long_value IS NOT NULL THEN 'long_value'
                  WHEN double_value IS NOT NULL THEN 'double_value' ELSE 'json_value' END AS value_column,
             CASE WHEN long_value >= ${WIDE_START} THEN long_value - ${WIDE_START}
                  WHEN long_value IS NOT NULL THEN long_value
                  WHEN double_value IS NOT NULL THEN CAST(round(double_value * 10000) AS BIGINT)
                  ELSE strlen(json_value) END AS amount
      FROM read_parquet(${quoted(path)}, hive_partitioning = false))
    SELECT time_series_id AS "timeSeriesId", value_column AS "column", any_value(id) AS id,
           count(*)::DOUBLE AS "rows", sum(amount)::DOUBLE AS amounts, sum(micros)::DOUBLE AS micros,
           sum((micros % ${BINDING_PRIME}) * (amount % ${BINDING_PRIME}))::DOUBLE AS binding
    FROM reading GROUP BY time_series_id, value_column`);
  return rows as unknown as FoundRows[];
}

/** Of the rows that only one side has, as often as it has them. */
export interface DifferingRows {
  /** Of the files, all of them. */
  readonly rows: number;
  readonly missing: number;
  readonly surplus: number;
}

/** `days`: a folder of folders as `fetchSmallDays` fills it. A pattern without files has no rows. */
export async function compareRows(parquet: string, days: string): Promise<DifferingRows> {
  const columns =
    'time_series_id, epoch_us("timestamp") AS micros, long_value, double_value, CASE WHEN json_valid(json_value) THEN json(json_value)::VARCHAR ELSE json_value END AS json_value';
  const [found] = await duckRows(`SELECT count(*)::DOUBLE AS files FROM glob(${quoted(parquet)})`);
  const ours =
    found!.files === 0
      ? 'SELECT * FROM served LIMIT 0'
      : `SELECT ${columns} FROM read_parquet(${quoted(parquet)}, hive_partitioning = false)`;
  const [row] = await duckRows(`
    WITH served AS (
           SELECT id AS time_series_id, epoch_us("timestamp") AS micros,
                  CASE WHEN json_type(value) IN ('BIGINT', 'UBIGINT') THEN CAST(value AS BIGINT) END AS long_value,
                  CASE WHEN json_type(value) = 'DOUBLE' THEN CAST(value AS DOUBLE) END AS double_value,
                  CASE WHEN json_type(value) NOT IN ('BIGINT', 'UBIGINT', 'DOUBLE') THEN json(value)::VARCHAR END
                    AS json_value
           FROM read_json(${quoted(join(days, '*', 'readings.ndjson'))}, format = 'newline_delimited',
                          columns = {id: 'VARCHAR', timestamp: 'TIMESTAMPTZ', value: 'JSON'})),
         ours AS (${ours})
    SELECT (SELECT count(*) FROM ours)::DOUBLE AS rows,
           (SELECT count(*) FROM (FROM served EXCEPT ALL FROM ours))::DOUBLE AS missing,
           (SELECT count(*) FROM (FROM ours EXCEPT ALL FROM served))::DOUBLE AS surplus`);
  return row as unknown as DifferingRows;
}

/** How many rows only one side has. */
export async function findDifferingRows(parquet: string, days: string): Promise<number> {
  const { missing, surplus } = await compareRows(parquet, days);
  return missing + surplus;
}

export const quoted = (path: string) => `'${path.replaceAll("'", "''")}'`;

/** Rows of a query, each by the names of its columns. */
export async function duckRows(query: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(query)).getRowObjects();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
