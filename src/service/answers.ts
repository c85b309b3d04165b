/** What each family answers to a request that has been understood: a content type and a body in pieces. */
import type { ApiVersion, Family, TimeRange, WireShape } from '../model/index.ts';
import { MICROS_PER_MILLI } from '../model/index.ts';
import type { DataSource } from './data/source.ts';
import type { Selector } from './expressions.ts';
import type { Fault } from './faults.ts';
import type { Format } from './formats.ts';
import { chooseFormat } from './formats.ts';
import { MeasurementTextWriter } from './measurement-text.ts';
import { metadataBody } from './metadata-body.ts';
import type { RawParameters } from './parameters.ts';
import { measurementsRange, parseNaming, parseStatistics } from './parameters.ts';
import { faultySource, faultyStatistics } from './request-faults.ts';
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
  /** Starts the work; not called when the request is refused after all. */
  body(fault: Fault | undefined): AsyncIterable<Uint8Array | string>;
}

/** Check everything that can be refused, and say how the answer is made. Throws HttpError. */
export function prepareAnswer(query: Query, context: AnswerContext): Answer {
  const { family, version, parameters } = query;
  const nowMicros = context.nowMs * MICROS_PER_MILLI;
  const format = chooseFormat(family, version.shape, parameters.format, query.accept);
  const naming = parseNaming(parameters);
  const select = () =>
    selectSeries(context.source.series, query.selectors, { ...naming, mayRead: query.mayRead });

  if (family === 'metadata') {
    const selected = select();
    const text = format === 'ndjson' ? 'ndjson' : 'json';
    return { format, range: undefined, body: () => asyncOf(metadataBody(selected, version.shape, text)) };
  }
  if (family === 'measurements') {
    const range = including(measurementsRange(parameters, nowMicros), context.toInclusive);
    const selected = select();
    return {
      format,
      range,
      body: (fault) => {
        const source = faultySource(context.source, fault, family);
        if (format === 'parquet') return context.encodeParquet(source, selected, range);
        return measurementsText(source, selected, range, format === 'ndjson');
      },
    };
  }
  const { window, windowEdges, aggregations, ...asked } = parseStatistics(
    parameters,
    version.shape,
    nowMicros,
  );
  const range = windowedRange(including(asked.range, context.toInclusive), window, windowEdges);
  const selected = select();
  return {
    format,
    range,
    body: (fault) => {
      const source = faultySource(context.source, fault, family);
      const mergeSharedIds = version.shape === 'array';
      const results = computeStatistics(source, {
        series: selected,
        range,
        window,
        aggregations,
        mergeSharedIds,
      });
      return statisticsBody(faultyStatistics(results, fault), {
        shape: version.shape,
        format: format === 'parquet' ? 'json' : format,
        aggregations,
      });
    },
  };
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

function including(range: TimeRange, toInclusive: boolean): TimeRange {
  return toInclusive ? { ...range, toMicros: range.toMicros + 1 } : range;
}

async function* asyncOf<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}
