/** Vessel-days that a look-back found, put into the queue: what an export mends, and is still as it was compared. */
import { forEachAtOnce } from '../core/concurrency.ts';
import { isRefusal } from '../core/errors.ts';
import type { Receipt, VesselDay } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import { isAsAsked } from '../core/plan/due.ts';
import type { ExportTask } from '../export/ports.ts';
import { isSelectAccepted } from '../lake/accept.ts';
import { orDamaged } from '../lake/json.ts';
import { readReceipt } from '../lake/ledger/ledger.ts';
import type { ObjectStore } from '../store/store.ts';
import type { DeadLetter, QueuedDay, VesselDayQueue } from './queue/vessel-day-queue.ts';
import { roomFor } from './top-up.ts';

/**
 * `enqueued`: now. `in-queue`: it was there already, and stays as it is. `done`: exported since it was compared.
 * `in-failed-set`: it failed with the same published day and the same counts at the source, and is not tried again
 * by itself. `no-room`: the queue is full.
 */
export type RepairStatus = 'enqueued' | 'in-queue' | 'done' | 'in-failed-set' | 'no-room';

export interface QueuedRepair {
  readonly day: VesselDay;
  readonly status: RepairStatus;
  /** Of the failure. */
  readonly code?: string;
  readonly message?: string;
}

interface RepairPorts {
  readonly queue: VesselDayQueue;
  readonly store: ObjectStore;
}

/** Receipts read at once. */
const GETS_AT_ONCE = 32;
/** Vessel-days added at once. */
const CHUNK = 500;

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
    const chunk = fresh.slice(at, at + Math.min(room, CHUNK));
    at += chunk.length;
    const open = await stillOpen(store, chunk);
    await queue.add(open.map(toQueued));
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

/** Did it fail with the same published day, and the same counts at the source? */
function isAsCompared({ compared: failed }: QueuedDay, { compared: now }: ExportTask): boolean {
  return failed?.epoch === now?.epoch && failed?.totalsSha256 === now?.totalsSha256;
}

/** Those whose receipt is still what the look-back saw. A receipt that cannot be read is the worker's to report. */
async function stillOpen(store: ObjectStore, tasks: readonly ExportTask[]): Promise<ExportTask[]> {
  const isOpen = new Map<ExportTask, boolean>();
  await forEachAtOnce(tasks, GETS_AT_ONCE, async (task) => {
    const receipt = await orDamaged(readReceipt(store, task.day));
    isOpen.set(task, receipt === 'damaged' || isStill(task, receipt));
  });
  return tasks.filter((task) => isOpen.get(task));
}

function isStill({ job, compared, settingsHash }: ExportTask, receipt: Receipt | undefined): boolean {
  if (compared === undefined) return !isAsAsked(job, settingsHash, receipt);
  return receipt === undefined || receipt.epoch === compared.epoch;
}

function toQueued({ day, force, allowShrink, unlisted, compared }: ExportTask): QueuedDay {
  return {
    ...day,
    kind: 'reconcile',
    ...(force ? { force } : {}),
    ...(allowShrink ? { allowShrink } : {}),
    ...(unlisted ? { unlisted } : {}),
    ...(compared === undefined ? {} : { compared }),
  };
}
