/** Readings of a lake by DuckDB, for one answer. */
import type { DuckDBResult } from '../../core/duckdb/connection.ts';
import { parquetRows, pathLiteral } from '../../core/duckdb/locked.ts';
import { joinSql, sql } from '../../core/duckdb/sql-text.ts';
import type { Micros, TimeRange } from '../../core/model/index.ts';
import { STEPS_PER_LOOK, type Work } from '../turns.ts';
import type { BatchBuilder } from './batch-builder.ts';
import type { Engine, EngineConnection } from './engine.ts';
import type { LakeFile } from './lake-files.ts';
import type { SeriesRecord } from './source.ts';

/** A connection that knows the series of an answer. */
export async function connectFor(
  engine: Engine,
  records: readonly SeriesRecord[],
  work: Work,
): Promise<EngineConnection> {
  const connection = await engine.connect(work.signal);
  try {
    await nameSelected(connection, records, work);
    return connection;
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}

/** The selected ids with their position, as a table of this connection. */
async function nameSelected(
  { query }: EngineConnection,
  records: readonly SeriesRecord[],
  work: Work,
): Promise<void> {
  await query(async (connection) => {
    await connection.run(sql`CREATE TEMP TABLE selected (code INTEGER, time_series_id VARCHAR)`);
    const appender = await connection.createAppender('selected');
    for (const [code, { timeSeriesId }] of records.entries()) {
      if (code % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
      appender.appendInteger(code);
      appender.appendVarchar(timeSeriesId);
      appender.endRow();
    }
    appender.closeSync();
  });
}

/** Rows of all series in files. */
export async function rowsOf({ query }: EngineConnection, files: readonly LakeFile[]): Promise<number> {
  if (files.length === 0) return 0;
  const paths = joinSql(
    files.map(({ path }) => pathLiteral(path)),
    sql`, `,
  );
  const [row] = await query((connection) =>
    connection.rows(sql`SELECT coalesce(sum(num_rows), 0)::DOUBLE FROM parquet_file_metadata([${paths}])`),
  );
  return Number(row![0]);
}

/** Add the readings of files in a range, in the service's order; without values their times alone. */
export async function fill(
  { query }: EngineConnection,
  builder: BatchBuilder,
  files: readonly LakeFile[],
  { fromMicros, toMicros }: TimeRange,
  withValues: boolean,
  work: Work,
): Promise<void> {
  if (files.length === 0) return;
  const values = withValues ? sql`, long_value, double_value, json_value` : sql``;
  const perFile = files.map((file) => {
    // A job later by name adds only the series that earlier jobs lack on that vessel-day.
    const earlier = files.filter(({ vessel, job }) => vessel === file.vessel && job < file.job);
    const without = earlier.map(
      ({ path }) => sql` AND time_series_id NOT IN (SELECT time_series_id FROM ${parquetRows(path)})`,
    );
    return sql`SELECT code, epoch_us("timestamp") AS micros${values}
            FROM ${parquetRows(file.path)} JOIN selected USING (time_series_id)
            WHERE "timestamp" >= make_timestamp($1::BIGINT)::TIMESTAMPTZ AND "timestamp" < make_timestamp($2::BIGINT)::TIMESTAMPTZ${joinSql(without, sql``)}`;
  });
  // What is sorted by itself comes out of its sort key, in which both zeros are one: so not the double itself. -0 is before 0.
  const order = withValues
    ? sql`micros, code, long_value, double_value + 0, signbit(double_value) DESC, json_value`
    : sql`micros, code`;
  await query(async (connection) => {
    const result = await connection.stream(
      sql`SELECT code, (micros - $1::BIGINT)::DOUBLE AS after${values} FROM (${joinSql(perFile, sql` UNION ALL `)}) ORDER BY ${order}`,
      [BigInt(fromMicros), BigInt(toMicros)],
    );
    await append(result, builder, fromMicros, withValues, work);
  });
}

async function append(
  result: DuckDBResult,
  builder: BatchBuilder,
  fromMicros: Micros,
  values: boolean,
  work: Work,
): Promise<void> {
  for (let chunk = await result.fetchChunk(); chunk !== null; chunk = await result.fetchChunk()) {
    if (chunk.rowCount === 0) break;
    if (work.isDue()) await work.pause();
    for (const [code, after, long, double, text] of chunk.getRows()) {
      const row = [fromMicros + (after as number), code as number] as const;
      if (!values) builder.appendTime(...row);
      else if (double !== null) builder.appendDouble(...row, double as number);
      else if (long !== null) builder.appendLong(...row, long as bigint);
      else builder.appendJson(...row, (text as string | null) ?? 'null');
    }
  }
}
