/**
 * A firing of a job's schedule only starts the planning: the ledger shows what is missing, so a scheduler that was down for
 * half a year catches up with one firing. For the last days the receipts are read, for earlier days only the ledger's list.
 * Between firings it reads again the dates whose vessel-days have left the queue, so that the number of missing ones is up to
 * date.
 */
import { isRefusal } from '../core/errors.ts';
import type { Job, Log, VesselDay } from '../core/model/index.ts';
import { addDays, formatVesselDay, microsToDate } from '../core/model/index.ts';
import { askedFrom, recentFrom } from '../core/plan/asked.ts';
import { lastFiringMs } from '../core/plan/firings.ts';
import { findVessels } from '../export/job-vessels.ts';
import type { ExportPorts } from '../export/ports.ts';
import { isSelectAccepted } from '../lake/accept.ts';
import { removeFinishedClaims } from '../lake/claims/claims.ts';
import type { LedgerView } from '../lake/ledger/ledger-view.ts';
import type { ScheduleState } from '../redis/schedule-state.ts';
import type { OnFleetEvent } from './events.ts';
import { roomFor, type TopUp, topUp } from './fill-queue.ts';
import { type Backlog, createBacklog } from './open-days.ts';
import type { VesselDayQueue } from './queue/vessel-day-queue.ts';

/** Time between reads of what has become of the days of a firing. */
const REFRESH_MS = 60_000;
/** The oldest open dates are read each time: another process may have exported them. */
const OLDEST_LOOKED_AT = 4;

export interface PlanningPorts {
  readonly ports: ExportPorts;
  readonly queue: VesselDayQueue;
  readonly ledger: LedgerView;
  readonly log: Log;
  readonly onEvent?: OnFleetEvent;
}

export interface NightlyPlan {
  readonly added: number;
  /** Due, without receipt, and in the queue or in its failed set already. */
  readonly waiting: number;
  readonly left: number;
}

/** What a firing found, and its state since. */
interface Night {
  readonly job: Job;
  readonly firingMs: number;
  readonly coverage: Backlog;
  readonly vessels: readonly string[];
  readonly unlisted: ReadonlySet<string>;
  /** Days before this are queued behind nights and look-backs, so that catching up on years does not delay those. */
  readonly recentFrom: string;
  /** Vessel-days that were in the queue: only these can be done since. */
  watched: readonly VesselDay[];
  hasReleased: boolean;
  refreshedMs: number;
}

