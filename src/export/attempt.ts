/** Steps 2 to 8 of one vessel-day: count, plan, fetch, decode, seal, upload, verify, sealed draft. */
import { emptyParquetFooter, parquetFooter } from '../encode/index.ts';
import type { Claim } from '../lake/claim.ts';
import { packDetail } from '../lake/ledger.ts';
import type { PartUpload } from '../lake/parts.ts';
import { createPartUpload } from '../lake/parts.ts';
import type {
  Checkpoint,
  Clock,
  Proof,
  Receipt,
  SealedDay,
  SeriesRemark,
  Tally,
  TimeRange,
} from '../model/index.ts';
import { DayCounts, dayRange, FORMAT_VERSION } from '../model/index.ts';
import { EXPORT_TARGET_WINDOWS, planTimeSlices, planWindowSlices, slicesFrom } from '../plan/time-slices.ts';
import { publishedReadings, seriesTotals, totalsOf } from '../proof/day-totals.ts';
import { SeriesValues } from '../proof/series-values.ts';
import { guardAgainstShrinking } from '../proof/shrink-guard.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import { confirmEmpty } from '../source/counts.ts';
import type { AskedSource } from './asked-source.ts';
import { askAboutDay } from './asked-source.ts';
import type { FetchTally } from './assembly.ts';
import { openStages } from './dataset.ts';
import { draftReceipt } from './draft.ts';
import { checkDue } from './due.ts';
import { hasSameSelect, remarkOnSeries } from './fewer-series.ts';
import { finishUpload } from './finish-upload.ts';
import { guardOptional } from './optional-series.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import type { ResumePoint } from './resume.ts';
import type { SourceCounts } from './source-counts.ts';
import { verifyCounts } from './source-counts.ts';

/** What one attempt knows. */
interface DayAttempt {
  readonly ports: ExportPorts;
  readonly task: ExportTask;
  readonly claim: Claim;
  readonly clock: Clock;
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly remark: SeriesRemark | undefined;
  /** Readings that the parts and sealed row groups hold. */
  readonly counts: DayCounts;
  /** What their values come to. */
  readonly values: SeriesValues;
  readonly parts: PartUpload;
  readonly tally: FetchTally;
  readonly startedAt: string;
  readonly before: Tally | undefined;
  readonly published: Receipt | undefined;
}

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
    return await attemptAsked(ports, task, claim, published, resume, asked);
  } finally {
    asked.stop();
  }
}

