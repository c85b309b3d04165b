/**
 * The sentence: claim, count, plan, fetch, decode, seal, upload, verify, publish, receipt.
 * What a crash after each step leads to stands in lake/publish/publish.ts.
 */

import {
  CancelledError,
  CommitFailedError,
  CommitUnknownError,
  codeOf,
  DataError,
  FencedError,
  mayPass,
  messageOf,
  NotDueError,
  NotYetError,
  RefusedError,
  VesselExportError,
} from '../core/errors.ts';
import type { Job, Note, Receipt, VesselDay } from '../core/model/index.ts';
import { formatVesselDay, isOvertaken } from '../core/model/index.ts';
import { addLogFields } from '../core/model/log-context.ts';
import { isAsAsked, isProven } from '../core/plan/due.ts';
import { CountsDisagreeError } from '../core/proof/compare-counts.ts';
import type { Claim } from '../lake/claims/claim.ts';
import type { Inheritance } from '../lake/claims/claims.ts';
import { takeClaim } from '../lake/claims/claims.ts';
import { unlessDamaged } from '../lake/json.ts';
import { noteKey } from '../lake/keys.ts';
import { readNote, writeNote } from '../lake/ledger/ledger.ts';
import { acknowledgePublished, publishSealed } from '../lake/publish/publish.ts';
import { datasetColumns } from '../parquet/write/index.ts';
import { UnknownSeriesError } from '../source/answer-faults.ts';
import type { EarlyQuestion } from './asked-source.ts';
import { createEarlyQuestion } from './asked-source.ts';
import type { BegunDay } from './attempt.ts';
import { attemptDay } from './attempt.ts';
import { takeSnapshot } from './metadata-snapshot.ts';
import type { ExportOutcome, ExportPorts, ExportTask } from './ports.ts';
import { publishPorts, stepDone } from './ports.ts';
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
  const early = createEarlyQuestion(ports, task, signal);
  try {
    return await claimDay(ports, task, early, signal);
  } finally {
    early.stop();
  }
}

async function claimDay(
  ports: ExportPorts,
  task: ExportTask,
  early: EarlyQuestion,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  const layout = await ports.layout.settle(task.day.job);
  const table = layout === 'plain' ? undefined : await ports.tables.open(tableContent(task.job));
  const onClaimed = () => ports.layout.confirm(layout, task.day.job);
  const onAlone = (before: Receipt | undefined) => {
    if (!isDone(task, before)) early.begin(before);
  };
  const { claim, inheritance } = await ports.tracing
    .span('claim', {}, () => takeClaim({ ...ports, table }, task.day, { ...task, onClaimed, onAlone }))
    .catch(async (error: unknown) => {
      // A receipt or a claim that cannot be read: nobody can own the day, and it says why.
      if (error instanceof DataError)
        await noteOf(ports, task.day, error)
          .then((note) => writeNote(ports.store, note))
          .catch(() => {});
      throw error;
    });
  addLogFields({ epoch: claim.epoch });
  task.onEvent?.({ kind: 'day-claimed', day: task.day, epoch: claim.epoch });
  await stepDone(ports, task, 'claimed');
  claim.startHeartbeat();
  try {
    const scope = AbortSignal.any([signal, claim.signal]);
    const outcome = await finishDay(ports, task, claim, inheritance, early, scope);
    if (outcome.status === 'published') ports.lastPublished.onPublished(outcome.receipt);
    return outcome;
  } catch (error) {
    const reason = signal.aborted || claim.signal.aborted ? abortReason(signal, claim.signal) : error;
    await endAttempt(ports, claim, reason);
    throw reason;
  }
}

/** Is there nothing to do but to leave the published day alone? */
function isDone(task: ExportTask, receipt: Receipt | undefined): receipt is Receipt {
  return receipt !== undefined && !isForced(task, receipt) && isAsAsked(task.job, task.settingsHash, receipt);
}

/** The receipt can be read: if the day has failed since it could not, that is over. */
async function forgetUnreadable({ store }: ExportPorts, day: VesselDay): Promise<void> {
  const note = await unlessDamaged(readNote(store, day));
  if (note !== undefined && isOvertaken(note, { finishedAt: '' })) await store.remove(noteKey(day));
}

/** What the job's table is to hold. */
function tableContent(job: Job) {
  return { job: job.name, dataset: job.dataset, columns: datasetColumns(job) };
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
  early: EarlyQuestion,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  const { predecessor, sealedBefore } = inheritance;
  // Forced means asked again, and other settings mean other content: a draft of before is not published any more.
  const isWanted =
    predecessor?.sealed &&
    predecessor === sealedBefore &&
    !task.force &&
    isProven(task.job, predecessor.sealed.draft.proof);
  const acknowledged =
    sealedBefore && !isWanted ? await acknowledgePublished(ports, claim, sealedBefore) : undefined;
  const receipt = acknowledged ?? inheritance.receipt;
  if (isDone(task, receipt)) {
    await forgetUnreadable(ports, claim.day);
    await claim.finish(receipt);
    return { status: 'done', receipt };
  }
  if (isWanted && predecessor.sealed) {
    const published = await publishInherited(ports, task, claim, predecessor.sealed);
    if (published !== undefined) return { status: 'published', receipt: published, resumed: true };
  }
  if (task.giveUp !== undefined) throw task.giveUp;
  if (task.job.dataset === 'metadata') return snapshot(ports, task, claim, receipt, signal);
  const resume =
    predecessor?.checkpoint && !predecessor.sealed
      ? await findResumePoint(ports, task, claim, predecessor.checkpoint, signal)
      : undefined;
  const asked = early.under(claim, inheritance);
  return exportReadings(ports, task, claim, receipt, { resume, asked }, signal);
}

