import { parquetRows, pathLiteral } from '../../core/duckdb/locked.ts';
import { joinSql, sql } from '../../core/duckdb/sql-text.ts';
import { ConfigError, messageOf } from '../../core/errors.ts';
import type { Log, TimeRange } from '../../core/model/index.ts';
import { dateToMicros, MICROS_PER_DAY, MICROS_PER_SECOND, microsToDate } from '../../core/model/index.ts';
import type { LakeData } from '../options.ts';
import { STEPS_PER_LOOK, type Work } from '../turns.ts';
import { BatchBuilder } from './batch-builder.ts';
import type { Engine, EngineConnection } from './engine.ts';
import { classifyJobs, expectVersions, type LakeFile, listLakeFiles, versionsOf } from './lake-files.ts';
import { readSeries } from './lake-series.ts';
import type { DataSource, SeriesRecord } from './source.ts';

/** Readings aimed at in one slice: larger than the made-up fleet's, since each slice scans row groups again. */
const SLICE_READINGS = 262_144;

/** Open a lake. Throws ConfigError where it cannot be read or holds neither measurements nor metadata, and the signal's reason. */
export async function openLakeSource(
  { dataDir, files: given }: LakeData,
  engine: Engine,
  log: Log,
  signal?: AbortSignal,
): Promise<DataSource> {
  try {
    await using connection = await engine.connect(signal);
    const files = given ?? (await listLakeFiles(dataDir));
    const datasets = await classifyJobs(connection, files);
    const measurements = files.filter((file) => datasets.get(file.job) === 'measurements');
    const metadata = files.filter((file) => datasets.get(file.job) === 'metadata');
    if (measurements.length + metadata.length === 0)
      throw new Error(
        `found no ${given === undefined ? '<job>/vessel=IMO…/date=…/data.parquet' : 'file of a table'} with measurements or metadata`,
      );
    const series = await readSeries(connection, metadata, measurements);
    log.info({ dataDir, series: series.length, vesselDays: measurements.length }, 'serving a lake');
    return lakeSource(series, measurements, engine);
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConfigError('service-lake', `cannot serve the lake '${dataDir}': ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function lakeSource(
  series: readonly SeriesRecord[],
  measurements: readonly LakeFile[],
  engine: Engine,
): DataSource {
  const byDay = Map.groupBy(measurements, ({ date }) => date);
  const ofVessel = Map.groupBy(series, ({ vessel }) => vessel);
  const dates = [...byDay.keys()].sort();
  const first = dateToMicros(dates[0] ?? '2199-12-31');
  const last = dateToMicros(dates.at(-1) ?? '1970-01-01') + MICROS_PER_DAY;

  return {
    series,
    async *read(records, range, need, work) {
      const toMicros = Math.min(range.toMicros, last);
      let fromMicros = Math.max(range.fromMicros, first);
      if (fromMicros >= toMicros || records.length === 0) return;
      const vessels = new Set(records.map(({ vessel }) => vessel));
      const known = [...vessels].reduce((sum, vessel) => sum + (ofVessel.get(vessel)?.length ?? 0), 0);
      await using connection = await connectFor(engine, records, work);
      const builder = new BatchBuilder();
      while (fromMicros < toMicros) {
        if (work.isDue()) await work.pause();
        const date = microsToDate(fromMicros);
        const dayTo = Math.min(toMicros, dateToMicros(date) + MICROS_PER_DAY);
        const files = (byDay.get(date) ?? []).filter((file) => vessels.has(file.vessel));
        const rows = (await rowsOf(connection, files)) * (records.length / known);
        const sliceMicros = Math.max(
          MICROS_PER_SECOND,
          Math.ceil(MICROS_PER_DAY * Math.min(1, SLICE_READINGS / Math.max(1, rows))),
        );
        const versions = await versionsOf(files);
        while (fromMicros < dayTo) {
          const sliceTo = Math.min(dayTo, fromMicros + sliceMicros);
          builder.reset();
          const slice = { fromMicros, toMicros: sliceTo };
          await fill(connection, builder, files, slice, need.values, work);
          await expectVersions(files, versions);
          yield { batch: builder.batch, toMicros: sliceTo };
          fromMicros = sliceTo;
        }
      }
    },
  };
}

/** A connection that has the series of an answer as a table: their ids with their position. */
export async function connectFor(
  engine: Engine,
  records: readonly SeriesRecord[],
  work: Work,
): Promise<EngineConnection> {
  const opened = await engine.connect(work.signal);
  try {
    await opened.query(async (connection) => {
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
    return opened;
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

export async function rowsOf({ query }: EngineConnection, files: readonly LakeFile[]): Promise<number> {
  if (files.length === 0) return 0;
  const paths = joinSql(files.map(({ path }) => pathLiteral(path)));
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
    for (let chunk = await result.fetchChunk(); chunk?.rowCount; chunk = await result.fetchChunk()) {
      if (work.isDue()) await work.pause();
      for (const [code, after, long, double, text] of chunk.getRows()) {
        const row = [fromMicros + (after as number), code as number] as const;
        if (!withValues) builder.appendTime(...row);
        else if (double !== null) builder.appendDouble(...row, double as number);
        else if (long !== null) builder.appendLong(...row, long as bigint);
        else builder.appendJson(...row, (text as string | null) ?? 'null');
      }
    }
  });
}
