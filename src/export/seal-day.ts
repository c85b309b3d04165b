/** Step 8: the last part of a day's upload, what publishing it will change in the job's table, and the draft of its receipt. */
import type { DayCounts, Receipt, ReceiptDraft, SealedDay, Tally } from '../core/model/index.ts';
import { FORMAT_VERSION, microsToIso } from '../core/model/index.ts';
import { selectHash } from '../core/plan/settings-hash.ts';
import type { Claim } from '../lake/claims/claim.ts';
import { detailKey } from '../lake/keys.ts';
import { packDetail } from '../lake/ledger/ledger.ts';
import type { PartUpload } from '../lake/publish/parts.ts';
import { publishSealed } from '../lake/publish/publish.ts';
import { emptyParquetFooter, parquetFooter } from '../parquet/write/index.ts';
import type { ResolvedSeries } from '../source/context.ts';
import { holdsParts, sizeOf } from '../store/store.ts';
import { type DayAttempt, tallyOf } from './day-attempt.ts';
import { type ClaimedDay, type ExportPorts, type ExportTask, stepDone } from './ports.ts';
import type { SourceCounts } from './source-answers.ts';

/** The draft of readings. In a plain lake a day that was emptied becomes an object of no rows. */
export async function sealDay(attempt: DayAttempt, source: SourceCounts | undefined): Promise<SealedDay> {
  const { ports, parts, task, counts, series, claim, previous, remark, warnings } = attempt;
  const { job } = task;
  const rows = parts.groups.reduce((sum, group) => sum + group.rows, 0);
  const { kept, ...destination } = await finishUpload(ports, {
    ...{ claim, parts, previous },
    footer: rows === 0 ? undefined : parquetFooter(job.dataset, parts.groups),
    emptyFooter: () => emptyParquetFooter(job),
    signal: attempt.context.signal,
  });
  await stepDone(ports, task, 'uploaded');
  const { idOf } = series;
  const detail = packDetail({
    ours: counts,
    source: source?.counts ?? null,
    series: idOf,
    select: job.select,
  });
  return {
    ...destination,
    detail: Buffer.from(detail.gzip).toString('base64'),
    draft: draftReceipt(ports, task, {
      ...{ rows, series, remark, warnings, counts, kept, destination },
      proof: source === undefined || job.verify === 'off' ? 'unproven' : job.verify,
      detailSha256: detail.sha256,
      source: source
        ? { rows: source.counts.total(), askedAt: source.askedAt, totalsSha256: source.totalsSha256 }
        : null,
      tally: tallyOf(attempt),
    }),
  };
}

/** Steps 9 and 10, with a span and events. `isInherited`: a predecessor has sealed it. */
export function publishDay(
  { ports, task, claim }: Omit<ClaimedDay, 'previous'>,
  sealed: SealedDay,
  isInherited = false,
): Promise<Receipt> {
  const told = { ...ports, onStep: (step: string) => stepDone(ports, task, step) };
  const attributes = isInherited ? { 'vessel_export.inherited': true } : {};
  return ports.tracing.span('publish', attributes, () => publishSealed(told, claim, sealed, { isInherited }));
}

type Destination = Pick<SealedDay, 'upload' | 'parts' | 'table'>;

interface Finished extends Destination {
  /** Members that an unchanged day keeps from its previous receipt. */
  readonly kept?: Pick<Receipt, 'object' | 'table'>;
}

interface FinishOptions {
  readonly claim: Claim;
  readonly parts: PartUpload;
  readonly previous: Receipt | undefined;
  /** Undefined: the day has no rows. */
  readonly footer: Uint8Array | undefined;
  /** The footer of a file without rows, which in a plain lake replaces one with rows. */
  readonly emptyFooter: () => Uint8Array;
  readonly signal: AbortSignal;
}

/** Upload the rest. In a delta lake a day without rows has no file, and an unchanged day no new one. */
export async function finishUpload(ports: ExportPorts, options: FinishOptions): Promise<Finished> {
  const { claim, parts, footer, emptyFooter } = options;
  if (claim.table !== undefined) return await finishTableFile(ports, options, claim.table.version);
  if (footer !== undefined) await parts.finish(footer);
  else if (claim.objectVersion) await parts.finish(emptyFooter());
  return { upload: parts.upload ?? null, parts: [...parts.parts] };
}

