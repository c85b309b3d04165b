/**
 * DuckDB, from the readings' file to a Parquet file of our columns:
 * `duckdb.ts FOLDER OUT THREADS sorted|unsorted`, or with a folder of such folders: `daysIn`. Prints one JSON line
 * `{"bytesOut"}`.
 *
 * As right as it can be: TIMESTAMPTZ has the microseconds; what JSON calls an integer goes to long, a number with
 * a fraction or an exponent to double. What stays different is its JSON text, which it writes anew.
 */
import { dirname } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { ROW_GROUP_ROWS } from '../../src/core/model/index.ts';
import { bytesOf, type DayFiles, daysIn, fileIn } from './prepared-day.ts';
import { quoted } from './row-check.ts';

const [dir, out, threads, order] = process.argv.slice(2);
if (dir === undefined || out === undefined || threads === undefined)
  throw new Error('usage: duckdb.ts FOLDER OUT THREADS sorted|unsorted');

const instance = await DuckDBInstance.create(':memory:', { threads, temp_directory: dirname(out) });
const connection = await instance.connect();

async function writeDay(day: DayFiles): Promise<void> {
  const { readings, metadata } = fileIn(day.dir);
  await connection.run(`
    COPY (
      SELECT reading.timestamp,
             reading.id AS time_series_id,
             series.id,
             CASE WHEN json_type(value) IN ('BIGINT', 'UBIGINT') THEN CAST(value AS BIGINT) END AS long_value,
             CASE WHEN json_type(value) = 'DOUBLE' THEN CAST(value AS DOUBLE) END AS double_value,
             CASE WHEN json_type(value) NOT IN ('BIGINT', 'UBIGINT', 'DOUBLE') THEN CAST(value AS VARCHAR) END
               AS json_value
      FROM read_json(${quoted(readings)}, format = 'newline_delimited',
                     columns = {id: 'VARCHAR', timestamp: 'TIMESTAMPTZ', value: 'JSON'}) AS reading
      JOIN read_json(${quoted(metadata)}, format = 'array',
                     columns = {id: 'VARCHAR', timeSeriesId: 'VARCHAR'}) AS series
        ON series.timeSeriesId = reading.id
      ${order === 'sorted' ? 'ORDER BY time_series_id, reading.timestamp' : ''}
    ) TO ${quoted(day.out)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS})
  `);
}

const days = daysIn(dir, out);
for (const day of days) await writeDay(day);
connection.closeSync();
instance.closeSync();
process.stdout.write(`${JSON.stringify({ bytesOut: bytesOf(days) })}\n`);