async function attemptAsked(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  resume: ResumePoint | undefined,
  asked: AskedSource,
): Promise<SealedDay> {
  const counted = await ports.tracing.span('count', {}, async (span) => {
    const attempt = await beginAttempt(ports, task, claim, published, resume, asked);
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

type ShrinkGuard = (counts: DayCounts, source: SourceCounts | undefined) => void;

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
  await ports.onStep('counted');
  return { guard, source };
}

async function finishAttempt(
  { attempt, guard, source }: CountedDay & { readonly attempt: DayAttempt },
  resume: ResumePoint | undefined,
): Promise<SealedDay> {
  const { ports, claim, tally, counts } = attempt;
  const { span: within } = ports.tracing;
  await within('fetch', {}, async (span) => {
    await fetchAll(attempt, source, resume?.checkpoint.cursorMicros);
    span.set({ 'vessel_export.pages': tally.slices, 'vessel_export.rows': counts.total() });
  });
  await ports.onStep('fetched');
  const proven = await within('verify', {}, () => verifyDay(attempt, guard, source));
  return await within('seal', {}, async () => {
    const sealed = await sealDay(attempt, proven);
    await claim.writeSealed(sealed);
    await ports.onStep('sealed');
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
  await ports.onStep('verified');
  checkDue(ports, task.job, task.day.date);
  return proven;
}

/** Refuses counts that are less than the published day's, by series where its detail is at hand. */
async function openShrinkGuard(
  { claim, task, series }: DayAttempt,
  published: Receipt | undefined,
): Promise<ShrinkGuard> {
  if (published === undefined || task.allowShrink) return () => {};
  const detail = await claim.readDetail(published);
  const guarded = {
    total: publishedReadings(published),
    bySeries: detail && seriesTotals(detail.ours),
    names: detail?.series,
  };
  return (counts, source) =>
    guardAgainstShrinking({
      day: task.day,
      counted: 'readings',
      published: guarded,
      candidate: { total: counts.total(), bySeries: totalsOf(counts) },
      idOf: series.idOf,
      sameSelect: hasSameSelect(task, published),
      totalsSha256: source?.totalsSha256,
    });
}

async function beginAttempt(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  resume: ResumePoint | undefined,
  asked: AskedSource,
): Promise<DayAttempt> {
  const startedAt = resume?.checkpoint.tally.startedAt ?? asked.startedAt;
  const series = await asked.series;
  await guardOptional(ports, task, published, series);
  const remark = await remarkOnSeries(ports, task, published, series);
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
    parts,
    counts: DayCounts.fromJson(fromMicros, resume?.checkpoint.counts ?? {}),
    values: SeriesValues.fromJson(resume?.checkpoint.values ?? {}),
    tally: { slices: 0, clippedRows: 0 },
    startedAt,
    before: resume?.checkpoint.tally,
    published,
  };
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
      task.onProgress?.({ rows, rowsKnown });
    },
    onPart: (cursor) => writeCheckpoint(attempt, cursor),
  });
  task.onProgress?.({ rows, rowsKnown });
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
  const { parts, series, counts, values, claim, ports } = attempt;
  await ports.onStep('part-uploaded');
  const checkpoint: Checkpoint = {
    formatVersion: FORMAT_VERSION,
    upload: parts.upload!,
    parts: [...parts.parts],
    rowGroups: parts.checkpointGroups(),
    cursorMicros,
    series: Object.fromEntries(series.idOf),
    counts: counts.toJson(),
    values: values.toJson(),
    tally: tallyOf(attempt),
  };
  await claim.writeCheckpoint(checkpoint);
  await ports.onStep('checkpoint');
}

/** The name of each selected series, in the order of their ids. */
function namesOf({ idOf }: ResolvedSeries): Record<string, string | null> {
  return Object.fromEntries([...idOf.keys()].sort().map((id) => [id, idOf.get(id)!]));
}

/** Requests and time slices of this attempt and of those that it goes on from. */
function tallyOf(attempt: DayAttempt): Tally {
  const { before, tally, context, startedAt } = attempt;
  return {
    startedAt,
    pages: (before?.pages ?? 0) + tally.slices,
    requests: (before?.requests ?? 0) + context.stats.requests,
    retries: (before?.retries ?? 0) + context.stats.retries,
    clippedRows: (before?.clippedRows ?? 0) + tally.clippedRows,
  };
}

/**
 * Step 8: the last part, and the draft that the receipt will be. In a plain lake a day that was emptied becomes an object
 * of no rows.
 */
async function sealDay(attempt: DayAttempt, source: SourceCounts | undefined): Promise<SealedDay> {
  const { parts, task, counts, series, claim, published } = attempt;
  const rows = parts.groups.reduce((sum, group) => sum + group.rows, 0);
  const { kept, ...destination } = await finishUpload(attempt.ports, {
    ...{ claim, parts, published },
    footer: rows === 0 ? undefined : parquetFooter(task.job.dataset, parts.groups),
    emptyFooter: () => emptyParquetFooter(task.job),
  });
  await attempt.ports.onStep('uploaded');
  const detail = packDetail({
    ours: counts,
    source: source?.counts ?? null,
    series: namesOf(series),
  });
  const proof: Proof = source === undefined || task.job.verify === 'off' ? 'unproven' : task.job.verify;
  return {
    ...destination,
    detail: Buffer.from(detail.gzip).toString('base64'),
    draft: draftReceipt(attempt.ports, task, {
      rows,
      selectedSeries: series.idOf.size,
      unmatched: series.unmatched,
      remark: attempt.remark,
      counts,
      proof,
      upload: destination.upload ?? undefined,
      parts: destination.parts,
      kept,
      detailSha256: detail.sha256,
      source:
        source === undefined
          ? null
          : { rows: source.counts.total(), askedAt: source.askedAt, totalsSha256: source.totalsSha256 },
      tally: tallyOf(attempt),
    }),
  };
}