/** A day that was published since it was compared is not what was to be replaced. */
function isForced({ force, compared }: ExportTask, receipt: Receipt | undefined): boolean {
  return force && (compared === undefined || receipt === undefined || compared.epoch === receipt.epoch);
}

/** Steps 9 and 10 of a day that a predecessor sealed; undefined when its upload is lost. */
async function publishInherited(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  sealed: NonNullable<Inheritance['predecessor']>['sealed'] & object,
): Promise<Receipt | undefined> {
  await claim.inherit({ checkpoint: null, sealed });
  try {
    return await ports.tracing.span('publish', { 'vessel_export.inherited': true }, () =>
      publishSealed(publishPorts(ports, task), claim, sealed, { isInherited: true }),
    );
  } catch (error) {
    if (!(error instanceof CommitFailedError)) throw error;
    ports.log.warn({ vesselDay: formatVesselDay(claim.day) }, 'sealed upload is lost: starting clean');
    return undefined;
  }
}

/** A snapshot; once more where the object turns out to be another than was thought. */
async function snapshot(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  published: Receipt | undefined,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  try {
    return await takeSnapshot(ports, task, claim, published, signal);
  } catch (error) {
    if (!(error instanceof CommitFailedError)) throw error;
    return takeSnapshot(ports, task, claim, await claim.lookAgain(), signal);
  }
}

async function exportReadings(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  receipt: Receipt | undefined,
  begun: BegunDay,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  let [from, published] = [begun, receipt];
  for (let cleanStarts = 0; ; cleanStarts++) {
    if (from.resume === undefined) await claim.startClean();
    try {
      const sealed = await attemptDay(ports, task, claim, published, from, signal);
      const written = await ports.tracing.span('publish', {}, () =>
        publishSealed(publishPorts(ports, task), claim, sealed),
      );
      return { status: 'published', receipt: written, resumed: from.resume !== undefined };
    } catch (error) {
      if (!isMendedByCleanStart(error) || cleanStarts === 1 || signal.aborted) throw error;
      ports.log.warn({ vesselDay: formatVesselDay(task.day), reason: messageOf(error) }, 'starting clean');
      published = await claim.lookAgain();
      from = {};
    }
  }
}

/** May a clean start, with the source asked anew, mend this? */
function isMendedByCleanStart(error: unknown): boolean {
  const errors = [CountsDisagreeError, UnknownSeriesError, CommitFailedError];
  return errors.some((kind) => error instanceof kind);
}

/** Leave the lake as the next attempt needs it. */
async function endAttempt(ports: ExportPorts, claim: Claim, error: unknown): Promise<void> {
  if (error instanceof FencedError) return claim.abandon();
  try {
    const isFailure = !(error instanceof CancelledError || error instanceof NotDueError);
    // Before the claim goes: then it is older than whatever another attempt publishes.
    const note = isFailure ? await noteOf(ports, claim.day, error) : undefined;
    const useless = (error instanceof DataError && !mayPass(error)) || error instanceof RefusedError;
    if (claim.hasProgress && (!useless || error instanceof CommitUnknownError)) await claim.handBack();
    else {
      await claim.startClean();
      if (!(await claim.finish())) return;
    }
    if (note !== undefined) await writeNote(ports.store, note);
  } catch (cause) {
    // The first error is the one to report; an unreachable store leaves a claim that goes stale by itself.
    await claim.abandon();
    ports.log.debug({ vesselDay: formatVesselDay(claim.day), error: messageOf(cause) }, 'could not tidy up');
  }
}

async function noteOf(ports: ExportPorts, day: VesselDay, error: unknown): Promise<Note> {
  const totalsSha256 = error instanceof RefusedError ? error.totalsSha256 : undefined;
  const isWaiting = error instanceof NotYetError;
  const before = isWaiting ? undefined : await unlessDamaged(readNote(ports.store, day));
  const waiting = isWaiting ? error.waiting : before?.waiting;
  return {
    noteVersion: 1,
    ...day,
    state: isWaiting ? 'waiting' : error instanceof RefusedError ? 'refused' : 'failed',
    code: codeOf(error),
    message: messageOf(error),
    at: new Date(ports.clock.nowMs()).toISOString(),
    ...(totalsSha256 === undefined ? {} : { totalsSha256 }),
    ...(waiting === undefined ? {} : { waiting }),
  };
}
