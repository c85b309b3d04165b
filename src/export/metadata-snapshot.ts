/**
 * Metadata: one row per series, as of the day of capture. The service keeps no history, so a snapshot is
 * written only when it differs from the last, and days that are over are never made up.
 */
import { encodeMetadata, parquetFooter } from '../encode/index.ts';
import { RefusedError } from '../errors.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { Receipt, SealedDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import type { Claim } from '../publish/claim.ts';
import { createPartUpload, sha256Hex } from '../publish/parts.ts';
import { publishSealed } from '../publish/publish.ts';
import { draftReceipt } from './draft.ts';
import type { ExportOutcome, ExportPorts, ExportTask } from './ports.ts';
import { resolveSeries } from './source.ts';

/** Capture, compare with the last snapshot, publish if it differs. */
export async function takeSnapshot(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  await claim.startClean();
  const startedAt = new Date(ports.clock.nowMs()).toISOString();
  const stats = createRequestStats();
  const context = { client: ports.client, job: task.job, day: task.day, log: ports.log, signal, stats };
  const series = await resolveSeries(context);
  await ports.onStep('counted');
  const askedAt = new Date(ports.clock.nowMs()).toISOString();
  const rows = series.idOf.size;
  guardAgainstShrinking(task, published, rows);
  const group = await encodeMetadata(series.metadata, ports.encoder);
  const footer = parquetFooter('metadata', [
    { bodyBytes: group.body.length, footer: group.footer, rows: group.rows },
  ]);
  await ports.onStep('fetched');
  if (!task.force && equalsSnapshot(task.lastSnapshot, task.settingsHash, group.body, footer)) {
    await claim.finish();
    return { status: 'unchanged' };
  }
  const parts = createPartUpload({ ...ports, day: task.day, fence: () => claim.checkFence() });
  await parts.append(group);
  await parts.finish(footer);
  await ports.onStep('uploaded');
  const sealed: SealedDay = {
    upload: parts.upload!,
    parts: [...parts.parts],
    detail: null,
    draft: draftReceipt(ports, task, {
      rows,
      counts: undefined,
      proof: 'exact',
      upload: parts.upload,
      parts: parts.parts,
      detailSha256: null,
      source: { rows, askedAt },
      tally: { startedAt, pages: 1, requests: stats.requests, retries: stats.retries, clippedRows: 0 },
    }),
  };
  await claim.writeSealed(sealed);
  await ports.onStep('sealed');
  return { status: 'published', receipt: await publishSealed(ports, claim, sealed), resumed: false };
}

/** The same data gives the same bytes, so equal digests mean an equal snapshot. */
function equalsSnapshot(
  last: Receipt | undefined,
  settingsHash: string,
  body: Uint8Array,
  footer: Uint8Array,
): boolean {
  if (last?.object === undefined || last.object === null || last.settingsHash !== settingsHash) return false;
  const whole = sha256Hex(Buffer.concat([Buffer.from('PAR1'), body, footer]));
  return last.object.parts.length === 1 && last.object.parts[0]?.sha256 === whole;
}

/** A snapshot of the same day is replaced by a smaller one only where that is allowed. */
function guardAgainstShrinking(task: ExportTask, published: Receipt | undefined, rows: number): void {
  if (published === undefined || task.allowShrink || rows >= published.rows) return;
  throw new RefusedError(
    'would-shrink',
    `${formatVesselDay(task.day)}: refused to replace the published snapshot of ${published.rows} series by one of ${rows}. The published snapshot stays; if the source is right, run again with --allow-shrink`,
  );
}
