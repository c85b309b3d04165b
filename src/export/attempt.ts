/** Steps 2 to 8 of one vessel-day: count, plan, fetch, decode, seal, upload, verify, sealed draft. */
import { parquetFooter } from '../encode/index.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { Checkpoint, Clock, Proof, Receipt, SealedDay, Tally, TimeRange } from '../model/index.ts';
import { DayCounts, dayRange, MICROS_PER_HOUR } from '../model/index.ts';
import { pagesFrom, planPages, planUncountedPages, planWindowPages } from '../plan/pages.ts';
import type { Claim } from '../publish/claim.ts';
import { packDetail, readDetail } from '../publish/ledger.ts';
import type { PartUpload } from '../publish/parts.ts';
import { createPartUpload } from '../publish/parts.ts';
import { hourTotals } from '../verify/compare.ts';
import { confirmEmpty } from './confirm-empty.ts';
import type { Dataset } from './dataset.ts';
import { openDataset } from './dataset.ts';
import { draftReceipt } from './draft.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import type { PublishedDay, SourceCounts } from './proof.ts';
import { askSource, digestOf, guardAgainstShrinking, verifyCounts } from './proof.ts';
import type { ResumePoint } from './resume.ts';
import { resolveSeries } from './source.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';
import { PAGE_TARGET_WINDOWS } from './windows.ts';

/** What one attempt knows. */
interface Attempt {
  readonly ports: ExportPorts;
  readonly task: ExportTask;
  readonly claim: Claim;
  readonly clock: Clock;
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  /** Readings that the parts and sealed row groups hold. */
  readonly counts: DayCounts;
  readonly parts: PartUpload;
  readonly tally: { pages: number; clippedRows: number };
  readonly startedAt: string;
  readonly before: Tally | undefined;
}

/**
 * Fetch and verify one vessel-day up to its sealed draft. Throws CountsDisagreeError, UnknownSeriesError,
 * RefusedError, FencedError, or what the client and the store throw.
 */
export async function attemptDay(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  resume: ResumePoint | undefined,
  signal: AbortSignal,
): Promise<SealedDay> {
  const attempt = await beginAttempt(ports, task, claim, resume, signal);
  const guarded =
    published === undefined || task.allowShrink ? undefined : await readPublished(ports, published);
  const source = task.job.verify === 'off' ? undefined : await askSource(attempt);
  if (guarded && source) guardAgainstShrinking(attempt, guarded, source.counts, source);
  await ports.onStep('counted');
  await fetchAll(attempt, source, resume?.checkpoint.cursorMicros);
  await ports.onStep('fetched');
  const proven = await verifyCounts(attempt, attempt.counts, source);
  // The pages of measurements have asked for every reading of the day; statistics have only been asked for counts.
  if (proven?.counts.total() === 0 && task.job.dataset === 'statistics')
    await confirmEmpty(attempt.context, attempt.series);
  if (guarded) guardAgainstShrinking(attempt, guarded, attempt.counts, proven);
  await ports.onStep('verified');
  const sealed = await sealDay(attempt, proven);
  await claim.writeSealed(sealed);
  await ports.onStep('sealed');
  return sealed;
}

async function readPublished(ports: ExportPorts, receipt: Receipt): Promise<PublishedDay> {
  return { receipt, detail: await readDetail(ports.store, receipt) };
}

async function beginAttempt(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  resume: ResumePoint | undefined,
  signal: AbortSignal,
): Promise<Attempt> {
  const startedAt = resume?.checkpoint.tally.startedAt ?? isoNow(ports);
  const stats = createRequestStats();
  const context = { client: ports.client, job: task.job, day: task.day, log: ports.log, signal, stats };
  const series = await resolveSeries(context);
  const { fromMicros } = dayRange(task.day.date);
  const parts = createPartUpload({
    store: ports.store,
    day: task.day,
    sizes: ports.sizes,
    nonce: ports.nonce,
    fence: () => claim.checkFence(),
    ...(resume === undefined ? {} : { resume }),
  });
  return {
    ports,
    task,
    claim,
    clock: ports.clock,
    context,
    series,
    parts,
    counts: DayCounts.fromJson(fromMicros, resume?.checkpoint.counts ?? {}),
    tally: { pages: 0, clippedRows: 0 },
    startedAt,
    before: resume?.checkpoint.tally,
  };
}

