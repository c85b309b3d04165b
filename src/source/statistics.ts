/** Statistics of the source: one answer, gathered row by row. */
import type { Aggregation, CountedRow, QueryRequest, StatisticsRow, TimeRange } from '../core/model/index.ts';
import {
  createSeriesDictionary,
  isWithin,
  MAX_SERIES,
  windowMicrosOf,
  wireShape,
} from '../core/model/index.ts';
import { answerFault, tooManySeries } from './answer-faults.ts';
import type { ResolvedSeries, SourceContext } from './context.ts';
import { createStatisticsDecoder } from './decode/index.ts';
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
  /** The caller asks for less after a few failures. */
  readonly isDivisible?: boolean;
}

/**
 * Gather the rows of one answer, or of several where the range has to be asked for in parts. Every try begins with
 * what `begin` returns, so that a try that broke off leaves nothing behind. The older version of the service sends a
 * row for each value. Of an answer in one part `addCounted` may take the rows that it is fast for. Rows may lie outside the range: an inclusive `to` makes one window more. Throws what the
 * client throws, what `add` throws, and DataError `too-many-series`.
 */
export async function collectStatistics<T>(
  context: SourceContext,
  question: StatisticsQuestion,
  begin: () => T,
  add: (gathered: T, row: StatisticsRow) => void,
  addCounted?: (gathered: T, row: CountedRow) => void,
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
  { client, signal, stats }: Pick<SourceContext, 'client' | 'signal' | 'stats'>,
  { expressions, range, aggregations, window }: StatisticsQuestion,
  scope: RetryScope,
  begin: () => T,
  add: (gathered: T, row: StatisticsRow) => void,
  addCounted?: (gathered: T, row: CountedRow) => void,
): Promise<T> {
  // Whatever the transport: lines that end too soon look whole, and a JSON array does not.
  const format = 'json';
  const windowEdges = window === 'none' ? {} : { windowEdges: 'whole' as const };
  const request: QueryRequest = {
    ...{ expressions, range, aggregations, window },
    ...windowEdges,
    family: 'statistics',
    format,
    outputDomain: 'id',
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

/** The question for the windows that a statistics job exports. */
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

/** What a statistics job exports of every window. */
export function aggregationsOf({ job }: Pick<SourceContext, 'job'>): readonly Aggregation[] {
  return job.aggregations ?? ['count'];
}
