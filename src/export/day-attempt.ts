/** One attempt at a vessel-day: what it knows, where it begins, and what it has cost. */
import type { Clock, Receipt, SeriesRemark, SeriesWarning, Tally } from '../core/model/index.ts';
import { DayCounts, dayRange } from '../core/model/index.ts';
import { SeriesValues } from '../core/proof/series-values.ts';
import type { Claim } from '../lake/claims/claim.ts';
import type { PartUpload } from '../lake/publish/parts.ts';
import { createPartUpload } from '../lake/publish/parts.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import type { AskedSource } from './asked-source.ts';
import type { FetchTally } from './assembly.ts';
import { remarkOnSeries } from './fewer-series.ts';
import { guardOptional } from './optional-series.ts';
import { warnOfOthers } from './other-vessel.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import type { ResumePoint } from './resume.ts';

/** What an attempt is begun with. */
export interface AttemptStart {
  readonly ports: ExportPorts;
  readonly task: ExportTask;
  readonly claim: Claim;
  readonly published: Receipt | undefined;
  readonly resume: ResumePoint | undefined;
  readonly asked: AskedSource;
}

/** What one attempt knows. */
export interface DayAttempt extends Omit<AttemptStart, 'resume' | 'asked'> {
  readonly clock: Clock;
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly remark: SeriesRemark | undefined;
  readonly warnings: readonly SeriesWarning[];
  /** Readings that the parts and sealed row groups hold. */
  readonly counts: DayCounts;
  /** What their values come to. */
  readonly values: SeriesValues;
  readonly parts: PartUpload;
  readonly tally: FetchTally;
  readonly startedAt: string;
  readonly before: Tally | undefined;
}

/** Begin anew, or with what `resume` has. Throws what the source does, and RefusedError for what is not there. */
export async function beginAttempt(start: AttemptStart): Promise<DayAttempt> {
  const { ports, task, claim, published, resume, asked } = start;
  const startedAt = resume?.checkpoint.tally.startedAt ?? asked.startedAt;
  const series = await asked.series;
  await guardOptional(ports, task, published, series);
  const remark = await remarkOnSeries(ports, task, asked.context, published, series);
  const warnings = await warnOfOthers(ports, task, published, series);
  const { fromMicros } = dayRange(task.day.date);
  const parts = createPartUpload({
    store: ports.store,
    day: task.day,
    sizes: ports.sizes,
    nonce: ports.nonce,
    layout: claim.table === undefined ? 'plain' : 'delta',
    ...(resume === undefined ? {} : { resume }),
  });
  return {
    ports,
    task,
    claim,
    clock: ports.clock,
    context: asked.context,
    series,
    remark,
    warnings,
    parts,
    counts: DayCounts.fromJson(fromMicros, resume?.checkpoint.counts ?? {}, series.idOf.size),
    values: SeriesValues.fromJson(resume?.checkpoint.values ?? {}),
    tally: { slices: 0, clippedRows: 0 },
    startedAt,
    before: resume?.checkpoint.tally,
    published,
  };
}

/** Requests and time slices of this attempt and of those that it goes on from. */
export function tallyOf(attempt: DayAttempt): Tally {
  const { before, tally, context, startedAt } = attempt;
  return {
    startedAt,
    pages: (before?.pages ?? 0) + tally.slices,
    requests: (before?.requests ?? 0) + context.stats.requests,
    retries: (before?.retries ?? 0) + context.stats.retries,
    clippedRows: (before?.clippedRows ?? 0) + tally.clippedRows,
  };
}
