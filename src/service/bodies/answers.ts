/** What each family answers to a request that has been understood: a content type and a body in pieces. */
import type { ApiVersion, Family, WireShape } from '../../core/model/index.ts';
import { MICROS_PER_MILLI } from '../../core/model/index.ts';
import type { DataSource } from '../data/source.ts';
import type { FindDomain } from '../query/domains.ts';
import type { Selector } from '../query/expressions.ts';
import { chooseFormat } from '../query/formats.ts';
import type { RawParameters } from '../query/parameters.ts';
import { measurementsRange, parseNaming, parseStatistics } from '../query/parameters.ts';
import { selectSeries } from '../query/selection.ts';
import { computeStatistics } from '../query/statistics.ts';
import { statisticsBody } from '../query/statistics-body.ts';
import { windowedRange } from '../query/windows.ts';
import type { Work } from '../turns.ts';
import { measurementsBody, parquetBody } from './measurements-body.ts';
import { metadataBody } from './metadata-body.ts';

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

/** Check all that can be refused; `body` makes the answer, of the context's source or one that changes it. Throws HttpError, and the work's reason. */
export async function prepareAnswer(query: Query, context: AnswerContext) {
  const { family, parameters } = query;
  const { work, toInclusive } = context;
  const { shape } = query.version;
  const nowMicros = context.nowMs * MICROS_PER_MILLI;
  const format = chooseFormat(family, shape, parameters.format, query.accept);
  const naming = parseNaming(parameters, query.findDomain);
  const statistics = family === 'statistics' ? parseStatistics(parameters, shape, nowMicros) : undefined;
  const asked = statistics?.range ?? measurementsRange(parameters, nowMicros);
  const whole = toInclusive ? { ...asked, toMicros: asked.toMicros + 1 } : asked;
  const range = statistics ? windowedRange(whole, statistics.window, statistics.windowEdges) : whole;
  const options = { ...naming, mayRead: query.mayRead };
  const series = await selectSeries(context.source.series, query.selectors, options, work);

  if (family === 'metadata')
    return { format, range: undefined, body: () => metadataBody(series, shape, format, work) };
  const body = (source: DataSource): AsyncIterable<Uint8Array | string> => {
    if (statistics !== undefined) {
      const { window, aggregations } = statistics;
      const statisticsQuery = { series, range, window, aggregations, mergeSharedIds: shape === 'array' };
      const results = computeStatistics(source, statisticsQuery, work);
      return statisticsBody(results, { shape, format, aggregations });
    }
    return format === 'json' || format === 'ndjson'
      ? measurementsBody(source, series, range, format, work)
      : parquetBody(source, series, range, work);
  };
  return { format, range, body };
}
