/** Retries vessel-days on request: takes them from the failed set, brings them forward, or queues them. */
import { forEachAtOnce } from '../core/concurrency.ts';
import { isRefusal } from '../core/errors.ts';
import type { Job, Note, Receipt, VesselDay } from '../core/model/index.ts';
import { addDays, isOvertaken } from '../core/model/index.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readNote, readReceipt } from '../lake/ledger/ledger.ts';
import { type PlanPorts, plannedDays } from '../lake/ledger/planned-days.ts';
import type { ObjectStore } from '../store/store.ts';
import { roomFor } from './fill-queue.ts';
import { newQueuedDay } from './queue/queued-day.ts';
import type { QueuedDay, VesselDayQueue } from './queue/vessel-day-queue.ts';

interface TryAgainPorts {
  readonly queue: VesselDayQueue;
  readonly ports: PlanPorts & { readonly store: ObjectStore };
}

/**
 * `queued`: it was not in the queue. `released`: it was in the failed set. `brought-forward`: it was delayed. `in-queue`: it
 * waits for a worker. `under-way`: a worker has it. `done`: published as the job asks, and nothing has failed since.
 * `not-due`: its day is not over, or it is a snapshot of a day that is over.
 */
export type TriedAgain = Awaited<ReturnType<typeof tryAgain>>;

/** The vessel-day without its earlier failures and attempts. */
export function asNew(queued: QueuedDay, allowShrink: boolean): QueuedDay {
  const how = { ...queued, allowShrink: allowShrink || queued.allowShrink === true };
  return newQueuedDay(queued, queued.kind, how);
}

/** Calling it twice queues the vessel-day once. `allowShrink`: publish it although it loses readings. */
export async function tryAgain(
  { queue, ports }: TryAgainPorts,
  job: Job,
  day: VesselDay,
  allowShrink: boolean,
) {
  const found = await queue.find(day);
  if (found === undefined) {
    const open = await openDay(ports, job, day);
    if (typeof open === 'string') return open;
    await queue.add([asNew(open, allowShrink)]);
    return 'queued';
  }
  const { queued, state } = found;
  if (state === 'active') return 'under-way';
  if (state === 'waiting' && (!allowShrink || queued.allowShrink === true)) return 'in-queue';
  // A worker has taken it meanwhile.
  if (!(await queue.remove(day))) return 'under-way';
  await queue.add([asNew(queued, allowShrink)]);
  if (state === 'waiting') return 'in-queue';
  return state === 'failed' ? 'released' : 'brought-forward';
}

/** What to queue for a day that is not in the queue, according to the lake. */
async function openDay(ports: TryAgainPorts['ports'], job: Job, day: VesselDay) {
  // If it cannot be read, the worker reports that.
  const receipt = await unlessDamaged(readReceipt(ports.store, day));
  const note = await unlessDamaged(readNote(ports.store, day));
  const range = { vessels: [day.vessel], from: day.date, to: addDays(day.date, 1) };
  const [planned] = plannedDays(ports, job, range, { get: () => receipt });
  if (planned!.state === 'not-due') return 'not-due';
  const entry = { ...day, kind: 'reconcile', ...(receipt?.unlisted && { unlisted: true }) } as const;
  if (planned!.state !== 'done') return entry;
  if (receipt === undefined || note === undefined || isOvertaken(note, receipt)) return 'done';
  return { ...entry, force: true, ...comparedWith(receipt, note) };
}

/** Only while the published day is the one that the note is about: a refusal is then recorded like that of a look-back. */
function comparedWith(receipt: Receipt, note: Note): Pick<QueuedDay, 'compared'> {
  const totalsSha256 = note.totalsSha256 ?? receipt.source?.totalsSha256;
  return totalsSha256 === undefined ? {} : { compared: { epoch: receipt.epoch, totalsSha256 } };
}

const AT_ONCE = 16;

/** Retry the failed vessel-days of a job. `refused`: people decide on each of these. `noRoom`: the queue is full. */
export async function tryFailedAgain(queue: VesselDayQueue, job: string) {
  const letters = (await queue.deadLetters()).filter(({ day }) => day.job === job);
  const failed = letters.filter((letter) => !isRefusal(letter));
  const room = await roomFor(queue, 'reconcile');
  let released = 0;
  await forEachAtOnce(failed.slice(0, room), AT_ONCE, async ({ day, queued }) => {
    // Another process has released it.
    if (!(await queue.remove(day))) return;
    await queue.add([asNew(queued, false)]);
    released++;
  });
  return { released, refused: letters.length - failed.length, noRoom: Math.max(0, failed.length - room) };
}
