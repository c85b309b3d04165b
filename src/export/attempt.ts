/** Steps 2 to 8 of one vessel-day: count, plan, fetch, decode, seal, upload, verify, sealed draft. */
import type { OpenCheckpoint, Receipt, SealedDay, TimeRange } from '../core/model/index.ts';
import { dayRange, FORMAT_VERSION } from '../core/model/index.ts';
import {
  EXPORT_TARGET_WINDOWS,
  planTimeSlices,
  planWindowSlices,
  slicesFrom,
} from '../core/plan/time-slices.ts';
import type { Claim } from '../lake/claims/claim.ts';
import { confirmEmpty } from '../source/counts.ts';
import type { AskedSource } from './asked-source.ts';
import { askAboutDay } from './asked-source.ts';
import { openStages } from './dataset.ts';
import type { AttemptStart, DayAttempt } from './day-attempt.ts';
import { beginAttempt, tallyOf } from './day-attempt.ts';
import type { ShrinkGuard } from './day-guard.ts';
import { openShrinkGuard } from './day-guard.ts';
import { checkDue } from './due.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import { stepDone } from './ports.ts';
import type { ResumePoint } from './resume.ts';
import { sealDay } from './seal-day.ts';
import type { SourceCounts } from './source-counts.ts';
import { verifyCounts } from './source-counts.ts';

/** What an attempt goes on from. */
export interface BegunDay {
  readonly resume?: ResumePoint | undefined;
  /** What the source has been asked already. */
  readonly asked?: AskedSource | undefined;
}

/**
 * Fetch and verify one vessel-day up to its sealed draft. Throws CountsDisagreeError, UnknownSeriesError,
 * RefusedError, FencedError, NotDueError, or what the client and the store throw.
 */
export async function attemptDay(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  begun: BegunDay,
  signal: AbortSignal,
): Promise<SealedDay> {
  const { resume, asked = askAboutDay(ports, task, signal) } = begun;
  try {
    return await attemptAsked({ ports, task, claim, published, resume, asked });
  } finally {
    asked.stop();
  }
}

async function attemptAsked(start: AttemptStart): Promise<SealedDay> {
  const { ports, claim, published, resume, asked } = start;
  const counted = await ports.tracing.span('count', {}, async (span) => {
    const attempt = await beginAttempt(start);
    const { guard, source } = await countDay(attempt, published, asked);
    span.set({
      'vessel_export.series': attempt.series.idOf.size,
      'vessel_export.source_rows': source?.counts.total(),
    });
    return { attempt, guard, source };
  });
  const { attempt } = counted;
  // Until here nothing was uploaded that is not in a checkpoint.
  try {
    return await finishAttempt(counted, resume);
  } catch (error) {
    // What no claim names nobody goes on with. The first error is the one to report.
    if (!claim.hasProgress) await attempt.parts.abort().catch(() => {});
    throw error;
  }
}

/** What the source counts of the day, and the guard that it has passed. */
interface CountedDay {
  readonly guard: ShrinkGuard;
  /** Undefined: the job does not ask. */
  readonly source: SourceCounts | undefined;
}

async function countDay(
  attempt: DayAttempt,
  published: Receipt | undefined,
  asked: AskedSource,
): Promise<CountedDay> {
  const { ports, task } = attempt;
  const guard = await openShrinkGuard(attempt, published);
  const source = await asked.source;
  if (source !== undefined) guard(source.counts, source);
  ports.encoder.prepare(task.job.dataset === 'measurements' ? source?.counts.total() : undefined);
  await stepDone(ports, task, 'counted');
  return { guard, source };
}

async function finishAttempt(
  { attempt, guard, source }: CountedDay & { readonly attempt: DayAttempt },
  resume: ResumePoint | undefined,
): Promise<SealedDay> {
  const { ports, task, claim, tally, counts } = attempt;
  const { span: within } = ports.tracing;
  await within('fetch', {}, async (span) => {
    await fetchAll(attempt, source, resume?.checkpoint.cursorMicros);
    span.set({ 'vessel_export.pages': tally.slices, 'vessel_export.rows': counts.total() });
  });
  await stepDone(ports, task, 'fetched');
  const proven = await within('verify', {}, () => verifyDay(attempt, guard, source));
  return await within('seal', {}, async () => {
    const sealed = await sealDay(attempt, proven);
    await claim.writeSealed(sealed);
    await stepDone(ports, task, 'sealed');
    return sealed;
  });
}

/** Step 7, and the last look whether the day may be published at all. */
async function verifyDay(
  attempt: DayAttempt,
  guard: ShrinkGuard,
  source: SourceCounts | undefined,
): Promise<SourceCounts | undefined> {
  const { ports, task, counts } = attempt;
  const proven = await verifyCounts(attempt, counts, source);
  // Measurements have been asked for over the whole day; for statistics only counts have.
  if (proven?.counts.total() === 0 && task.job.dataset === 'statistics')
    await confirmEmpty(attempt.context, attempt.series);
  guard(counts, proven);
  await stepDone(ports, task, 'verified');
  checkDue(ports, task.job, task.day.date);
  return proven;
}

/** Steps 3 to 6. */
async function fetchAll(
  attempt: DayAttempt,
  source: SourceCounts | undefined,
  cursorMicros: number | undefined,
): Promise<void> {
  const { task, ports, counts } = attempt;
  const rowsKnown = task.job.dataset === 'measurements' ? source?.counts.total() : undefined;
  let rows = counts.total();
  const stages = openStages({
    ...attempt,
    sourceCounts: source?.counts,
    encoder: ports.encoder,
    sizes: ports.sizes,
    onRows: (more) => {
      rows += more;
      task.onEvent?.({ kind: 'day-rows', day: task.day, rows, rowsKnown });
    },
    onPart: (cursor) => writeCheckpoint(attempt, cursor),
  });
  task.onEvent?.({ kind: 'day-rows', day: task.day, rows, rowsKnown });
  try {
    await stages.fetch(slicesFrom(slicesOf(attempt, source), cursorMicros ?? Number.NEGATIVE_INFINITY));
  } finally {
    await stages.close();
  }
}

function slicesOf({ task, series, ports }: DayAttempt, source: SourceCounts | undefined): TimeRange[] {
  const { job, day } = task;
  if (job.dataset === 'statistics')
    return planWindowSlices(job, day.date, series.idOf.size, EXPORT_TARGET_WINDOWS);
  return planTimeSlices(dayRange(day.date), source?.counts, ports.sliceTargetRows);
}

async function writeCheckpoint(attempt: DayAttempt, cursorMicros: number): Promise<void> {
  const { parts, series, counts, values, claim, ports, task } = attempt;
  await stepDone(ports, task, 'part-uploaded');
  const checkpoint: OpenCheckpoint = {
    formatVersion: FORMAT_VERSION,
    upload: parts.upload!,
    parts: [...parts.parts],
    rowGroups: [...parts.groups],
    cursorMicros,
    series: Object.fromEntries(series.idOf),
    counts: counts.toJson(),
    values: values.toJson(),
    tally: tallyOf(attempt),
  };
  await claim.writeCheckpoint(checkpoint);
  await stepDone(ports, task, 'checkpoint');
}
