/** What the service's statistics say of a day's series now: counts, times and values. */
import { parseInt64Text, parseTimestampText } from '../decode/index.ts';
import { askStatistics, resolveSeries } from '../export/source.ts';
import type { ResolvedSeries, SourceContext } from '../export/source-context.ts';
import type { Job, Micros, VesselDay } from '../model/index.ts';
import { dayRange } from '../model/index.ts';
import type { AnsweredValues } from '../verify/values.ts';
import { VALUES_OF_ANY, VALUES_OF_NUMBERS } from '../verify/values.ts';

/** UUIDs in one expression: 1.9 kB. */
const IDS_PER_EXPRESSION = 50;

/** One series as the service counts it now. */
export interface SourceSeries {
  readonly count: number;
  readonly firstMicros: Micros | undefined;
  readonly lastMicros: Micros | undefined;
  readonly values: AnsweredValues;
}

/** `id/…` expressions for series. */
export function idExpressions(ids: readonly string[]): string[] {
  const expressions: string[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_EXPRESSION)
    expressions.push(`id/${ids.slice(at, at + IDS_PER_EXPRESSION).join(',')}`);
  return expressions;
}

/**
 * The series that a published day is compared with: those that the job selects now, so that new ones are seen; for
 * a day of other settings those that it holds. Throws DataError `no-series`.
 */
export function seriesToAsk(
  context: SourceContext,
  published: readonly string[] | undefined,
): Promise<ResolvedSeries> {
  const job: Job =
    published === undefined ? context.job : { ...context.job, select: idExpressions(published) };
  return resolveSeries({ ...context, job });
}

export type SeriesCache = (context: SourceContext) => Promise<ResolvedSeries>;

/** Vessels whose series are remembered. Days come by vessel, so that few are enough. */
const REMEMBERED_VESSELS = 8;

/** A vessel's series are the same for all its days: asked once, while its days are at work. */
export function createSeriesCache(): SeriesCache {
  const known = new Map<string, Promise<ResolvedSeries>>();
  return (context) => {
    const key = `${context.day.job}/${context.day.vessel}`;
    const asked = known.get(key) ?? seriesToAsk(context, undefined);
    if (!known.has(key)) asked.catch(() => known.delete(key));
    known.set(key, asked);
    const [oldest] = known.keys();
    if (known.size > REMEMBERED_VESSELS && oldest !== undefined) known.delete(oldest);
    return asked;
  };
}

/**
 * Count, times and values per series over the day. Minimum, maximum and sum are asked of `numeric` series only:
 * the service does not support them for JSON, and may refuse a request that asks. One request where no series
 * holds JSON, else two.
 */
export async function askDayValues(
  context: SourceContext,
  series: ResolvedSeries,
  numeric: readonly string[],
  allNumeric: boolean,
): Promise<ReadonlyMap<string, SourceSeries>> {
  const ofAny = ['count', 'first_time', 'last_time', ...VALUES_OF_ANY];
  if (allNumeric)
    return toSeries(await askWindow(context, series.expressions, [...ofAny, ...VALUES_OF_NUMBERS]));
  const answered = await askWindow(context, series.expressions, ofAny);
  if (numeric.length > 0) {
    const numbers = await askWindow(context, idExpressions(numeric), ['count', ...VALUES_OF_NUMBERS]);
    for (const [id, values] of numbers) {
      const known = answered.get(id);
      // Readings that came between the two requests: what the second says is of another state.
      if (known === undefined || known.get('count') !== values.get('count')) continue;
      for (const [aggregation, text] of values) known.set(aggregation, text);
    }
  }
  return toSeries(answered);
}

type Answered = Map<string, Map<string, string>>;

/** One window of a day, aligned to midnight: whether `to` is inclusive does not matter to it. */
async function askWindow(
  context: SourceContext,
  expressions: readonly string[],
  aggregations: readonly string[],
): Promise<Answered> {
  const range = dayRange(context.day.date);
  let answered: Answered = new Map();
  const what = { expressions, range, aggregations, window: '1d', windowEdges: 'whole' as const };
  await askStatistics(context, what, () => {
    answered = new Map();
    return {
      add(row) {
        if (row.timestampMicros !== range.fromMicros) return;
        const values = answered.get(row.id) ?? new Map<string, string>();
        answered.set(row.id, values);
        for (const [aggregation, text] of row.values) values.set(aggregation, text);
      },
      end() {},
    };
  });
  return answered;
}

function toSeries(answered: Answered): ReadonlyMap<string, SourceSeries> {
  const series = new Map<string, SourceSeries>();
  for (const [id, values] of answered) {
    series.set(id, {
      count: given(values, 'count', parseInt64Text) ?? 0,
      firstMicros: given(values, 'first_time', parseTimestampText),
      lastMicros: given(values, 'last_time', parseTimestampText),
      values,
    });
  }
  return series;
}

function given<T>(values: AnsweredValues, aggregation: string, parse: (text: string) => T): T | undefined {
  const text = values.get(aggregation);
  return text === undefined || text === 'null' ? undefined : parse(text);
}

/** Who asks on behalf of a vessel-day. */
export type ContextOf = (job: Job, day: VesselDay) => SourceContext;
