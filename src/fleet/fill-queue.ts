/** What puts vessel-days into the queue: open ones, a few thousand at a time, and those that a look-back found. */
import { forEachAtOnce } from '../core/concurrency.ts';
import { DataError, isRefusal } from '../core/errors.ts';
import { formatVesselDay, type Receipt, type VesselDay } from '../core/model/index.ts';
import { isAsAsked } from '../core/plan/due.ts';
import type { ExportTask } from '../export/ports.ts';
import { isSelectAccepted } from '../lake/accept.ts';
import { orDamage } from '../lake/json.ts';
import { readReceipt } from '../lake/ledger/ledger.ts';
import type { ObjectStore } from '../store/store.ts';
import type { OpenDays } from './open-days.ts';
import { newQueuedDay } from './queue/queued-day.ts';
import type { DeadLetter, QueuedDay, QueuedKind, VesselDayQueue } from './queue/vessel-day-queue.ts';

/** Vessel-days that may wait before no more of a kind enter: a queue full of a backfill still takes the urgent. */
export const MAX_WAITING = { nightly: 4_000, reconcile: 3_000, backfill: 2_000 } as const;

export async function roomFor(queue: VesselDayQueue, kind: QueuedKind): Promise<number> {
  const { waiting, prioritized, delayed } = await queue.depth();
  const taken = (kind === 'nightly' ? waiting : prioritized) + delayed;
  return Math.max(0, MAX_WAITING[kind] - taken);
}

export type TopUp = Awaited<ReturnType<typeof topUp>>;

/** As what vessel-days enter. `unlisted`: vessels that discovery left out. */
interface QueueEntry {
  readonly kind: QueuedKind;
  readonly unlisted: ReadonlySet<string>;
  readonly allowShrink?: boolean;
}

const ASKED_AT_ONCE = 1_000;

/**
 * Add open vessel-days that are not in the queue, in their order, as many as there is room for. `queued`: those that stand
 * there or in its failed set now; `left`: others. `before`: those that did when the ledger was read; they count as queued.
 */
export async function topUp(
  queue: VesselDayQueue,
  open: OpenDays,
  room: number,
  entry: QueueEntry,
  before: ReadonlySet<string> = new Set(),
) {
  const { kind, unlisted, allowShrink = false } = entry;
  const queued: VesselDay[] = [];
  let added = 0;
  // Without room it only matters which are in the queue already, and no more than these can be.
  let most = room > 0 ? open.length : Math.min(open.length, MAX_WAITING.nightly + ASKED_AT_ONCE);
  for (const chunk of chunksOf(open)) {
    if (most <= 0) break;
    most -= chunk.length;
    const known = await queue.known(chunk);
    const isKnown = (day: VesselDay) => known.has(formatVesselDay(day)) || before.has(formatVesselDay(day));
    const fresh = chunk.filter((day) => !isKnown(day)).slice(0, room - added);
    await queue.add(
      fresh.map((day) => newQueuedDay(day, kind, { allowShrink, unlisted: unlisted.has(day.vessel) })),
    );
    added += fresh.length;
    queued.push(...chunk.filter(isKnown), ...fresh);
    if (added === room && room > 0) break;
  }
  return { added, queued, left: open.length - queued.length };
}

