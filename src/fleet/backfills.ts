/** Queues the vessel-days of backfills, and starts, pauses, resumes and cancels backfills. */
import { isDeepStrictEqual } from 'node:util';
import { forEachAtOnce } from '../core/concurrency.ts';
import { ConfigError } from '../core/errors.ts';
import { formatVesselDay, type Job, shortName, type VesselDay } from '../core/model/index.ts';
import { findVessels, type JobVessels } from '../export/job-vessels.ts';
import {
  type Backfill,
  type BackfillRequest,
  backfillId,
  belongsTo,
  endBackfill,
  listBackfills,
  readBackfill,
  removeBackfill,
  updateBackfill,
} from '../lake/backfills.ts';
import { backfillKey, parseBackfillKey } from '../lake/keys.ts';
import { noteIfNone } from '../lake/notes.ts';
import type { ObjectStore } from '../store/store.ts';
import type { BackfillProgress } from './events.ts';
import { roomFor, topUp } from './fill-queue.ts';
import type { Fleet } from './fleet.ts';
import type { PlanningPorts } from './nightly.ts';
import { type Backlog, createBacklog } from './open-days.ts';
import type { QueuedDay, VesselDayQueue } from './queue/vessel-day-queue.ts';
import { asNew } from './try-again.ts';

const NOTES_AT_ONCE = 8;

export type BackfillDriver = ReturnType<typeof createBackfillDriver>;

/** Two processes may drive the same backfill: a vessel-day is in the queue once. */
export function createBackfillDriver(planning: PlanningPorts, backfill: Backfill, job: Job) {
  const { ports, queue, ledger } = planning;
  let found: JobVessels | undefined;
  let coverage: Backlog | undefined;
  /** In the queue at the last step: only these can be done since. */
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
    /** Compute the progress, and fill the queue with at most `share` of its free room. */
    async step(signal: AbortSignal, share = 1): Promise<BackfillProgress> {
      // The queue is read before the ledger: what leaves the queue in between is done, and must not be queued again.
      const before = await queue.known(watched ?? []);
      const range = await look(signal);
      const [due, open] = [range.due, range.open()];
      const room = Math.ceil((await roomFor(queue, 'backfill')) * share);
      const { unlisted, troubles } = found!;
      const entry = { kind: 'backfill', unlisted, allowShrink: backfill.allowShrink } as const;
      const { queued, left } = await topUp(queue, open, room, entry, before);
      const failed = (await queue.failed(queued)).size;
      watched = queued;
      const waiting = queued.length - failed;
      const done = due - open.length;
      // By a clock that is behind that of whoever asked for it, days that are over may not be due yet.
      const isBehind = ports.clock.nowMs() < Date.parse(backfill.createdAt);
      const finished = left === 0 && waiting === 0 && !isBehind;
      return { due, done, failed, queued: waiting, left, finished, troubles };
    },
  };
}

/** The existing driver, unless the backfill was started again since: it may have other vessels then. */
export function driverOf(
  planning: PlanningPorts,
  backfill: Backfill,
  job: Job,
  before: BackfillDriver | undefined,
): BackfillDriver {
  const isSame = before !== undefined && isSameDefinition(before.backfill, backfill);
  return isSame ? before : createBackfillDriver(planning, backfill, job);
}

function isSameDefinition(a: Backfill, b: Backfill): boolean {
  return isDeepStrictEqual({ ...a, paused: false }, { ...b, paused: false });
}

/**
 * A step of a defined backfill. If the backfill is paused or cancelled meanwhile, what the step has queued is removed again,
 * however the step ended: the pause removed only what was there before, and a restarted backfill may have other vessels.
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

/** Ends a covered backfill: failures without a note get one, because they are not planned again, and the definition is removed. */
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

/** Remove the waiting vessel-days of a backfill from the queue; returns how many. Active ones continue. */
export function withdrawBackfill(queue: VesselDayQueue, backfill: Backfill): Promise<number> {
  return queue.withdraw((day: QueuedDay) => day.kind === 'backfill' && belongsTo(backfill, day));
}

/** Have failed vessel-days tried again; returns which. Those of a look-back no plan would queue: it is done here. */
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

/** Throws ConfigError `no-history` for a job whose past cannot be exported. */
export function checkHasHistory({ name, dataset }: Job): void {
  if (dataset !== 'metadata') return;
  const text = `job '${name}': the service keeps no history of metadata, so there is nothing to fill in; 'schedule' and 'run' take today's snapshot`;
  throw new ConfigError('no-history', text);
}

/**
 * Define a backfill, unless the same one is `under-way`; a paused one goes on. `from` and `to` are UTC dates. Throws
 * ConfigError (`usage`, `no-history`, and what is wrong with the lake's layout), and what the store throws.
 */
export async function startBackfill(
  { app }: Pick<Fleet, 'app'>,
  job: Job,
  request: BackfillRequest,
): Promise<{ readonly backfill: Backfill; readonly state: 'started' | 'goes-on' | 'under-way' }> {
  checkHasHistory(job);
  const { from, to } = request;
  if (from >= to)
    throw new ConfigError('usage', `${from} to ${to}: the range is empty; the end is exclusive`);
  const { store, ports } = app;
  await ports.layout.check([job.name]);
  const id = backfillId(request);
  const createdNow = new Date(ports.clock.nowMs()).toISOString();
  const fresh: Backfill = { backfillVersion: 1, id, ...request, paused: false, createdAt: createdNow };
  const { before, now = fresh } = await updateBackfill(store, id, (defined) => {
    if (defined === undefined) return fresh;
    return defined.paused ? { ...fresh, createdAt: defined.createdAt } : undefined;
  });
  if (before === undefined) return { backfill: now, state: 'started' };
  return { backfill: now, state: before.paused ? 'goes-on' : 'under-way' };
}

export type BackfillChange = 'pause' | 'resume' | 'cancel';

/**
 * Done twice it is done. `withdrawn`: vessel-days that left the queue. Throws ConfigError (`unknown-backfill`, and what is
 * wrong with the lake's layout), and what Redis and the store throw.
 */
export async function changeBackfill(
  { app, queue }: Pick<Fleet, 'queue' | 'app'>,
  change: BackfillChange,
  id: string,
): Promise<{ readonly backfill: Backfill; readonly withdrawn: number }> {
  const { store, ports } = app;
  if (change === 'resume') await ports.layout.check([]);
  const backfill = parseBackfillKey(backfillKey(id)) === id ? await changed(store, change, id) : undefined;
  if (backfill === undefined) {
    const ids = (await listBackfills(store, () => {})).map((underWay) => underWay.id).join(', ') || 'none';
    const text = `there is no unfinished backfill '${shortName(id)}'; there are: ${ids}`;
    throw new ConfigError('unknown-backfill', text);
  }
  const withdrawn = change === 'resume' ? 0 : await withdrawBackfill(queue, backfill);
  return { backfill, withdrawn };
}

/** The backfill as it was before; undefined where it is none, or is none any more. */
async function changed(store: ObjectStore, change: BackfillChange, id: string) {
  if (change === 'cancel') {
    const backfill = await readBackfill(store, id);
    if (backfill !== undefined) await removeBackfill(store, id);
    return backfill;
  }
  const paused = change === 'pause';
  const { before } = await updateBackfill(store, id, (defined) =>
    defined === undefined || defined.paused === paused ? undefined : { ...defined, paused },
  );
  return before;
}
