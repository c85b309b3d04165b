/**
 * An exported lake as a data source: `<job>/vessel=…/date=…/data.parquet`, as vessel-export writes it, or the files that
 * the tables of a delta lake have. Jobs are told apart by their columns. Where several measurement jobs hold the same series
 * on one day, the first job by name gives its readings. Files are listed when the service starts. DuckDB reads them.
 */
import { ConfigError, messageOf } from '../../core/errors.ts';
import type { Log, TimeRange } from '../../core/model/index.ts';
import { dateToMicros, MICROS_PER_DAY, MICROS_PER_SECOND, microsToDate } from '../../core/model/index.ts';
import type { LakeData } from '../options.ts';
import type { Work } from '../turns.ts';
import { BatchBuilder } from './batch-builder.ts';
import type { Engine } from './engine.ts';
import { classifyJobs, expectVersions, type LakeFile, listLakeFiles, versionsOf } from './lake-files.ts';
import { connectFor, fill, rowsOf } from './lake-queries.ts';
import { readSeries } from './lake-series.ts';
import type { DataSource, ReadingsNeed, ReadingsSlice, SeriesRecord } from './source.ts';

/** Readings aimed at in one slice: larger than the made-up fleet's, since each slice scans row groups again. */
const SLICE_READINGS = 262_144;

/**
 * Open a lake. Throws ConfigError when the folder cannot be read or holds no measurements and no metadata, and the
 * signal's reason when it is aborted.
 */
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
  }

  return { series, read };
}
