/**
 * The sentence: claim, count, plan, fetch, decode, seal, upload, verify, publish, receipt.
 * What a crash after each step leads to stands in publish/publish.ts.
 */
import {
  CancelledError,
  CommitFailedError,
  CommitUnknownError,
  DataError,
  FencedError,
  messageOf,
  RefusedError,
  VesselExportError,
} from '../errors.ts';
import type { Note, Receipt } from '../model/index.ts';
import { formatVesselDay, objectKey } from '../model/index.ts';
import type { Claim, Inheritance } from '../publish/claim.ts';
import { takeClaim } from '../publish/claim.ts';
import { writeNote } from '../publish/ledger.ts';
import { abortUploads } from '../publish/parts.ts';
import { publishSealed } from '../publish/publish.ts';
import { attemptDay } from './attempt.ts';
import { deservesCleanStart } from './clean-start.ts';
import { takeSnapshot } from './metadata-snapshot.ts';
import type { ExportOutcome, ExportPorts, ExportTask } from './ports.ts';
import type { ResumePoint } from './resume.ts';
import { findResumePoint } from './resume.ts';

/**
 * Export one vessel-day. Throws the error that ended it, after leaving the lake as the next attempt needs it:
 * the published day is untouched, and either a checkpoint is handed back or nothing of the attempt remains.
 */
export async function exportVesselDay(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  const { claim, inheritance } = await takeClaim(ports, task.day, task);
  await ports.onStep('claimed');
  claim.startHeartbeat();
  try {
    return await finishDay(ports, task, claim, inheritance, AbortSignal.any([signal, claim.signal]));
  } catch (error) {
    const reason = signal.aborted || claim.signal.aborted ? abortReason(signal, claim.signal) : error;
    await endAttempt(ports, claim, reason);
    throw reason;
  }
}

function abortReason(signal: AbortSignal, fenced: AbortSignal): unknown {
  if (fenced.aborted) return fenced.reason;
  return signal.reason instanceof VesselExportError ? signal.reason : new CancelledError();
}

async function finishDay(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  inheritance: Inheritance,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  const { receipt, predecessor } = inheritance;
  if (!isForced(task, receipt) && receipt?.settingsHash === task.settingsHash) {
    await claim.finish();
    return { status: 'done', receipt };
  }
  if (predecessor?.sealed) {
    const published = await publishInherited(ports, claim, predecessor.sealed);
    if (published !== undefined) return { status: 'published', receipt: published, resumed: true };
  }
  if (task.job.dataset === 'metadata') return takeSnapshot(ports, task, claim, receipt, signal);
  const resume = predecessor?.checkpoint
    ? await findResumePoint(ports, task, claim, predecessor.checkpoint, signal)
    : undefined;
  return exportReadings(ports, task, claim, receipt, resume, signal);
}

/** A day that was published since it was compared is not what was to be replaced. */
function isForced({ force, compared }: ExportTask, receipt: Receipt | undefined): boolean {
  return force && (compared === undefined || receipt === undefined || compared.epoch === receipt.epoch);
}

/** Steps 9 and 10 of a day that a predecessor sealed; undefined when its upload is lost. */
async function publishInherited(
  ports: ExportPorts,
  claim: Claim,
  sealed: NonNullable<Inheritance['predecessor']>['sealed'] & object,
): Promise<Receipt | undefined> {
  await claim.inherit({ checkpoint: null, sealed });
  try {
    return await publishSealed(ports, claim, sealed);
  } catch (error) {
    if (!(error instanceof CommitFailedError)) throw error;
    ports.log.warn({ vesselDay: formatVesselDay(claim.day) }, 'sealed upload is lost: starting clean');
    return undefined;
  }
}

async function exportReadings(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  resume: ResumePoint | undefined,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  ports.encoder.prepare();
  let from = resume;
  for (let cleanStarts = 0; ; cleanStarts++) {
    if (from === undefined) await claim.startClean();
    try {
      const sealed = await attemptDay(ports, task, claim, published, from, signal);
      const receipt = await publishSealed(ports, claim, sealed);
      return { status: 'published', receipt, resumed: from !== undefined };
    } catch (error) {
      const again = deservesCleanStart(error) || error instanceof CommitFailedError;
      if (!again || cleanStarts === 1 || signal.aborted) throw error;
      ports.log.warn({ vesselDay: formatVesselDay(task.day), reason: messageOf(error) }, 'starting clean');
      await claim.checkFence();
      await abortUploads(ports.store, objectKey(task.day));
      from = undefined;
    }
  }
}

/** Leave the lake as the next attempt needs it. */
async function endAttempt(ports: ExportPorts, claim: Claim, error: unknown): Promise<void> {
  if (error instanceof FencedError) return claim.abandon();
  try {
    const useless = error instanceof DataError || error instanceof RefusedError;
    if (claim.hasProgress && (!useless || error instanceof CommitUnknownError)) await claim.handBack();
    else {
      await claim.checkFence();
      await abortUploads(ports.store, objectKey(claim.day));
      await claim.finish();
    }
    if (!(error instanceof CancelledError)) await writeNote(ports.store, noteOf(ports, claim, error));
  } catch (cause) {
    // The first error is the one to report; an unreachable store leaves a claim that goes stale by itself.
    await claim.abandon();
    ports.log.debug({ vesselDay: formatVesselDay(claim.day), error: messageOf(cause) }, 'could not tidy up');
  }
}

function noteOf(ports: ExportPorts, claim: Claim, error: unknown): Note {
  const totalsSha256 = error instanceof RefusedError ? error.totalsSha256 : undefined;
  return {
    noteVersion: 1,
    ...claim.day,
    state: error instanceof RefusedError ? 'refused' : 'failed',
    code: error instanceof VesselExportError ? error.code : 'internal-error',
    message: messageOf(error),
    at: new Date(ports.clock.nowMs()).toISOString(),
    ...(totalsSha256 === undefined ? {} : { totalsSha256 }),
  };
}
