import type { Aggregation, CountedRow, QueryRequest, StatisticsRow, TimeRange } from '../core/model/index.ts';
import { createSeriesDictionary, isWithin, windowMicrosOf, wireShape } from '../core/model/index.ts';
import { MAX_SERIES } from '../core/model/series.ts';
import { answerFault, tooManySeries } from './answer-faults.ts';
import type { Asker, ResolvedSeries, SourceContext } from './context.ts';
import { parseInt64Text, parseTimestampText } from './decode/number-lexeme.ts';
import { createStatisticsDecoder } from './decode/statistics.ts';
import type { RetryScope } from './fetch/retry.ts';
import { askInSlices } from './slices.ts';

/** What is asked; windows other than `none` are whole ones. */
interface StatisticsQuestion {
  readonly expressions: readonly string[];
  readonly range: TimeRange;
  readonly aggregations: readonly string[];
  readonly window: string;
  /** Length of the windows, where the range may be asked for in parts: it begins and ends at whole windows. */
  readonly windowMicros?: number;
  readonly isDivisible?: boolean;
}

export const COUNTED = ['count', 'first_time', 'last_time'] as const satisfies readonly Aggregation[];

/** What rows say of one window whose readings are counted, one value after the other or all at once. */
export interface CountedWindow extends Partial<Record<(typeof COUNTED)[number], number>> {
  repeated?: Aggregation;
}

export function addToWindow(window: CountedWindow, row: StatisticsRow | CountedRow): void {
  if (!('values' in row)) {
    put(window, 'count', row.count);
    put(window, 'first_time', row.firstMicros);
    put(window, 'last_time', row.lastMicros);
    return;
  }
  for (const aggregation of COUNTED) {
    const text = row.values.get(aggregation) ?? 'null';
    if (text !== 'null')
      put(window, aggregation, (aggregation === 'count' ? parseInt64Text : parseTimestampText)(text));
  }
}

function put(window: CountedWindow, aggregation: (typeof COUNTED)[number], value: number): void {
  if (window[aggregation] !== undefined) window.repeated ??= aggregation;
  window[aggregation] = value;
}

type AddRow<T> = (gathered: T, row: StatisticsRow) => void;
type AddCounted<T> = (gathered: T, row: CountedRow) => void;

/**
 * Gather the rows of one answer, or of several parts of the range; every try begins with `begin`. `addCounted` may take the rows of a single answer that
 * it is fast for. Rows may lie outside: an inclusive `to` makes one window more. Throws what client and `add` throw, and DataError `too-many-series`.
 */
export async function collectStatistics<T>(
  context: SourceContext,
  question: StatisticsQuestion,
  begin: () => T,
  add: AddRow<T>,
  addCounted?: AddCounted<T>,
): Promise<T> {
  const { range, windowMicros: stepMicros, isDivisible } = question;
  if (stepMicros === undefined)
    return askStatistics(context, question, { streak: context.streak, isDivisible }, begin, add, addCounted);
  let gathered: T | undefined;
  await askInSlices(context, [range], {
    family: 'statistics',
    stepMicros,
    async ask(part, scope) {
      if (part.fromMicros === range.fromMicros && part.toMicros === range.toMicros) {
        gathered = await askStatistics(context, question, scope, begin, add, addCounted);
        return;
      }
      const rows = await askStatistics(
        context,
        { ...question, range: part },
        scope,
        () => [] as StatisticsRow[],
        (ofPart, row) => void ofPart.push(row),
      );
      gathered ??= begin();
      for (const row of rows) {
        // What lies in another part comes with that one.
        const isElsewhere = isWithin(range, row.timestampMicros) && !isWithin(part, row.timestampMicros);
        if (!isElsewhere) add(gathered, row);
      }
    },
  });
  return gathered as T;
}

/** Gather the rows of one answer; as `collectStatistics` otherwise. */
export function askStatistics<T>(
  { client, signal, stats }: Asker,
  { expressions, range, aggregations, window }: StatisticsQuestion,
  scope: RetryScope,
  begin: () => T,
  add: AddRow<T>,
  addCounted?: AddCounted<T>,
): Promise<T> {
  // Whatever the transport: lines that end too soon look whole, and a JSON array does not.
  const format = 'json';
  const request: QueryRequest = {
    ...{ family: 'statistics', format, expressions, range, aggregations, window, outputDomain: 'id' },
    ...(window !== 'none' && { windowEdges: 'whole' }),
  };
  return client.exchange(
    () => request,
    async (response) => {
      const gathered = begin();
      const dictionary = createSeriesDictionary();
      const decoder = createStatisticsDecoder({
        shape: wireShape(response.apiVersion),
        format,
        dictionary,
        onRow: (row) => {
          dictionary.codeOf(row.id);
          if (dictionary.ids.length > MAX_SERIES) throw tooManySeries();
          add(gathered, row);
        },
        onCounted:
          addCounted &&
          ((row) => {
            if (dictionary.ids.length > MAX_SERIES) throw tooManySeries();
            addCounted(gathered, row);
          }),
      });
      try {
        for await (const chunk of response.body) decoder.push(chunk);
        decoder.end();
      } catch (error) {
        throw answerFault(error, request, response);
      }
      return gathered;
    },
    { ...scope, signal, stats },
  );
}

export function exportedWindows(
  { job }: SourceContext,
  { expressions }: ResolvedSeries,
  range: TimeRange,
): StatisticsQuestion {
  return {
    ...{ expressions, range, aggregations: aggregationsOf({ job }) },
    ...{ window: job.window ?? '1h', windowMicros: windowMicrosOf(job) },
  };
}

export function aggregationsOf({ job }: Pick<SourceContext, 'job'>): readonly Aggregation[] {
  return job.aggregations ?? ['count'];
}
