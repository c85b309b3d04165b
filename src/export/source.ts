/** What is asked of the service besides the readings: which series there are, and how many readings they have. */
import { createStatisticsDecoder, parseInt64Text, parseTimestampText } from '../decode/index.ts';
import { DataError } from '../errors.ts';
import type { Job, QueryRequest, SeriesMetadata, StatisticsRow, TimeRange } from '../model/index.ts';
import { DayCounts, dayRange, formatVesselDay, wireShape } from '../model/index.ts';
import { answerFault } from './answer-fault.ts';
import { askMetadata } from './ask-metadata.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';

/** UUIDs in one `id/…` expression: 1.9 kB, which also fits a URL. */
const IDS_PER_EXPRESSION = 50;

/** `select` with the vessel put in. */
export function selectFor(job: Job, vessel: string): string[] {
  return job.select.map((expression) => expression.replaceAll('{vessel}', vessel));
}

/**
 * Ask metadata which series `select` means for the vessel. An expression that answers 404 contributes none;
 * if none contributes any, throws DataError `no-series`: 404 is never "empty".
 */
export async function resolveSeries(context: SourceContext): Promise<ResolvedSeries> {
  const { job, day } = context;
  const select = selectFor(job, day.vessel);
  const bySeries = new Map<string, SeriesMetadata>();
  let plain = true;
  for (const expression of select) {
    const matched = await askMetadata(context, expression, (series) => series);
    if (matched.length === 0) {
      context.log.warn({ vesselDay: formatVesselDay(day), expression }, 'expression matches no series');
      plain = false;
    }
    for (const series of matched) {
      if (!belongsTo(series, day.vessel)) plain = false;
      // Overlapping expressions must not fetch a series twice: whether the service merges them is not promised.
      else if (bySeries.has(series.timeSeriesId)) plain = false;
      else bySeries.set(series.timeSeriesId, series);
    }
  }
  if (bySeries.size === 0) {
    throw new DataError(
      'no-series',
      `${formatVesselDay(day)}: ${select.map((e) => `'${e}'`).join(', ')} matches no series that these credentials may read; check 'select' in jobs/${job.name}.yaml, the vessel's number, and what the credentials may read`,
    );
  }
  const metadata = [...bySeries.values()];
  const idOf = new Map(metadata.map((series) => [series.timeSeriesId, series.id]));
  return { metadata, idOf, expressions: plain ? select : idExpressions([...idOf.keys()]) };
}

/** Series by their ids: several lists, since services bound the length of one expression. */
function idExpressions(ids: readonly string[]): string[] {
  const expressions: string[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_EXPRESSION)
    expressions.push(`id/${ids.slice(at, at + IDS_PER_EXPRESSION).join(',')}`);
  return expressions;
}

function belongsTo(series: SeriesMetadata, vessel: string): boolean {
  return series.vesselImo === null || `IMO${series.vesselImo}` === vessel;
}

/** Readings per series and hour of the day, with first and last time, by the service's own statistics. */
export async function askDayCounts(context: SourceContext, series: ResolvedSeries): Promise<DayCounts> {
  const range = dayRange(context.day.date);
  let counts = new DayCounts(range.fromMicros);
  await askStatistics(
    context,
    {
      expressions: series.expressions,
      range,
      aggregations: ['count', 'first_time', 'last_time'],
      window: '1h',
      windowEdges: 'whole',
    },
    () => {
      counts = new DayCounts(range.fromMicros);
      const collector = createHourCollector(range, counts);
      return { add: collector.add, end: collector.end };
    },
  );
  return counts;
}

/** Readings per series over exactly `range`, for the check before a resume. */
export async function askTotals(
  context: SourceContext,
  series: ResolvedSeries,
  range: TimeRange,
): Promise<ReadonlyMap<string, number>> {
  let totals = new Map<string, number>();
  await askStatistics(
    context,
    { expressions: series.expressions, range, aggregations: ['count'], window: 'none' },
    () => {
      totals = new Map();
      return {
        add: (row) => {
          const count = row.values.get('count');
          if (count !== undefined) totals.set(row.id, (totals.get(row.id) ?? 0) + parseInt64Text(count));
        },
        end: () => {},
      };
    },
  );
  return totals;
}

/** Consumes the rows of one attempt; `begin` makes a fresh one for every try. */
interface RowSink {
  add(row: StatisticsRow): void;
  end(): void;
}

/** Stream one statistics answer into a sink. Keys of the older version arrive one value a row. */
export async function askStatistics(
  context: SourceContext,
  what: Pick<QueryRequest, 'expressions' | 'range' | 'aggregations' | 'window' | 'windowEdges'>,
  begin: () => RowSink,
): Promise<void> {
  const format = context.job.transport === 'ndjson' ? 'ndjson' : 'json';
  const request: QueryRequest = { ...what, family: 'statistics', format, outputDomain: 'id' };
  await context.client.exchange(
    () => request,
    async (response) => {
      const sink = begin();
      const decoder = createStatisticsDecoder({
        shape: wireShape(response.apiVersion),
        format,
        onRow: (row) => sink.add(row),
      });
      try {
        for await (const chunk of response.body) decoder.push(chunk);
        decoder.end();
      } catch (error) {
        throw answerFault(error, request);
      }
      sink.end();
    },
    { signal: context.signal, stats: context.stats },
  );
}

/** Gathers hour windows into counts; windows outside the day (an inclusive `to` makes one) are dropped. */
function createHourCollector(range: TimeRange, counts: DayCounts): RowSink {
  const hours = new Map<string, Map<number, { count?: number; first?: number; last?: number }>>();
  return {
    add(row) {
      if (row.timestampMicros < range.fromMicros || row.timestampMicros >= range.toMicros) return;
      const ofSeries = hours.get(row.id) ?? new Map();
      hours.set(row.id, ofSeries);
      const hour = ofSeries.get(row.timestampMicros) ?? {};
      ofSeries.set(row.timestampMicros, hour);
      for (const [aggregation, text] of row.values) {
        if (text === 'null') continue;
        if (aggregation === 'count') hour.count = (hour.count ?? 0) + parseInt64Text(text);
        if (aggregation === 'first_time') hour.first = parseTimestampText(text);
        if (aggregation === 'last_time') hour.last = parseTimestampText(text);
      }
    },
    end() {
      for (const [id, ofSeries] of hours) {
        for (const [windowMicros, hour] of ofSeries) {
          counts.add(id, hour.count ?? 0, hour.first ?? windowMicros, hour.last ?? windowMicros);
        }
      }
    },
  };
}
