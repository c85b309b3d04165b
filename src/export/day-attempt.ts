/** One attempt at a vessel-day: what it knows, where it begins, and what it has cost. */
import { DayCounts, dayRange, type Tally } from '../core/model/index.ts';
import { SeriesValues } from '../core/proof/series-values.ts';
import { createPartUpload } from '../lake/publish/parts.ts';
import type { ClaimedDay } from './ports.ts';
import type { ResumePoint } from './resume.ts';
import { judgeSeries } from './series-checks.ts';
import type { SourceAnswers } from './source-answers.ts';

export interface AttemptStart extends ClaimedDay {
  readonly resume?: ResumePoint | undefined;
  readonly answers: SourceAnswers;
}

export type DayAttempt = Awaited<ReturnType<typeof beginAttempt>>;

/** Begin anew, or with what `resume` has. Throws what the source does, and RefusedError for what is not there. */
export async function beginAttempt(start: AttemptStart) {
  const { ports, task, claim, previous, resume, answers } = start;
  const { context } = answers;
  const checkpoint = resume?.checkpoint;
  const startedAt = checkpoint?.tally.startedAt ?? answers.startedAt;
  const series = await answers.series;
  const judged = await judgeSeries({ ports, task, claim, previous, context, series });
  const { fromMicros } = dayRange(task.day.date);
  const layout = claim.table === undefined ? 'plain' : 'delta';
  return {
    ...{ ports, task, claim, previous, context, series, startedAt, ...judged },
    parts: createPartUpload({ ...ports, day: task.day, layout, ...(resume && { resume }) }),
    /** Readings that the parts and sealed row groups hold, and what their values come to. */
    counts: DayCounts.fromJson(fromMicros, checkpoint?.counts ?? {}, series.idOf.size),
    values: SeriesValues.fromJson(checkpoint?.values ?? {}),
    /** Time slices fetched, and rows outside of them that came with them. */
    tally: { slices: 0, clippedRows: 0 },
    /** Of the attempts that this one goes on from. */
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