export function createNightly(planning: PlanningPorts, state: ScheduleState) {
  const { ports, queue, ledger } = planning;
  const nights = new Map<string, Night>();

  /** Read the whole ledger once per firing, and after that only where something can have changed. */
  async function lookAt(job: Job, firingMs: number, signal: AbortSignal): Promise<Night> {
    const known = nights.get(job.name);
    if (known?.firingMs === firingMs) {
      await refresh(known);
      return known;
    }
    const { recentFrom, ...range } = await rangeOf(ledger, job, ports.clock.nowMs());
    const found = await findVessels(ports, job, { vessels: [], to: range.to }, signal);
    const { vessels, unlisted } = found;
    planning.onEvent?.({ kind: 'discovered', job: job.name, ...found });
    await removeFinishedClaims(ports.store, job.name);
    const coverage = createBacklog({ ports, job, vessels, ledger, listedBefore: recentFrom, ...range });
    await coverage.refresh();
    const night = {
      ...{ job, firingMs, coverage, vessels, unlisted, recentFrom, watched: [], hasReleased: false },
      refreshedMs: ports.clock.monotonicMs(),
    };
    nights.set(job.name, night);
    tell(night);
    return night;
  }

  async function refresh(night: Night): Promise<void> {
    const { job, coverage, watched } = night;
    // The queue is read before the ledger: what leaves the queue in between is noticed the next time.
    const waiting = await queue.known(watched);
    const { still = [], gone = [] } = Object.groupBy(watched, (day) =>
      waiting.has(formatVesselDay(day)) ? 'still' : 'gone',
    );
    const dates = new Set([
      ...gone.map(({ date }) => date),
      ...coverage.openDates().slice(0, OLDEST_LOOKED_AT),
      ...coverage.heldBackDates(),
    ]);
    await coverage.refresh(dates);
    // A snapshot that equals the last one leaves no receipt.
    if (job.dataset === 'metadata') coverage.close(gone);
    night.watched = still;
    night.refreshedMs = ports.clock.monotonicMs();
    tell(night);
  }

  function tell({ job, coverage }: Night): void {
    const facts = { missing: coverage.open().length, oldest: coverage.openDates()[0] };
    const unpublished = () => coverage.unpublished();
    planning.onEvent?.({ kind: 'missing', job: job.name, ...facts, unpublished });
  }

  async function fill(night: Night): Promise<NightlyPlan> {
    const { job, coverage, recentFrom } = night;
    const { unlisted } = night;
    if (!night.hasReleased)
      await releasePassing(planning, job, (day) => day.date >= recentFrom || coverage.isOpen(day));
    night.hasReleased = true;
    // The newest first: last night must not wait for older days.
    const recent = coverage.open({ from: recentFrom, newestFirst: true });
    const older = coverage.open({ to: recentFrom, newestFirst: true });
    const plans = [
      await topUp(queue, recent, await roomFor(queue, 'nightly'), { kind: 'nightly', unlisted }),
      await topUp(queue, older, await roomFor(queue, 'backfill'), { kind: 'backfill', unlisted }),
    ];
    const sum = (count: (plan: TopUp) => number) => plans.reduce((total, plan) => total + count(plan), 0);
    night.watched = plans.flatMap(({ queued }) => queued);
    const added = sum((plan) => plan.added);
    return { added, waiting: night.watched.length - added, left: sum(({ left }) => left) };
  }

  /** The firing is planned, maybe by another process, but this one still has to find out what is missing. */
  async function keepUp(job: Job, firingMs: number, signal: AbortSignal): Promise<void> {
    const known = nights.get(job.name);
    if (known?.firingMs === firingMs && ports.clock.monotonicMs() < known.refreshedMs + REFRESH_MS) return;
    const night = await lookAt(job, firingMs, signal);
    if (known === night) return;
    const open = night.coverage.open({ newestFirst: true });
    const { queued } = await topUp(queue, open, 0, { kind: 'nightly', unlisted: night.unlisted });
    night.watched = queued;
  }

  return {
    /** Plan the job if it has fired by `nowMs` since it was last planned; undefined when it has not. */
    async planIfFired(job: Job, nowMs: number, signal: AbortSignal): Promise<NightlyPlan | undefined> {
      if (job.schedule === undefined) return undefined;
      const firingMs = lastFiringMs(job.schedule, nowMs);
      if ((await state.plannedFiringMs('nightly', job.name)) === firingMs) {
        await keepUp(job, firingMs, signal);
        return undefined;
      }
      const planned = await fill(await lookAt(job, firingMs, signal));
      if (planned.left === 0) await state.setPlannedFiringMs('nightly', job.name, firingMs);
      return planned;
    },
    plan: async (job: Job, signal: AbortSignal) => fill(await lookAt(job, Number.NaN, signal)),
    /** The vessels that this process planned last; undefined: it has planned none. */
    vesselsOf: (job: string) => nights.get(job)?.vessels,
    forget: () => nights.clear(),
  };
}

/** All dates that the job exports by itself; from `recentFrom` on the receipts are read. */
async function rangeOf(ledger: LedgerView, job: Job, nowMs: number) {
  const today = microsToDate(nowMs * 1_000);
  const to = addDays(today, 1);
  if (job.dataset === 'metadata') return { from: today, to, recentFrom: today };
  const firstDate = job.since === undefined ? await ledger.firstDate(job.name) : undefined;
  const recent = recentFrom(job, today);
  return { from: askedFrom(job, today, { firstDate }) ?? recent, to, recentFrom: recent };
}

/** Every firing retries failures that may be temporary, and refusals once they are accepted. */
async function releasePassing(
  { ports, queue }: PlanningPorts,
  job: Job,
  isPlanned: (day: VesselDay) => boolean,
): Promise<void> {
  const letters = (await queue.deadLetters()).filter(({ day }) => day.job === job.name && isPlanned(day));
  const mayGo = letters.some(isRefusal) && (await isSelectAccepted(ports.store, job));
  for (const letter of letters)
    if (letter.mayPass || (mayGo && isRefusal(letter))) await queue.remove(letter.day);
}
