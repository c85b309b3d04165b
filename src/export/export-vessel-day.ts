/** Claim, count, plan, fetch, decode, seal, upload, verify, publish, receipt; crashes: see lake/publish/publish.ts. */

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
import type { Note, Receipt, SealedDay, VesselDay } from '../core/model/index.ts';
import { formatVesselDay, isOvertaken } from '../core/model/index.ts';
import { addLogFields } from '../core/model/log-context.ts';
import { isAsAsked, isProven } from '../core/plan/due.ts';
import { CountsDisagreeError } from '../core/proof/compare-counts.ts';
import type { Claim } from '../lake/claims/claim.ts';
import { type Inheritance, takeClaim } from '../lake/claims/claims.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readNote, writeNote } from '../lake/ledger/ledger.ts';
import { momentOfNote, removeNote } from '../lake/notes.ts';
import { acknowledgePublished } from '../lake/publish/publish.ts';
import { datasetColumns } from '../parquet/write/index.ts';
import { UnknownSeriesError } from '../source/answer-faults.ts';
import { attemptDay } from './attempt.ts';
import { takeSnapshot } from './metadata-snapshot.ts';
import { type ClaimedDay, type ExportOutcome, type ExportPorts, type ExportTask, stepDone } from './ports.ts';
import { findResumePoint } from './resume.ts';
import { publishDay } from './seal-day.ts';
import { askSource, createPrefetch, type Prefetch } from './source-answers.ts';

/**
 * Export one vessel-day. Throws the error that ended it, after leaving the lake as the next attempt needs it:
 * the published day is untouched, and either a checkpoint is handed back or nothing of the attempt remains.
 */
export async function exportVesselDay(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  const prefetch = createPrefetch(ports, task, signal);
  try {
    return await claimDay(ports, task, prefetch, signal);
  } finally {
    prefetch.stop();
  }
}

async function claimDay(
  ports: ExportPorts,
  task: ExportTask,
  prefetch: Prefetch,
  signal: AbortSignal,
): Promise<ExportOutcome> {
  const { job, day } = task;
  const layout = await ports.layout.settle(day.job);
  const content = { job: job.name, dataset: job.dataset, columns: datasetColumns(job) };
  const table = layout === 'plain' ? undefined : await ports.tables.open(content);
  const onClaimed = () => ports.layout.confirm(layout, day.job);
  const onAlone = (before: Receipt | undefined) => {
    if (!isDone(task, before)) prefetch.begin(before);
  };
  const { claim, inheritance } = await ports.tracing
    .span('claim', {}, () => takeClaim({ ...ports, table }, day, { ...task, onClaimed, onAlone }))
    .catch(async (error: unknown) => {
      // A receipt or a claim cannot be read: no attempt can own the day, and a note says why.
      if (error instanceof DataError)
        await noteOf(ports, day, error)
          .then((note) => writeNote(ports.store, note))
          .catch(() => {});
      throw error;
    });
  addLogFields({ epoch: claim.epoch });
  task.onEvent?.({ kind: 'day-claimed', day, epoch: claim.epoch });
  await stepDone(ports, task, 'claimed');
  claim.startHeartbeat();
  try {
    const scope = AbortSignal.any([signal, claim.signal]);
    const outcome = await finishDay({ ports, task, claim, inheritance, prefetch, signal: scope });
    if (outcome.status === 'published') ports.lastPublished.onPublished(outcome.receipt);
    return outcome;
  } catch (error) {
    const stopped = signal.reason instanceof VesselExportError ? signal.reason : new CancelledError();
    const reason = claim.signal.aborted ? claim.signal.reason : signal.aborted ? stopped : error;
    await endAttempt(ports, claim, reason);
    throw reason;
  }
}

/** Whether the published day must stay as it is. */
function isDone(task: ExportTask, receipt: Receipt | undefined): receipt is Receipt {
  const { job, settingsHash, force, compared } = task;
  // A day that was published after the comparison must not be replaced.
  const isForced = force && (compared === undefined || compared.epoch === receipt?.epoch);
  return receipt !== undefined && !isForced && isAsAsked(job, settingsHash, receipt);
}

/** A vessel-day that this process has claimed. */
interface OwnDay extends Omit<ClaimedDay, 'previous'> {
  readonly inheritance: Inheritance;
  readonly prefetch: Prefetch;
  readonly signal: AbortSignal;
}

