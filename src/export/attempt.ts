/** Steps 2 to 8 of one vessel-day: count, plan, fetch, decode, seal, upload, verify, sealed draft. */
import type { OpenCheckpoint, SealedDay, TimeRange } from '../core/model/index.ts';
import { dayRange, FORMAT_VERSION } from '../core/model/index.ts';
import {
  EXPORT_TARGET_WINDOWS,
  planTimeSlices,
  planWindowSlices,
  slicesFrom,
} from '../core/plan/time-slices.ts';
import { confirmEmpty } from '../source/counts.ts';
import { type AttemptStart, beginAttempt, type DayAttempt, tallyOf } from './day-attempt.ts';
import { openShrinkGuard, type ShrinkGuard } from './day-guard.ts';
import { stepDone } from './ports.ts';
import { openReadings } from './readings.ts';
import { sealDay } from './seal-day.ts';
import { checkDue, type SourceCounts, verifyCounts } from './source-answers.ts';
import { openWindows } from './windows.ts';

/** Fetch and verify one vessel-day up to its sealed draft. Throws what its steps, the client and the store throw. */
export async function attemptDay(start: AttemptStart): Promise<SealedDay> {
  const { ports, claim, resume, answers } = start;
  try {
    const { attempt, guard, source } = await ports.tracing.span('count', {}, async (span) => {
      const counted = await countDay(start);
      span.set({
        'vessel_export.series': counted.attempt.series.idOf.size,
        'vessel_export.source_rows': counted.source?.counts.total(),
      });
      return counted;
    });
    // Up to here everything that was uploaded is in a checkpoint.
    try {
      return await finishAttempt(attempt, guard, source, resume?.checkpoint.cursorMicros);
    } catch (error) {
      // No attempt continues an upload that is in no claim. The first error is the one to report.
      if (!claim.hasProgress) await attempt.parts.abort().catch(() => {});
      throw error;
    }
  } finally {
    answers.stop();
  }
}

/** The source's counts of the day, after the never-shrink guard. */
async function countDay(start: AttemptStart) {
  const { ports, task, answers } = start;
  const attempt = await beginAttempt(start);
  const guard = await openShrinkGuard(attempt);
  const source = await answers.counts;
  if (source !== undefined) guard(source.counts, source);
  ports.encoder.prepare(rowsKnownOf(attempt, source));
  await stepDone(ports, task, 'counted');
  return { attempt, guard, source };
}

async function finishAttempt(
  attempt: DayAttempt,
  guard: ShrinkGuard,
  source: SourceCounts | undefined,
  cursorMicros: number | undefined,
): Promise<SealedDay> {
  const { ports, task, claim, tally, counts } = attempt;
  const { span: within } = ports.tracing;
  await within('fetch', {}, async (span) => {
    await fetchAll(attempt, source, cursorMicros);
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

/** Step 7, and the last check whether the day may be published. */
async function verifyDay(
  attempt: DayAttempt,
  guard: ShrinkGuard,
  source: SourceCounts | undefined,
): Promise<SourceCounts | undefined> {
  const { ports, task, counts } = attempt;
  const proven = await verifyCounts(attempt, counts, source);
  // For measurements the whole day was requested; for statistics only counts were.
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
  const { counts } = attempt;
  const { day, onEvent } = attempt.task;
  const rowsKnown = rowsKnownOf(attempt, source);
  let rows = counts.total();
  const onRows = (more: number) => {
    rows += more;
    onEvent?.({ kind: 'day-rows', day, rows, rowsKnown });
  };
  const open = attempt.task.job.dataset === 'statistics' ? openWindows : openReadings;
  const stages = open({
    ...attempt,
    sourceCounts: source?.counts,
    onRows,
    onPart: (cursor) => writeCheckpoint(attempt, cursor),
  });
  onRows(0);
  try {
    await stages.fetch(slicesFrom(slicesOf(attempt, source), cursorMicros ?? Number.NEGATIVE_INFINITY));
  } finally {
    await stages.close();
  }
}

/** Expected rows: for statistics the source counts something else. */
function rowsKnownOf({ task }: DayAttempt, source: SourceCounts | undefined): number | undefined {
  return task.job.dataset === 'measurements' ? source?.counts.total() : undefined;
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
