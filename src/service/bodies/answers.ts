/** What each family answers to a request that has been understood: a content type and a body in pieces. */
import type { ApiVersion, Family, TimeRange, WireShape } from '../../core/model/index.ts';
import { MICROS_PER_MILLI } from '../../core/model/index.ts';
import type { DataSource } from '../data/source.ts';
import type { FindDomain } from '../query/domains.ts';
import type { Selector } from '../query/expressions.ts';
import { chooseFormat, type Format } from '../query/formats.ts';
import type { RawParameters, StatisticsParameters } from '../query/parameters.ts';
import { measurementsRange, parseNaming, parseStatistics } from '../query/parameters.ts';
import { selectSeries } from '../query/selection.ts';
import { computeStatistics } from '../query/statistics.ts';
import { statisticsBody } from '../query/statistics-body.ts';
import { windowedRange } from '../query/windows.ts';
import type { Work } from '../turns.ts';
import { measurementsBody, parquetBody } from './measurements-body.ts';
import { metadataBody } from './metadata-body.ts';

/** A request as the routes hand it over. */
export interface Query {
  readonly family: Family;
  readonly version: { readonly name: ApiVersion; readonly shape: WireShape };
  readonly selectors: readonly Selector[];
  readonly parameters: RawParameters;
  readonly accept: string | undefined;
  readonly mayRead: (vessel: string) => boolean;
  readonly findDomain: FindDomain;
}

export interface AnswerContext {
  readonly source: DataSource;
  readonly nowMs: number;
  readonly toInclusive: boolean;
  /** Who makes the answer asks it for pauses. */
  readonly work: Work;
}

export interface Answer {
  readonly format: Format;
  /** Time range of the readings; absent for metadata. */
  readonly range: TimeRange | undefined;
  /** Starts the work, on the context's source or one that changes it; not called when the request is refused after all. */
  body(source: DataSource): AsyncIterable<Uint8Array | string>;
}

/**
 * Check everything that can be refused, and say how the answer is made. Throws HttpError, and the reason of the work's
 * signal.
 */
export async function prepareAnswer(query: Query, context: AnswerContext): Promise<Answer> {
  const { family, parameters } = query;
  const { work } = context;
  const { shape } = query.version;
  const nowMicros = context.nowMs * MICROS_PER_MILLI;
  const format = chooseFormat(family, shape, parameters.format, query.accept);
  const naming = parseNaming(parameters, query.findDomain);
  const statistics = family === 'statistics' ? parseStatistics(parameters, shape, nowMicros) : undefined;
  const range = readingsRange(query, statistics, context);
  const options = { ...naming, mayRead: query.mayRead };
  const series = await selectSeries(context.source.series, query.selectors, options, work);

  if (range === undefined) return { format, range, body: () => metadataBody(series, shape, format, work) };
  if (statistics === undefined)
    return {
      format,
      range,
      body: (source) =>
        format === 'json' || format === 'ndjson'
          ? measurementsBody(source, series, range, format, work)
          : parquetBody(source, series, range, work),
    };
  const { window, aggregations } = statistics;
  const statisticsQuery = { series, range, window, aggregations, mergeSharedIds: shape === 'array' };
  const layout = { shape, format, aggregations };
  return {
    format,
    range,
    body: (source) => statisticsBody(computeStatistics(source, statisticsQuery, work), layout),
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
