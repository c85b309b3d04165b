/**
 * Everything that the project knows of one vessel-day, from the lake and, where there is one, the queue. A file that is
 * damaged or gone costs its part of the answer and is told as a problem; the rest is answered.
 */
import { coverageOf, isOpen } from '../audit/status/cells.ts';
import { nextStep } from '../audit/status/next-steps.ts';
import { ConfigError, DataError, messageOf } from '../core/errors.ts';
import type { Job, Note, Receipt, VesselDay } from '../core/model/index.ts';
import { addDays, cleanMessage, formatVesselDay } from '../core/model/index.ts';
import { readQueuedFacts } from '../fleet/queue/read-queue.ts';
import { readAskedDays } from '../lake/asked-days.ts';
import { isEnded } from '../lake/claims/claim.ts';
import type { FoundClaim } from '../lake/claims/claims.ts';
import { findClaims, heartbeatOf, isLive } from '../lake/claims/claims.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readLayout } from '../lake/lake-file.ts';
import { readNote, readReceipt } from '../lake/ledger/ledger.ts';
import { plannedDays } from '../lake/ledger/planned-days.ts';
import { damagedNote } from '../lake/notes.ts';
import { describeRemarks, openWarnings, readAcceptance, warningsOf } from '../lake/remarks.ts';
import type { CellState, VesselDayAnswer } from './answers.ts';
import { askRedis } from './ask-redis.ts';
import type { WebPorts } from './ports.ts';
import { dayFile } from './vessel-day-object.ts';
import type { createKnownSeries } from './vessel-day-series.ts';
import { dayDetail, hoursOf, seriesOf } from './vessel-day-series.ts';
import { dayVersions } from './vessel-day-versions.ts';

interface AnswerPorts extends WebPorts {
  readonly knownSeries: ReturnType<typeof createKnownSeries>;
}

/** Throws what the store throws. */
export async function answerVesselDay(
  ports: AnswerPorts,
  job: Job,
  day: VesselDay,
): Promise<VesselDayAnswer> {
  const problems: string[] = [];
  /** What is read, or undefined where the file is damaged, be it the lake's own: that is told. */
  async function told<T>(reading: Promise<T>): Promise<T | undefined> {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof DataError || error instanceof ConfigError)) throw error;
      problems.push(messageOf(error));
      return undefined;
    }
  }
  const { store } = ports;
  const [read, foundNote, claims, queued, layout] = await Promise.all([
    readReceiptOrDamage(store, day),
    told(readNote(store, day)),
    findClaims(store, day),
    queuedFacts(ports, day, problems),
    told(readLayout(store)),
  ]);
  const { receipt } = read;
  if (read.damage !== undefined) problems.push(read.damage.message);
  for (const { damage } of claims) if (damage !== undefined) problems.push(damage.message);
  if (Array.isArray(job.vessels) && !job.vessels.includes(day.vessel))
    problems.push(`job ${job.name} names its vessels, and ${day.vessel} is not among them`);
  const note = read.damage === undefined ? foundNote : damagedNote(day, read.damage);
  const remark = await remarkOf(ports, receipt);
  const [facts, versions, file] = await Promise.all([
    detailFacts(ports, day, receipt, problems),
    layout === 'delta' ? told(dayVersions(store, day, receipt)) : [],
    receipt === undefined ? undefined : dayFile(store, day, receipt),
  ]);
  if (receipt?.object && file === undefined)
    problems.push(`${receipt.object.key}: the receipt names this object, and it is not there`);
  return {
    ...day,
    dataset: job.dataset,
    state: await stateOf(ports, job, day, { receipt, note, claims, remark, queued }),
    readAtMs: ports.clock.nowMs(),
    receipt: receipt ?? null,
    note: note === undefined ? null : { ...note, next: nextStep(note, day) },
    remark,
    claim: claimFacts(ports, claims, receipt),
    queued,
    logIds: { vesselDay: formatVesselDay(day), epochs: epochsOf(claims, receipt) },
    ...facts,
    versions: versions ?? [],
    object: file === undefined ? null : { url: objectUrl(day), sizeBytes: file.sizeBytes, etag: file.etag },
    problems,
  };
}

function objectUrl({ job, vessel, date }: VesselDay): string {
  return `/api/jobs/${job}/days/${vessel}/${date}/object`;
}

async function readReceiptOrDamage(
  store: WebPorts['store'],
  day: VesselDay,
): Promise<{ readonly receipt?: Receipt; readonly damage?: DataError }> {
  try {
    const receipt = await readReceipt(store, day);
    return receipt === undefined ? {} : { receipt };
  } catch (error) {
    if (error instanceof DataError) return { damage: error };
    throw error;
  }
}