function isoNow(ports: ExportPorts): string {
  return new Date(ports.clock.nowMs()).toISOString();
}

/** Steps 3 to 6. */
async function fetchAll(
  attempt: Attempt,
  source: SourceCounts | undefined,
  cursorMicros: number | undefined,
): Promise<void> {
  const { task, ports, counts } = attempt;
  const rowsKnown = source?.counts.total();
  let rows = counts.total();
  const dataset: Dataset = openDataset({
    ...attempt,
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
    await dataset.fetch(pagesFrom(planFor(attempt, source), cursorMicros ?? Number.NEGATIVE_INFINITY));
  } finally {
    await dataset.close();
  }
}

function planFor(attempt: Attempt, source: SourceCounts | undefined): TimeRange[] {
  const { task, series, ports } = attempt;
  const day = dayRange(task.day.date);
  if (task.job.dataset === 'statistics') {
    return planWindowPages(day, windowMicros(task), series.idOf.size, PAGE_TARGET_WINDOWS);
  }
  if (source === undefined) return planUncountedPages(day);
  return planPages(day, hourTotals(source.counts), ports.pageTargetRows);
}

function windowMicros(task: ExportTask): number {
  return task.job.windowMicros ?? MICROS_PER_HOUR;
}

async function writeCheckpoint(attempt: Attempt, cursorMicros: number): Promise<void> {
  const { parts, series, counts, claim, ports } = attempt;
  await ports.onStep('part-uploaded');
  const checkpoint: Checkpoint = {
    upload: parts.upload!,
    parts: [...parts.parts],
    rowGroups: parts.groups.map((group) => ({
      bodyBytes: group.bodyBytes,
      footer: Buffer.from(group.footer).toString('base64'),
      rows: group.rows,
    })),
    cursorMicros,
    series: Object.fromEntries(series.idOf),
    counts: counts.toJson(),
    tally: tallyOf(attempt),
  };
  await claim.writeCheckpoint(checkpoint);
  await ports.onStep('checkpoint');
}

/** Requests and pages of this attempt and of those that it goes on from. */
function tallyOf(attempt: Attempt): Tally {
  const { before, tally, context, startedAt } = attempt;
  return {
    startedAt,
    pages: (before?.pages ?? 0) + tally.pages,
    requests: (before?.requests ?? 0) + context.stats.requests,
    retries: (before?.retries ?? 0) + context.stats.retries,
    clippedRows: (before?.clippedRows ?? 0) + tally.clippedRows,
  };
}

function sourceOf(source: SourceCounts): NonNullable<Receipt['source']> {
  return { rows: source.counts.total(), askedAt: source.askedAt, totalsSha256: digestOf(source) };
}

/** Step 8: the last part, and the draft that the receipt will be. */
async function sealDay(attempt: Attempt, source: SourceCounts | undefined): Promise<SealedDay> {
  const { parts, task, counts } = attempt;
  const rows = parts.groups.reduce((sum, group) => sum + group.rows, 0);
  if (rows > 0) await parts.finish(parquetFooter(task.job.dataset, parts.groups));
  await attempt.ports.onStep('uploaded');
  const detail = packDetail({ ours: counts.toJson(), source: source?.counts.toJson() ?? null });
  const proof: Proof = source === undefined || task.job.verify === 'off' ? 'unproven' : task.job.verify;
  return {
    upload: rows > 0 ? parts.upload! : null,
    parts: rows > 0 ? [...parts.parts] : [],
    detail: Buffer.from(detail.gzip).toString('base64'),
    draft: draftReceipt(attempt.ports, task, {
      rows,
      counts,
      proof,
      upload: rows > 0 ? parts.upload : undefined,
      parts: parts.parts,
      detailSha256: detail.sha256,
      source: source === undefined ? null : sourceOf(source),
      tally: tallyOf(attempt),
    }),
  };
}
