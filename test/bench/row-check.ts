/** Are the rows of a Parquet file those that were prepared? Asked of DuckDB, which wrote none of ours. */
import { DuckDBInstance } from '@duckdb/node-api';
import { BINDING_PRIME, type PreparedDay, type SeriesTruth } from './prepared-day.ts';
import { WIDE_START } from './signals.ts';

type Column = SeriesTruth['column'];

interface FoundRows {
  readonly timeSeriesId: string;
  readonly column: Column;
  readonly id: string | null;
  readonly rows: number;
  readonly amounts: number;
  readonly micros: number;
  readonly binding: number;
}

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
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(`
      WITH reading AS (
        SELECT time_series_id, id,
               epoch_us("timestamp") % 3600000000 AS micros,
               CASE WHEN long_value IS NOT NULL THEN 'long_value'
                    WHEN double_value IS NOT NULL THEN 'double_value' ELSE 'json_value' END AS value_column,
               CASE WHEN long_value >= ${WIDE_START} THEN long_value - ${WIDE_START}
                    WHEN long_value IS NOT NULL THEN long_value
                    WHEN double_value IS NOT NULL THEN CAST(round(double_value * 10000) AS BIGINT)
                    ELSE strlen(json_value) END AS amount
        FROM read_parquet('${path.replaceAll("'", "''")}', hive_partitioning = false))
      SELECT time_series_id, value_column, any_value(id), count(*)::DOUBLE, sum(amount)::DOUBLE,
             sum(micros)::DOUBLE, sum((micros % ${BINDING_PRIME}) * (amount % ${BINDING_PRIME}))::DOUBLE
      FROM reading GROUP BY ALL`);
    return reader.getRows().map(([timeSeriesId, column, id, rows, amounts, micros, binding]) => ({
      timeSeriesId: String(timeSeriesId),
      column: column as Column,
      id: id as string | null,
      rows: Number(rows),
      amounts: Number(amounts),
      micros: Number(micros),
      binding: Number(binding),
    }));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