async function remarkOf(
  { store }: WebPorts,
  receipt: Receipt | undefined,
): Promise<VesselDayAnswer['remark']> {
  const all = receipt === undefined ? [] : warningsOf(receipt);
  if (receipt === undefined || all.length === 0) return null;
  const open = openWarnings(receipt, await readAcceptance(store, receipt.job, receipt.vessel));
  const accepted = open.length === 0;
  return { message: describeRemarks(accepted ? all : open), accepted };
}

interface StateFacts {
  readonly receipt: Receipt | undefined;
  readonly note: Note | undefined;
  readonly claims: readonly FoundClaim[];
  readonly remark: VesselDayAnswer['remark'];
  readonly queued: VesselDayAnswer['queued'];
}

async function stateOf(
  ports: WebPorts,
  job: Job,
  day: VesselDay,
  { receipt, note, claims, remark, queued }: StateFacts,
): Promise<CellState> {
  const range = { from: day.date, to: addDays(day.date, 1), vessels: [day.vessel] };
  const [planned] = plannedDays(ports, job, range, { get: () => receipt });
  const openState =
    receipt === undefined && (await readAskedDays(ports, job, { ...range, isPublished: () => false }));
  const isRunning = claims.some(({ file }) => file !== undefined && isLive(file, ports));
  const { state } = coverageOf({
    day,
    planned: openState ? openState(day, planned!.state) : planned!.state,
    receipt,
    note,
    claim: isRunning ? 'live' : claims.some(({ file }) => file !== undefined) ? 'left' : undefined,
  });
  if (isOpen(state) && queued !== null && queued.state !== 'failed') return 'queued';
  const isRemarked = state === 'published' && remark?.accepted === false;
  return isRemarked && !(await isOvertaken(ports, day, receipt!)) ? 'remarked' : state;
}

/** What stands open is what the vessel's newest receipt says: the next day carries a remark on, or is without it again. */
async function isOvertaken({ store }: WebPorts, day: VesselDay, { startedAt }: Receipt): Promise<boolean> {
  const next = await unlessDamaged(readReceipt(store, { ...day, date: addDays(day.date, 1) }));
  return next !== undefined && next.startedAt >= startedAt;
}

function claimFacts(
  ports: WebPorts,
  claims: readonly FoundClaim[],
  receipt: Receipt | undefined,
): VesselDayAnswer['claim'] {
  const open = claims.filter((claim) => claim.file !== undefined && !isEnded(claim, receipt));
  const file = (open.find((claim) => isLive(claim.file!, ports)) ?? open[0])?.file;
  if (file === undefined) return null;
  const { epoch, owner, checkpoint, sealed } = file;
  const stored = checkpoint?.rowGroups.reduce((sum, { rows }) => sum + rows, 0);
  return {
    ...{ epoch, pid: owner.pid, host: cleanMessage(owner.host, 100) },
    state: isLive(file, ports) ? 'live' : 'left',
    heartbeatAt: new Date(heartbeatOf(file, ports.clock.nowMs())).toISOString(),
    rowsStored: sealed?.draft.rows ?? stored ?? null,
    rowsKnown: sealed?.draft.source?.rows ?? null,
  };
}

function epochsOf(claims: readonly FoundClaim[], receipt: Receipt | undefined): number[] {
  const epochs = [...claims.map(({ epoch }) => epoch), ...(receipt === undefined ? [] : [receipt.epoch])];
  return [...new Set(epochs)].sort((a, b) => a - b);
}

/** Null where it is not in the queue, where there is none, and where nobody can tell: that is told. */
async function queuedFacts(
  { fleet, clock }: WebPorts,
  day: VesselDay,
  problems: string[],
): Promise<VesselDayAnswer['queued']> {
  if (fleet === undefined) return null;
  try {
    const { redis, queue } = fleet;
    const asked = readQueuedFacts(redis, queue.bull, formatVesselDay(day));
    const without = 'whether the vessel-day is in the queue is not known';
    const found = await askRedis({ redis, clock, asked, without });
    if (found === undefined) return null;
    const said = found.day?.failure?.message ?? found.failedReason;
    const reason = said === '' ? null : cleanMessage(said);
    return { state: found.state, kind: found.day?.kind ?? 'unknown', attempts: found.attempts, reason };
  } catch (error) {
    problems.push(messageOf(error));
    return null;
  }
}

async function detailFacts(
  { store, knownSeries }: AnswerPorts,
  day: VesselDay,
  receipt: Receipt | undefined,
  problems: string[],
): Promise<Pick<VesselDayAnswer, 'hours' | 'series'>> {
  const nothing = { hours: null, series: [] };
  if (receipt === undefined) return nothing;
  const { detail, problem } = await dayDetail(store, day, receipt).catch((error: unknown) => {
    if (error instanceof DataError) return { detail: undefined, problem: messageOf(error) };
    throw error;
  });
  if (problem !== undefined) problems.push(problem);
  if (detail === undefined) return nothing;
  const known = await knownSeries(day.vessel);
  return { hours: hoursOf(detail), series: seriesOf(day.date, detail, known) };
}