async function finishTableFile(ports: ExportPorts, options: FinishOptions, since: number): Promise<Finished> {
  const { claim, parts, previous, footer } = options;
  const remove = claim.replacedFiles;
  if (footer === undefined)
    return { upload: null, parts: [], table: remove.length === 0 ? null : { remove, add: null, since } };
  await parts.finish(footer);
  const upload = parts.upload!;
  const { fileStatistics } = await import('../lake/table/statistics.ts');
  const stats = fileStatistics(footer, upload.key);
  if (previous !== undefined && (await isUnchanged(ports, options, previous, stats))) {
    await parts.abort();
    const { object, table } = previous;
    return { upload: null, parts: [], table: null, kept: { object, ...(table && { table }) } };
  }
  const add = { key: upload.key, sizeBytes: sizeOf(parts.parts), modifiedMs: ports.clock.nowMs(), stats };
  return { upload, parts: [...parts.parts], table: { remove, add, since } };
}

/** Whether table and store have the same bytes under the key in the receipt. They are read back, because the new receipt vouches for them. */
async function isUnchanged(
  { store }: ExportPorts,
  { claim, parts: { parts }, signal }: FinishOptions,
  { object }: Receipt,
  stats: string,
): Promise<boolean> {
  if (object === null || parts.length !== object.parts.length) return false;
  if (parts.some(({ sha256 }, i) => sha256 !== object.parts[i]!.sha256)) return false;
  const { key, sizeBytes } = object;
  if (!(await claim.table!.holds(claim.day, { key, sizeBytes, stats }))) return false;
  if ((await store.head(key))?.sizeBytes !== sizeBytes) return false;
  return await holdsParts(parts, (fromByte, toByte) => {
    signal.throwIfAborted();
    return store.getRange(key, fromByte, toByte);
  });
}

interface DraftFacts extends Pick<Receipt, 'rows' | 'proof' | 'source'> {
  readonly remark: Receipt['remark'];
  readonly warnings: Receipt['warnings'];
  readonly series: Pick<ResolvedSeries, 'idOf' | 'unmatched'>;
  /** Undefined for metadata, whose rows are not readings. */
  readonly counts: DayCounts | undefined;
  readonly destination: Destination;
  readonly kept: Finished['kept'];
  readonly detailSha256: string | null;
  readonly tally: Tally;
}

/** The receipt of a sealed day, without who finishes it and when. */
export function draftReceipt(ports: ExportPorts, task: ExportTask, facts: DraftFacts): ReceiptDraft {
  const { day, job, settingsHash } = task;
  const { rows, proof, series, source, remark, warnings = [], counts, kept, detailSha256 } = facts;
  const { upload, parts } = facts.destination;
  const span = counts?.span();
  return {
    receiptVersion: 1,
    ...{ job: day.job, vessel: day.vessel, date: day.date, dataset: job.dataset, settingsHash, proof, rows },
    series: counts?.seriesCount() ?? rows,
    selectedSeries: series.idOf.size,
    selectHash: selectHash(job),
    ...(series.unmatched.length > 0 && {
      unmatchedExpressions: series.unmatched.map((expression) => job.select.indexOf(expression)),
    }),
    firstTimestamp: span === undefined ? null : microsToIso(span.firstMicros),
    lastTimestamp: span === undefined ? null : microsToIso(span.lastMicros),
    object: upload
      ? {
          key: upload.key,
          sizeBytes: sizeOf(parts),
          upload: upload.nonce,
          parts: parts.map(({ sizeBytes, sha256 }) => ({ sizeBytes, sha256 })),
        }
      : (kept?.object ?? null),
    ...(kept?.table && { table: kept.table }),
    detail: detailSha256 === null ? null : { key: detailKey(day), sha256: detailSha256 },
    ...{ source, sourceUrl: ports.sourceUrl },
    ...(remark && { remark }),
    ...(warnings.length > 0 && { warnings }),
    ...{
      apiVersion: ports.apiVersion,
      formatVersion: FORMAT_VERSION,
      ...facts.tally,
      version: ports.version,
    },
    ...(task.unlisted && { unlisted: true }),
  };
}
