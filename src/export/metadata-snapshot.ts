/** Metadata, one row per series. The service keeps no history: a snapshot is written if it differs from the last one, and only on its day. */
import { hash } from 'node:crypto';
import { type Job, microsToDate, type Receipt, type SealedDay } from '../core/model/index.ts';
import { noteKey } from '../lake/keys.ts';
import { newestReadable, receiptDates } from '../lake/ledger/newest-days.ts';
import { markSnapshot, readSnapshotDates } from '../lake/marks.ts';
import { createPartUpload } from '../lake/publish/parts.ts';
import { encodeMetadata, parquetFooter } from '../parquet/write/index.ts';
import { createSourceContext } from '../source/context.ts';
import { describeSeries } from '../source/series.ts';
import { guardSnapshot } from './day-guard.ts';
import { type ClaimedDay, type ExportOutcome, type ExportPorts, type ExportTask, stepDone } from './ports.ts';
import { draftReceipt, finishUpload, publishDay } from './seal-day.ts';
import { judgeSeries } from './series-checks.ts';
import { checkDue } from './source-answers.ts';

/** Capture, compare with the last snapshot, publish if it differs. */
export async function takeSnapshot(claimed: ClaimedDay, signal: AbortSignal): Promise<ExportOutcome> {
  const { ports, task, claim, previous } = claimed;
  await claim.startClean();
  const startedAt = new Date(ports.clock.nowMs()).toISOString();
  const { job, day } = task;
  const context = createSourceContext(ports, job, day, signal);
  const { stats } = context;
  const series = await ports.tracing.span('count', {}, () => describeSeries(context));
  checkDue(ports, job, day.date);
  await stepDone(ports, task, 'counted');
  const askedAt = new Date(ports.clock.nowMs()).toISOString();
  const rows = series.idOf.size;
  const asked = { ...claimed, context, series };
  await guardSnapshot(asked);
  const judged = await judgeSeries(asked);
  const group = await encodeMetadata(series.metadata, ports.encoder);
  const footer = parquetFooter('metadata', [
    { bodyBytes: group.body.length, tail: group.tail, rows: group.rows },
  ]);
  await stepDone(ports, task, 'fetched');
  if (!task.force && equalsSnapshot(task, group.body, footer)) {
    await markSnapshot(ports.store, day, task.captures ?? []);
    // It was taken: earlier failures and waits are over.
    await ports.store.remove(noteKey(day));
    await claim.finish();
    return { status: 'unchanged' };
  }
  const layout = claim.table === undefined ? 'plain' : 'delta';
  const parts = createPartUpload({ ...ports, day, layout });
  await parts.append(group);
  const { kept, ...destination } = await finishUpload(ports, {
    ...{ claim, parts, previous, footer },
    emptyFooter: () => footer,
    signal,
  });
  await stepDone(ports, task, 'uploaded');
  const sealed: SealedDay = {
    ...destination,
    detail: null,
    draft: draftReceipt(ports, task, {
      ...{ rows, series, ...judged, counts: undefined, kept, destination },
      proof: 'exact',
      detailSha256: null,
      source: { rows, askedAt },
      tally: { startedAt, pages: 1, requests: stats.requests, retries: stats.retries, clippedRows: 0 },
    }),
  };
  await claim.writeSealed(sealed);
  await stepDone(ports, task, 'sealed');
  const receipt = await publishDay(claimed, sealed);
  await markSnapshot(ports.store, day, task.captures ?? []);
  return { status: 'published', receipt, resumed: false };
}

/** The same data gives the same bytes, so equal digests mean an equal snapshot. */
function equalsSnapshot(
  { lastSnapshot, settingsHash }: ExportTask,
  body: Uint8Array,
  footer: Uint8Array,
): boolean {
  if (!lastSnapshot?.object || lastSnapshot.settingsHash !== settingsHash) return false;
  const [part, ...others] = lastSnapshot.object.parts;
  const whole = hash('sha256', Buffer.concat([Buffer.from('PAR1'), body, footer]));
  return others.length === 0 && part?.sha256 === whole;
}

/** The snapshot that today's is compared with, and the days on which snapshots were taken. */
export type SnapshotsBefore = (vessel: string) => Pick<ExportTask, 'lastSnapshot' | 'captures'>;

/** The newest snapshot with a readable receipt. Throws what the store throws. */
export async function snapshotsBefore(
  { store, clock }: Pick<ExportPorts, 'store' | 'clock'>,
  job: Job,
): Promise<SnapshotsBefore> {
  const today = microsToDate(clock.nowMs() * 1_000);
  const snapshots = new Map<string, Receipt>();
  for (const [vessel, dates] of await receiptDates(store, job.name, { before: today })) {
    const receipt = await newestReadable(store, job.name, vessel, dates);
    if (receipt !== undefined) snapshots.set(vessel, receipt);
  }
  const marks = await readSnapshotDates(store, job.name);
  return (vessel) => {
    const [lastSnapshot, captures] = [snapshots.get(vessel), marks.get(vessel)];
    return { ...(lastSnapshot && { lastSnapshot }), ...(captures && { captures }) };
  };
}
