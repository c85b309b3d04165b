/**
 * An exported lake as a data source: `<job>/vessel=…/date=…/data.parquet`, as vessel-export writes it. Jobs are
 * told apart by their columns. Where several measurement jobs hold the same series on one day, the first job by
 * name gives its readings. Files are listed when the service starts.
 */
import type { DuckDBResult, DuckDBValue } from '@duckdb/node-api';
import { sqlText } from '../../duckdb/locked.ts';
import { ConfigError, messageOf } from '../../errors.ts';
import type { Log, Micros, TimeRange } from '../../model/index.ts';
import { dateToMicros, MICROS_PER_DAY, MICROS_PER_SECOND, microsToDate } from '../../model/index.ts';
import type { Work } from '../turns.ts';
import { STEPS_PER_LOOK } from '../turns.ts';
import { BatchBuilder } from './batch-builder.ts';
import type { Engine, EngineConnection } from './engine.ts';
import type { LakeFile } from './lake-files.ts';
import { classifyJobs, listLakeFiles } from './lake-files.ts';
import { readSeries } from './lake-series.ts';
import type { DataSource, ReadingsNeed, ReadingsSlice, SeriesRecord } from './source.ts';

/** Readings aimed at in one slice: larger than the made-up fleet's, since each slice scans row groups again. */
const SLICE_READINGS = 262_144;

/**
 * Open a lake. Throws ConfigError when the folder cannot be read or holds no measurements and no metadata, and the
 * signal's reason when it is aborted.
 */
export async function openLakeSource(
  dataDir: string,
  engine: Engine,
  log: Log,
  signal?: AbortSignal,
): Promise<DataSource> {
  try {
    await using connection = await engine.connect(signal);
    const files = await listLakeFiles(dataDir);
    const datasets = await classifyJobs(connection, files);
    const measurements = files.filter((file) => datasets.get(file.job) === 'measurements');
    const metadata = files.filter((file) => datasets.get(file.job) === 'metadata');
    if (measurements.length + metadata.length === 0)
      throw new Error('found no <job>/vessel=IMO…/date=…/data.parquet with measurements or metadata');
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
  const byDay = new Map<string, LakeFile[]>();
  const seriesPerVessel = new Map<string, number>();
  for (const file of measurements) {
    const files = byDay.get(file.date) ?? [];
    files.push(file);
    byDay.set(file.date, files);
  }
  for (const { vessel } of series) seriesPerVessel.set(vessel, (seriesPerVessel.get(vessel) ?? 0) + 1);
  const dates = [...byDay.keys()].sort();
  const first = dateToMicros(dates[0] ?? '2199-12-31');
  const last = dateToMicros(dates.at(-1) ?? '1970-01-01') + MICROS_PER_DAY;

  async function* read(
    records: readonly SeriesRecord[],
    range: TimeRange,
    need: ReadingsNeed,
    work: Work,
  ): AsyncGenerator<ReadingsSlice, void, void> {
    const toMicros = Math.min(range.toMicros, last);
    let fromMicros = Math.max(range.fromMicros, first);
    if (fromMicros >= toMicros || records.length === 0) return;
    const vessels = new Set(records.map(({ vessel }) => vessel));
    let known = 0;
    for (const vessel of vessels) known += seriesPerVessel.get(vessel) ?? 0;
    await using connection = await engine.connect(work.signal);
    await nameSelected(connection, records, work);
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
      while (fromMicros < dayTo) {
        const sliceTo = files.length === 0 ? dayTo : Math.min(dayTo, fromMicros + sliceMicros);
        builder.reset();
        if (files.length > 0) await fill(connection, builder, files, fromMicros, sliceTo, need, work);
        yield { batch: builder.batch, toMicros: sliceTo };
        fromMicros = sliceTo;
      }
    }
  }

  return { series, read };
}

/** The selected ids with their position, as a table of this connection. */
async function nameSelected(
  { query }: EngineConnection,
  records: readonly SeriesRecord[],
  work: Work,
): Promise<void> {
  await query(async (connection) => {
    await connection.run('CREATE TEMP TABLE selected (code INTEGER, time_series_id VARCHAR)');
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

async function rowsOf({ query }: EngineConnection, files: readonly LakeFile[]): Promise<number> {
  if (files.length === 0) return 0;
  const paths = files.map(({ path }) => sqlText(path)).join(', ');
  const reader = await query((connection) =>
    connection.runAndReadAll(
      `SELECT coalesce(sum(num_rows), 0)::DOUBLE FROM parquet_file_metadata([${paths}])`,
    ),
  );
  return Number(reader.getRows()[0]![0]);
}

async function fill(
  { query }: EngineConnection,
  builder: BatchBuilder,
  files: readonly LakeFile[],
  fromMicros: Micros,
  toMicros: Micros,
  need: ReadingsNeed,
  work: Work,
): Promise<void> {
  const values = need.values ? ', long_value, double_value, json_value' : '';
  const perFile = files.map((file) => {
    // A job later by name adds only the series that earlier jobs lack on that vessel-day.
    const earlier = files.filter(({ vessel, job }) => vessel === file.vessel && job < file.job);
    const without = earlier.map(
      ({ path }) =>
        ` AND time_series_id NOT IN (SELECT time_series_id FROM read_parquet(${sqlText(path)}, hive_partitioning = false))`,
    );
    return `SELECT code, epoch_us("timestamp") AS micros${values}
            FROM read_parquet(${sqlText(file.path)}, hive_partitioning = false) JOIN selected USING (time_series_id)
            WHERE "timestamp" >= make_timestamp($1::BIGINT)::TIMESTAMPTZ AND "timestamp" < make_timestamp($2::BIGINT)::TIMESTAMPTZ${without.join('')}`;
  });
  const order = need.values ? 'micros, code, long_value, double_value, json_value' : 'micros, code';
  await query(async (connection) => {
    const result = await connection.stream(
      `SELECT code, (micros - $1::BIGINT)::DOUBLE AS after${values} FROM (${perFile.join(' UNION ALL ')}) ORDER BY ${order}`,
      [BigInt(fromMicros), BigInt(toMicros)],
    );
    await append(result, builder, fromMicros, need.values, work);
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
    const [codes, afters, longs, doubles, texts] = Array.from({ length: values ? 5 : 2 }, (_, column) =>
      chunk.getColumnVector(column),
    );
    for (let row = 0; row < chunk.rowCount; row++) {
      const code = codes!.getItem(row) as number;
      const micros = fromMicros + (afters!.getItem(row) as number);
      if (!values) builder.appendTime(micros, code);
      else appendValue(builder, micros, code, doubles!.getItem(row), longs!, texts!, row);
    }
  }
}

function appendValue(
  builder: BatchBuilder,
  micros: Micros,
  code: number,
  double: DuckDBValue,
  longs: { getItem(row: number): DuckDBValue },
  texts: { getItem(row: number): DuckDBValue },
  row: number,
): void {
  const long = longs.getItem(row);
  if (double !== null) builder.appendDouble(micros, code, double as number);
  else if (long !== null) builder.appendLong(micros, code, long as bigint);
  else builder.appendJson(micros, code, (texts.getItem(row) as string | null) ?? 'null');
}