function* chunksOf(days: Iterable<VesselDay>): Iterable<VesselDay[]> {
  let chunk: VesselDay[] = [];
  for (const day of days) {
    if (chunk.push(day) < ASKED_AT_ONCE) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/**
 * `enqueued`: now. `in-queue`: it was there already, and stays as it is. `done`: exported since it was compared.
 * `in-failed-set`: it failed with the same published day and the same counts at the source, and is not tried again
 * by itself. `no-room`: the queue is full.
 */
export type RepairStatus = 'enqueued' | 'in-queue' | 'done' | 'in-failed-set' | 'no-room';

export interface QueuedRepair extends Partial<Pick<DeadLetter, 'code' | 'message'>> {
  readonly day: VesselDay;
  readonly status: RepairStatus;
}

type RepairPorts = { readonly queue: VesselDayQueue; readonly store: ObjectStore };

const GETS_AT_ONCE = 32;
const ADDED_AT_ONCE = 500;

/**
 * Put tasks into the queue, in their order, as many as there is room for; returns what became of each. With
 * `retryFailed` those that have failed get another try if the failure may have passed, if the published day or the
 * source's counts have changed since, or if somebody has accepted that series go.
 */
export async function queueRepairs(
  { queue, store }: RepairPorts,
  tasks: readonly ExportTask[],
  { retryFailed }: { readonly retryFailed: boolean },
): Promise<QueuedRepair[]> {
  const days = tasks.map(({ day }) => day);
  const dead = await deadLettersOf({ queue, store }, tasks, retryFailed);
  // The queue is asked before the ledger: what leaves the queue in between is done, and has a receipt by then.
  const known = await queue.known(days);
  const fresh = tasks.filter(({ day }) => !known.has(formatVesselDay(day)));
  const ended = new Map<string, RepairStatus>();
  let room = await roomFor(queue, 'reconcile');
  for (let at = 0; at < fresh.length && room > 0; ) {
    const chunk = fresh.slice(at, at + Math.min(room, ADDED_AT_ONCE));
    at += chunk.length;
    const open = await stillOpen(store, chunk);
    await queue.add(open.map((task) => newQueuedDay(task.day, 'reconcile', task)));
    room -= open.length;
    for (const { day } of chunk) ended.set(formatVesselDay(day), 'done');
    for (const { day } of open) ended.set(formatVesselDay(day), 'enqueued');
  }
  return days.map((day) => {
    const id = formatVesselDay(day);
    const letter = dead.get(id);
    if (letter !== undefined)
      return { day, status: 'in-failed-set', code: letter.code, message: letter.message };
    return { day, status: known.has(id) ? 'in-queue' : (ended.get(id) ?? 'no-room') };
  });
}

/** Those of the tasks that stay in the failed set, by vessel-day; the others are taken out of that set. */
async function deadLettersOf(
  { queue, store }: RepairPorts,
  tasks: readonly ExportTask[],
  retryFailed: boolean,
): Promise<Map<string, DeadLetter>> {
  const failed = await queue.failed(tasks.map(({ day }) => day));
  const dead = new Map<string, DeadLetter>();
  if (failed.size === 0) return dead;
  const taskOf = new Map(tasks.map((task) => [formatVesselDay(task.day), task]));
  for (const letter of await queue.deadLetters()) {
    const id = formatVesselDay(letter.day);
    const task = failed.has(id) ? taskOf.get(id) : undefined;
    if (task === undefined) continue;
    const mayPass = letter.mayPass || (isRefusal(letter) && (await isSelectAccepted(store, task.job)));
    const deserves = retryFailed && (mayPass || !isAsCompared(letter.queued, task));
    if (!deserves) dead.set(id, letter);
    else await queue.remove(letter.day);
  }
  return dead;
}

function isAsCompared({ compared: failed }: QueuedDay, { compared: now }: ExportTask): boolean {
  return failed?.epoch === now?.epoch && failed?.totalsSha256 === now?.totalsSha256;
}

/** Those whose receipt is still what the look-back saw. A receipt that cannot be read is the worker's to report. */
async function stillOpen(store: ObjectStore, tasks: readonly ExportTask[]): Promise<ExportTask[]> {
  const isOpen = new Map<ExportTask, boolean>();
  await forEachAtOnce(tasks, GETS_AT_ONCE, async (task) => {
    const receipt = await orDamage(readReceipt(store, task.day));
    isOpen.set(task, receipt instanceof DataError || isStill(task, receipt));
  });
  return tasks.filter((task) => isOpen.get(task));
}

function isStill({ job, compared, settingsHash }: ExportTask, receipt: Receipt | undefined): boolean {
  if (compared === undefined) return !isAsAsked(job, settingsHash, receipt);
  return receipt === undefined || receipt.epoch === compared.epoch;
}
