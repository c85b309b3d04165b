/**
 * A firing of a job's schedule. It says only that it is time to look: what is to be done stands in the ledger, so
 * a scheduler that was down for three days catches up on all of them with one firing.
 */
import { findVessels } from '../export/export-jobs.ts';
import type { ExportPorts } from '../export/ports.ts';
import type { Job, Log, VesselDay } from '../model/index.ts';
import { addDays, microsToDate } from '../model/index.ts';
import { lastFiringMs } from '../plan/firings.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import { removeFinishedClaims } from '../publish/tidy.ts';
import type { ScheduleState } from '../queue/schedule-state.ts';
import type { VesselDayQueue } from '../queue/vessel-day-queue.ts';
import { createCoverage } from './coverage.ts';
import type { LedgerView } from './ledger-view.ts';
import { roomFor, topUp } from './top-up.ts';

/** Days before today that a firing looks at, where the job does not say. */
export const DEFAULT_LOOKBACK_DAYS = 14;

export interface PlanningPorts {
  readonly ports: ExportPorts;
  readonly queue: VesselDayQueue;
  readonly ledger: LedgerView;
  readonly log: Log;
  /** Told what planning found. */
  readonly onPlanned: (job: string, missing: number, oldest: string | undefined) => void;
}

export interface NightlyPlan {
  readonly added: number;
  /** Due, without receipt, and in the queue or in its failed set already. */
  readonly waiting: number;
  /** Due vessel-days that had no room. */
  readonly left: number;
}

export interface Nightly {
  /** Plan the job if it has fired since it was last planned; undefined when it has not. */
  planIfFired(job: Job, signal: AbortSignal): Promise<NightlyPlan | undefined>;
  /** Plan the job now. */
  plan(job: Job, signal: AbortSignal): Promise<NightlyPlan>;
}

export function createNightly(planning: PlanningPorts, state: ScheduleState): Nightly {
  const { ports } = planning;
  const vesselsAt = new Map<string, { firingMs: number; vessels: readonly string[] }>();

  async function begin(job: Job, firingMs: number, signal: AbortSignal): Promise<readonly string[]> {
    const held = vesselsAt.get(job.name);
    if (held?.firingMs === firingMs) return held.vessels;
    const vessels = await findVessels(ports, job, signal);
    await removeFinishedClaims(ports.store, job.name);
    await releasePassing(planning.queue, rangeOf(job, ports.clock.nowMs()), job.name);
    vesselsAt.set(job.name, { firingMs, vessels });
    return vessels;
  }

  async function plan(job: Job, vessels: readonly string[]): Promise<NightlyPlan> {
    const { queue, ledger } = planning;
    const nowMs = () => ports.clock.nowMs();
    const hash = settingsHash(job, ports.apiVersion);
    const coverage = createCoverage({
      job,
      settingsHash: hash,
      vessels,
      ledger,
      nowMs,
      ...rangeOf(job, nowMs()),
    });
    await coverage.refresh();
    const open = coverage.open();
    planning.onPlanned(job.name, open.length, open[0]?.date);
    const room = await roomFor(queue, 'nightly');
    // The newest first: last night must not wait for two weeks that are being caught up on.
    const { added, queued, left } = await topUp(queue, newestFirst(open), room, { kind: 'nightly' });
    return { added, waiting: queued.length - added, left };
  }

  return {
    async planIfFired(job, signal) {
      if (job.schedule === undefined) return undefined;
      const firingMs = lastFiringMs(job.schedule, ports.clock.nowMs());
      if ((await state.plannedFiringMs('nightly', job.name)) === firingMs) return undefined;
      const found = await plan(job, await begin(job, firingMs, signal));
      if (found.left === 0) await state.setPlannedFiringMs('nightly', job.name, firingMs);
      return found;
    },
    async plan(job, signal) {
      return plan(job, await begin(job, Number.NaN, signal));
    },
  };
}

function rangeOf(job: Job, nowMs: number): { from: string; to: string } {
  const today = microsToDate(nowMs * 1_000);
  const days = job.reconcile?.lookbackDays ?? DEFAULT_LOOKBACK_DAYS;
  return { from: addDays(today, -days), to: addDays(today, 1) };
}

function newestFirst(days: readonly VesselDay[]): VesselDay[] {
  return days.toSorted((a, b) => (a.date === b.date ? 0 : a.date < b.date ? 1 : -1));
}

/** What failed for a reason that may have passed gets another chance with every firing. */
async function releasePassing(
  queue: VesselDayQueue,
  range: { from: string; to: string },
  job: string,
): Promise<void> {
  for (const { day, mayPass } of await queue.deadLetters()) {
    if (mayPass && day.job === job && day.date >= range.from && day.date < range.to) await queue.remove(day);
  }
}
