/** One attempt at a vessel-day: what it knows, where it begins, and what it has cost. */
import type { FewerSeriesWarning, Receipt, SeriesWarning, Tally } from '../core/model/index.ts';
import { DayCounts, dayRange } from '../core/model/index.ts';
import { SeriesValues } from '../core/proof/series-values.ts';
import type { Claim } from '../lake/claims/claim.ts';
import { createPartUpload, type PartUpload } from '../lake/publish/parts.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import type { FetchTally } from './assembly.ts';
import { warnOfFewerSeries } from './fewer-series.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import type { ResumePoint } from './resume.ts';
import { guardOptional, warnOfOthers } from './series-checks.ts';
import type { SourceAnswers } from './source-answers.ts';

/** What an attempt works with, whatever it finds. */
interface AttemptOf {
  readonly ports: ExportPorts;
  readonly task: ExportTask;
  readonly claim: Claim;
  /** The receipt that the day has, which this attempt is to replace. */
  readonly previous: Receipt | undefined;
}

/** What an attempt is begun with. */
export interface AttemptStart extends AttemptOf {
  readonly resume?: ResumePoint | undefined;
  readonly answers: SourceAnswers;
}

/** What one attempt knows. */
export interface DayAttempt extends AttemptOf {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly remark: FewerSeriesWarning | undefined;
  readonly warnings: readonly SeriesWarning[];
  /** Readings that the parts and sealed row groups hold. */
  readonly counts: DayCounts;
  /** What their values come to. */
  readonly values: SeriesValues;
  readonly parts: PartUpload;
  readonly tally: FetchTally;
  readonly startedAt: string;
  /** Of the attempts that this one goes on from. */
  readonly before: Tally | undefined;
}

/** Begin anew, or with what `resume` has. Throws what the source does, and RefusedError for what is not there. */
export async function beginAttempt(start: AttemptStart): Promise<DayAttempt> {
  const { ports, task, claim, previous, resume, answers } = start;
  const checkpoint = resume?.checkpoint;
  const startedAt = checkpoint?.tally.startedAt ?? answers.startedAt;
  const series = await answers.series;
  await guardOptional(ports, task, previous, series);
  const remark = await warnOfFewerSeries(ports, task, answers.context, previous, series);
  const warnings = await warnOfOthers(ports, task, previous, series);
  const { fromMicros } = dayRange(task.day.date);
  const layout = claim.table === undefined ? 'plain' : 'delta';
  return {
    ...{ ports, task, claim, previous, series, remark, warnings, startedAt },
    context: answers.context,
    parts: createPartUpload({ ...ports, day: task.day, layout, ...(resume && { resume }) }),
    counts: DayCounts.fromJson(fromMicros, checkpoint?.counts ?? {}, series.idOf.size),
    values: SeriesValues.fromJson(checkpoint?.values ?? {}),
    tally: { slices: 0, clippedRows: 0 },
    before: checkpoint?.tally,
  };
}

/** Requests and time slices of this attempt and of those that it goes on from. */
export function tallyOf({ before, tally, context, startedAt }: DayAttempt): Tally {
  return {
    startedAt,
    pages: (before?.pages ?? 0) + tally.slices,
    requests: (before?.requests ?? 0) + context.stats.requests,
    retries: (before?.retries ?? 0) + context.stats.retries,
    clippedRows: (before?.clippedRows ?? 0) + tally.clippedRows,
  };
}
