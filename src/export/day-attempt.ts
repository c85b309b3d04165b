/** The state of one attempt at a vessel-day: inputs, progress, and costs. */
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

/** Begin anew, or from what `resume` has. Throws what the source throws, and RefusedError if something is missing. */
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
    /** Counts of the readings in parts and closed row groups, and digests of their values. */
    counts: DayCounts.fromJson(fromMicros, checkpoint?.counts ?? {}, series.idOf.size),
    values: SeriesValues.fromJson(checkpoint?.values ?? {}),
    /** Fetched time slices, and rows outside of them in the answers. */
    tally: { slices: 0, clippedRows: 0 },
    /** Costs of the attempts that this one continues. */
    before: checkpoint?.tally,
  };
}

/** Requests and time slices of this attempt and of those that it continues. */
export function tallyOf({ before, tally, context, startedAt }: DayAttempt): Tally {
  return {
    startedAt,
    pages: (before?.pages ?? 0) + tally.slices,
    requests: (before?.requests ?? 0) + context.stats.requests,
    retries: (before?.retries ?? 0) + context.stats.retries,
    clippedRows: (before?.clippedRows ?? 0) + tally.clippedRows,
  };
}
