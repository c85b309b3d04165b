/** Are the rows of Parquet files those of files of NDJSON, all of them and no other? Asked of DuckDB. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** Rows that only one side has, as often as it has them. `days`: a folder of folders as `fetchSmallDays` fills it. */
export async function findDifferingRows(parquet: string, days: string): Promise<number> {
  const quoted = (path: string) => `'${path.replaceAll("'", "''")}'`;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(`
      WITH ours AS (
             SELECT time_series_id, epoch_us("timestamp") AS micros, long_value, double_value,
                    json(json_value)::VARCHAR AS json_value
             FROM read_parquet(${quoted(parquet)}, hive_partitioning = false)),
           served AS (
             SELECT id AS time_series_id, epoch_us("timestamp") AS micros,
                    CASE WHEN json_type(value) IN ('BIGINT', 'UBIGINT') THEN CAST(value AS BIGINT) END AS long_value,
                    CASE WHEN json_type(value) = 'DOUBLE' THEN CAST(value AS DOUBLE) END AS double_value,
                    CASE WHEN json_type(value) NOT IN ('BIGINT', 'UBIGINT', 'DOUBLE') THEN json(value)::VARCHAR END
                      AS json_value
             FROM read_json(${quoted(join(days, '*', 'readings.ndjson'))}, format = 'newline_delimited',
                            columns = {id: 'VARCHAR', timestamp: 'TIMESTAMPTZ', value: 'JSON'}))
      SELECT (SELECT count(*) FROM (FROM ours EXCEPT ALL FROM served))
           + (SELECT count(*) FROM (FROM served EXCEPT ALL FROM ours))`);
    return Number(reader.getRows()[0]![0]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