async function finishDay(claimed: OwnDay): Promise<ExportOutcome> {
  const { ports, task, claim, inheritance } = claimed;
  const { predecessor, sealedBefore } = inheritance;
  // With `--force` or other settings the content is requested again: an earlier draft is not published any more.
  const sealed = predecessor === sealedBefore && !task.force ? predecessor?.sealed : undefined;
  const draft = sealed && isProven(task.job, sealed.draft.proof) ? sealed : undefined;
  // Write the receipt of what a predecessor has published.
  const acknowledged =
    sealedBefore && !draft ? await acknowledgePublished(ports, claim, sealedBefore) : undefined;
  const previous = acknowledged ?? inheritance.receipt;
  if (isDone(task, previous)) {
    // The receipt can be read: a failure because it could not is over.
    await removeNote(ports.store, claim.day, (note) => isOvertaken(note, { finishedAt: '' }));
    await claim.finish(previous);
    return { status: 'done', receipt: previous };
  }
  const published = draft && (await publishDraft(claimed, draft));
  if (published !== undefined) return { status: 'published', receipt: published, resumed: true };
  if (task.giveUp !== undefined) throw task.giveUp;
  return task.job.dataset === 'metadata'
    ? await exportSnapshot(claimed, previous)
    : await exportReadings(claimed, previous);
}

/** Steps 9 and 10 of a day that a predecessor sealed; undefined if its upload is lost. */
async function publishDraft({ ports, task, claim }: OwnDay, sealed: SealedDay): Promise<Receipt | undefined> {
  await claim.inherit({ checkpoint: null, sealed });
  try {
    return await publishDay({ ports, task, claim }, sealed, true);
  } catch (error) {
    if (!(error instanceof CommitFailedError)) throw error;
    ports.log.warn({ vesselDay: formatVesselDay(claim.day) }, 'sealed upload is lost: starting clean');
    return undefined;
  }
}

/** A snapshot; repeated once if the object turns out to be another one than expected. */
async function exportSnapshot(
  { ports, task, claim, signal }: OwnDay,
  previous: Receipt | undefined,
): Promise<ExportOutcome> {
  try {
    return await takeSnapshot({ ports, task, claim, previous }, signal);
  } catch (error) {
    if (!(error instanceof CommitFailedError)) throw error;
    return takeSnapshot({ ports, task, claim, previous: await claim.lookAgain() }, signal);
  }
}

/** From a predecessor's checkpoint if possible, otherwise from a clean start; repeated once with a clean start if that can help. */
async function exportReadings(
  { ports, task, claim, inheritance, prefetch, signal }: OwnDay,
  found: Receipt | undefined,
): Promise<ExportOutcome> {
  const { predecessor } = inheritance;
  let resume =
    predecessor?.checkpoint && !predecessor.sealed
      ? await findResumePoint({ ports, task, claim }, predecessor.checkpoint, signal)
      : undefined;
  let previous = found;
  let prefetched = prefetch.under(claim, inheritance);
  for (let cleanStarts = 0; ; cleanStarts++) {
    if (resume === undefined) await claim.startClean();
    try {
      const answers = prefetched ?? askSource(ports, task, signal);
      const sealed = await attemptDay({ ports, task, claim, previous, resume, answers });
      const receipt = await publishDay({ ports, task, claim }, sealed);
      return { status: 'published', receipt, resumed: resume !== undefined };
    } catch (error) {
      const isCured = CURED_BY_CLEAN_START.some((kind) => error instanceof kind);
      if (!isCured || cleanStarts === 1 || signal.aborted) throw error;
      ports.log.warn({ vesselDay: formatVesselDay(task.day), reason: messageOf(error) }, 'starting clean');
      previous = await claim.lookAgain();
      [resume, prefetched] = [undefined, undefined];
    }
  }
}

/** A clean start, with new requests to the source, may fix these. */
const CURED_BY_CLEAN_START = [CountsDisagreeError, UnknownSeriesError, CommitFailedError];

async function endAttempt(ports: ExportPorts, claim: Claim, error: unknown): Promise<void> {
  if (error instanceof FencedError) return claim.abandon();
  try {
    const isFailure = !(error instanceof CancelledError || error instanceof NotDueError);
    // Before the claim is removed: then the note is older than anything that another attempt publishes.
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
    at: await momentOfNote(ports, day),
    ...(totalsSha256 === undefined ? {} : { totalsSha256 }),
    ...(waiting === undefined ? {} : { waiting }),
  };
}
