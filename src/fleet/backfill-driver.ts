/** Keeps a backfill's vessel-days in the queue until its range is covered. */
import { isDeepStrictEqual } from 'node:util';
import { forEachAtOnce } from '../core/concurrency.ts';
import type { Job, VesselDay } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import type { JobVessels } from '../export/job-vessels.ts';
import { findVessels } from '../export/job-vessels.ts';
import type { Backfill } from '../lake/backfills.ts';
import { belongsTo, endBackfill, readBackfill } from '../lake/backfills.ts';
import { noteIfNone } from '../lake/notes.ts';
import type { BackfillProgress } from './events.ts';
import type { PlanningPorts } from './nightly.ts';
import type { Backlog } from './open-days.ts';
import { createBacklog } from './open-days.ts';
import type { QueuedDay, VesselDayQueue } from './queue/vessel-day-queue.ts';
import { roomFor, topUp } from './top-up.ts';
import { asNew } from './try-again.ts';

const NOTES_AT_ONCE = 8;

export interface BackfillDriver {
  /** The definition that it is of. */
  readonly backfill: Backfill;
  /** Look how far it is and top the queue up with at most `share` of the room that there is. */
  step(signal: AbortSignal, share?: number): Promise<BackfillProgress>;
}

/** Two processes may drive the same backfill: a vessel-day is in the queue once. */
export function createBackfillDriver(planning: PlanningPorts, backfill: Backfill, job: Job): BackfillDriver {
  const { ports, queue, ledger } = planning;
  let found: JobVessels | undefined;
  let coverage: Backlog | undefined;
  /** Seen in the queue by the last step: only these can have become done since. */
  let watched: readonly VesselDay[] | undefined;

  async function look(signal: AbortSignal): Promise<Backlog> {
    const { from, to } = backfill;
    found ??= await findVessels(ports, job, backfill, signal);
    coverage ??= createBacklog({ ports, job, vessels: found.vessels, from, to, ledger, isOnce: true });
    await coverage.refresh(watched && new Set(watched.map(({ date }) => date)));
    return coverage;
  }

  return {
    backfill,
    async step(signal, share = 1) {
      // The queue is asked before the ledger: what leaves the queue in between is done, and not to be queued again.
      const before = await queue.known(watched ?? []);
      const range = await look(signal);
      const [due, open] = [range.due, range.open()];
      const room = Math.ceil((await roomFor(queue, 'backfill')) * share);
      const { allowShrink } = backfill;
      const entry = { kind: 'backfill', ...(allowShrink ? { allowShrink } : {}) } as const;
      const { unlisted, troubles } = found!;
      const entryOf = ({ vessel }: VesselDay) => ({
        ...entry,
        ...(unlisted.has(vessel) && { unlisted: true }),
      });
      const { queued, left } = await topUp(queue, open, room, entryOf, before);
      const failed = (await queue.failed(queued)).size;
      watched = queued;
      const waiting = queued.length - failed;
      const done = due - open.length;
      const finished = left === 0 && waiting === 0;
      return { due, done, failed, queued: waiting, left, finished, troubles };
    },
  };
}

/**
 * A driver of this definition: the one that there is, unless the backfill was cancelled and started again since, for then
 * there may be other vessels.
 */
export function driverOf(
  planning: PlanningPorts,
  backfill: Backfill,
  job: Job,
  before: BackfillDriver | undefined,
): BackfillDriver {
  const isSame = before !== undefined && isSameDefinition(before.backfill, backfill);
  return isSame ? before : createBackfillDriver(planning, backfill, job);
}

/** The same one, whether it is paused or not. */
function isSameDefinition(a: Backfill, b: Backfill): boolean {
  return isDeepStrictEqual({ ...a, paused: false }, { ...b, paused: false });
}

/**
 * A step of a backfill that is defined, as the driver's. What it queued while somebody paused or cancelled the backfill
 * is taken out again, however it ended, for they took out what was there before, and the one that was started again may
 * be of other vessels; who does so after the look does it after the step too.
 */
export async function stepDefined(
  planning: PlanningPorts,
  driver: BackfillDriver,
  signal: AbortSignal,
  share?: number,
): Promise<BackfillProgress> {
  const { backfill } = driver;
  const progress = await driver.step(signal, share).catch(async (error: unknown) => {
    // Its own error is the one to report.
    await withdrawUnlessDefined(planning, backfill).catch(() => {});
    throw error;
  });
  if (!progress.finished) await withdrawUnlessDefined(planning, backfill);
  return progress;
}

/**
 * A backfill is covered: what has failed in it and left no note, as its worker died or does not know the job, is noted, for
 * after that nobody asks for these days; then its definition goes. Throws what Redis and the store throw.
 */
export async function endCovered(
  { ports: { store, clock }, queue }: Pick<PlanningPorts, 'ports' | 'queue'>,
  backfill: Backfill,
): Promise<void> {
  const at = new Date(clock.nowMs()).toISOString();
  const letters = (await queue.deadLetters()).filter(({ day }) => belongsTo(backfill, day));
  await forEachAtOnce(letters, NOTES_AT_ONCE, ({ day, code, message }) =>
    noteIfNone(store, { noteVersion: 1, ...day, state: 'failed', code, message, at }),
  );
  await endBackfill(store, backfill);
}

async function withdrawUnlessDefined(
  { ports, queue }: Pick<PlanningPorts, 'ports' | 'queue'>,
  backfill: Backfill,
): Promise<void> {
  const defined = await readBackfill(ports.store, backfill.id);
  const isThis = defined !== undefined && !defined.paused && isSameDefinition(defined, backfill);
  if (!isThis) await withdrawBackfill(queue, backfill);
}

/** Take what waits for a backfill out of the queue; returns how many. What is under way goes on. */
export function withdrawBackfill(queue: VesselDayQueue, backfill: Backfill): Promise<number> {
  return queue.withdraw((day: QueuedDay) => day.kind === 'backfill' && belongsTo(backfill, day));
}

/**
 * Take failed vessel-days of the range out of the failed set, so that they are queued again; returns which. Those
 * that a look-back sent have a receipt, so that no plan would queue them: they are queued here.
 */
export async function releaseFailed(
  queue: VesselDayQueue,
  range: Pick<Backfill, 'job' | 'from' | 'to' | 'vessels' | 'allowShrink'>,
): Promise<string[]> {
  const released: string[] = [];
  for (const { day, queued } of await queue.deadLetters()) {
    if (!belongsTo(range, day) || !(await queue.remove(day))) continue;
    released.push(formatVesselDay(day));
    if (queued.force && queued.compared) await queue.add([asNew(queued, range.allowShrink)]);
  }
  return released;
}
