/** Counts, times and values of a day, as the source's statistics give them. */
import { dayRange, formatVesselDay, type TimeRange } from '../core/model/index.ts';
import type { AnsweredValues, SourceSeries } from '../core/proof/compare-values.ts';
import { repeatedResult } from './answer-faults.ts';
import type { ResolvedSeries, SourceContext } from './context.ts';
import { parseInt64Text, parseTimestampText } from './decode/number-lexeme.ts';
import { idExpressions } from './series.ts';
import { COUNTED, collectStatistics } from './statistics.ts';

/** What every series has, and what only series of numbers have. */
const OF_ANY = [...COUNTED, 'first_val', 'last_val'];
const OF_NUMBERS = ['min', 'max', 'sum'];

interface ValuesQuestion {
  /** Series that are known to hold numbers only. */
  readonly numeric: readonly string[];
  readonly range?: TimeRange;
}

/**
 * Count, times and values per series over the day, or a part of it. Minimum, maximum and sum are asked of `numeric` series only: the
 * service may refuse them for JSON. One request where all series are numeric, or none is, else two. Throws DataError `repeated-result`.
 */
export async function askValues(
  context: SourceContext,
  series: ResolvedSeries,
  { numeric, range }: ValuesQuestion,
): Promise<ReadonlyMap<string, SourceSeries>> {
  if (numeric.length === series.idOf.size)
    return toSeries(await askOnce(context, series.expressions, [...OF_ANY, ...OF_NUMBERS], range));
  const answered = await askOnce(context, series.expressions, OF_ANY, range);
  if (numeric.length > 0) {
    const numbers = await askOnce(context, idExpressions(numeric), ['count', ...OF_NUMBERS], range);
    for (const [id, values] of numbers) {
      const known = answered.get(id);
      // Readings that came between the two requests: what the second says is of another state.
      if (known === undefined || known.get('count') !== values.get('count')) continue;
      for (const [aggregation, text] of values) known.set(aggregation, text);
    }
  }
  return toSeries(answered);
}

/** One window: of the day, aligned to midnight, so that it does not matter whether `to` is inclusive; or of just the part. */
function askOnce(
  context: SourceContext,
  expressions: readonly string[],
  aggregations: readonly string[],
  part: TimeRange | undefined,
): Promise<Map<string, Map<string, string>>> {
  const range = part ?? dayRange(context.day.date);
  return collectStatistics(
    context,
    { expressions, range, aggregations, window: part === undefined ? '1d' : 'none' },
    () => new Map<string, Map<string, string>>(),
    (answered, row) => {
      if (part === undefined && row.timestampMicros !== range.fromMicros) return;
      const values = answered.get(row.id) ?? new Map<string, string>();
      answered.set(row.id, values);
      for (const [aggregation, text] of row.values) {
        if (values.has(aggregation))
          throw repeatedResult(formatVesselDay(context.day), aggregation, row.id, row.timestampMicros);
        values.set(aggregation, text);
      }
    },
  );
}

function toSeries(answered: ReadonlyMap<string, AnsweredValues>): ReadonlyMap<string, SourceSeries> {
  const series = [...answered].map(([id, values]) => {
    const count = parsed(values, 'count', parseInt64Text) ?? 0;
    const firstMicros = parsed(values, 'first_time', parseTimestampText);
    const lastMicros = parsed(values, 'last_time', parseTimestampText);
    return [id, { count, firstMicros, lastMicros, values }] as const;
  });
  return new Map(series);
}

function parsed<T>(values: AnsweredValues, aggregation: string, parse: (text: string) => T): T | undefined {
  const text = values.get(aggregation);
  return text === undefined || text === 'null' ? undefined : parse(text);
}
