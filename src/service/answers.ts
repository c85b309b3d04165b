/** What each family answers to a request that has been understood: a content type and a body in pieces. */
import type { ApiVersion, Family, TimeRange, WireShape } from '../model/index.ts';
import { MICROS_PER_MILLI } from '../model/index.ts';
import type { DataSource } from './data/source.ts';
import type { Selector } from './expressions.ts';
import type { Format } from './formats.ts';
import { chooseFormat } from './formats.ts';
import { MeasurementTextWriter } from './measurement-text.ts';
import { metadataBody } from './metadata-body.ts';
import type { RawParameters, StatisticsParameters } from './parameters.ts';
import { measurementsRange, parseNaming, parseStatistics } from './parameters.ts';
import type { SelectedSeries } from './selection.ts';
import { selectSeries } from './selection.ts';
import { computeStatistics } from './statistics.ts';
import { statisticsBody } from './statistics-body.ts';
import { windowedRange } from './windows.ts';

/** A request as the routes hand it over. */
export interface Query {
  readonly family: Family;
  readonly version: { readonly name: ApiVersion; readonly shape: WireShape };
  readonly selectors: readonly Selector[];
  readonly parameters: RawParameters;
  readonly accept: string | undefined;
  readonly mayRead: (vessel: string) => boolean;
}

export interface AnswerContext {
  readonly source: DataSource;
  readonly nowMs: number;
  readonly toInclusive: boolean;
  readonly encodeParquet: ParquetEncoder;
}

/** Readings of a range as one Parquet file, in pieces. */
export type ParquetEncoder = (
  source: DataSource,
  series: readonly SelectedSeries[],
  range: TimeRange,
) => AsyncIterable<Uint8Array>;

export interface Answer {
  readonly format: Format;
  /** Time range of the readings; absent for metadata. */
  readonly range: TimeRange | undefined;
  /** Starts the work, on the context's source or one that changes it; not called when the request is refused after all. */
  body(source: DataSource): AsyncIterable<Uint8Array | string>;
}

/** Check everything that can be refused, and say how the answer is made. Throws HttpError. */
export function prepareAnswer(query: Query, context: AnswerContext): Answer {
  const { family, parameters } = query;
  const { shape } = query.version;
  const nowMicros = context.nowMs * MICROS_PER_MILLI;
  const format = chooseFormat(family, shape, parameters.format, query.accept);
  const naming = parseNaming(parameters);
  const statistics = family === 'statistics' ? parseStatistics(parameters, shape, nowMicros) : undefined;
  const range = readingsRange(query, statistics, context);
  const series = selectSeries(context.source.series, query.selectors, { ...naming, mayRead: query.mayRead });

  if (range === undefined) return { format, range, body: () => metadataBody(series, shape, format) };
  if (statistics === undefined)
    return {
      format,
      range,
      body: (source) =>
        format === 'parquet'
          ? context.encodeParquet(source, series, range)
          : measurementsText(source, series, range, format === 'ndjson'),
    };
  const { window, aggregations } = statistics;
  const statisticsQuery = { series, range, window, aggregations, mergeSharedIds: shape === 'array' };
  const layout = { shape, format, aggregations };
  return {
    format,
    range,
    body: (source) => statisticsBody(computeStatistics(source, statisticsQuery), layout),
  };
}

/** Range of the readings that an answer is made of; undefined for metadata. Throws HttpError. */
function readingsRange(
  { family, parameters }: Query,
  statistics: StatisticsParameters | undefined,
  { nowMs, toInclusive }: AnswerContext,
): TimeRange | undefined {
  if (family === 'metadata') return undefined;
  const asked = statistics?.range ?? measurementsRange(parameters, nowMs * MICROS_PER_MILLI);
  const range = toInclusive ? { ...asked, toMicros: asked.toMicros + 1 } : asked;
  return statistics ? windowedRange(range, statistics.window, statistics.windowEdges) : range;
}

async function* measurementsText(
  source: DataSource,
  selected: readonly SelectedSeries[],
  range: TimeRange,
  lines: boolean,
): AsyncGenerator<Uint8Array | string> {
  const writer = new MeasurementTextWriter(
    selected.map(({ id }) => id),
    lines ? 'newline' : 'comma',
  );
  if (!lines) yield '[';
  const records = selected.map(({ record }) => record);
  for await (const { batch } of source.read(records, range, { values: true, interleaved: true }))
    if (batch.rows > 0) yield writer.write(batch);
  if (!lines) yield ']';
}
