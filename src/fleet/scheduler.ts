/**
 * The scheduler: checks every few seconds whether a job has fired (its `schedule` or its `reconcile`) and how far the
 * backfills are, and keeps the queue filled. It has no state that matters: after a kill, or a loss of Redis, it plans again
 * from the ledger.
 *
 * BullMQ's job schedulers are not used: after downtime they skip firings, and a flush of Redis removes them silently.
 */
import { type DataError, messageOf } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { listBackfills } from '../lake/backfills.ts';
import type { ScheduleState } from '../redis/schedule-state.ts';
import { type BackfillDriver, driverOf, endCovered, stepDefined } from './backfills.ts';
import { createLookBacks } from './look-backs.ts';
import { createNightly, type NightlyPlan, type PlanningPorts } from './nightly.ts';
import { createGuard } from './say-once.ts';
import { createWatches } from './watches.ts';

export interface SchedulerOptions extends PlanningPorts {
  readonly jobs: readonly Job[];
  readonly state: ScheduleState;
  readonly intervalMs?: number;
}

export type Scheduler = ReturnType<typeof createScheduler>;

const INTERVAL_MS = 10_000;
/** Ten minutes with the default interval. */
const LONGEST_LOOK_RENEWALS = 30;

export function createScheduler(options: SchedulerOptions) {
  const { ports, log, jobs, state, intervalMs = INTERVAL_MS, onEvent } = options;
  const nightly = createNightly(options, state);
  const scheduled = jobs.filter((job) => job.schedule !== undefined);
  const drivers = new Map<string, BackfillDriver>();
  /** Backfills that were checked, and the reason for each whose last step failed. */
  const known = new Set<string>();
  const stuck = new Map<string, string>();
  // A failure of one job does not stop the others.
  const guarded = createGuard(log, () => onEvent?.({ kind: 'planning-failed' }));
  const { guard } = guarded;
  const lookBacks = createLookBacks({ ...options, guard });
  const watches = createWatches({ ...options, ...ports }, nightly.vesselsOf);

  function attempt(what: string, signal: AbortSignal, work: () => Promise<void>, failed?: string) {
    const tried = async () => {
      try {
        await work();
        stuck.delete(what);
      } catch (error) {
        stuck.set(what, messageOf(error));
        throw error;
      }
    };
    return guard(what, signal, tried, failed);
  }

  async function topUpBackfills(signal: AbortSignal): Promise<void> {
    const damaged = new Map<string, DataError>();
    const backfills = await listBackfills(ports.store, (id, error) => damaged.set(id, error));
    const active = backfills.filter(({ paused }) => !paused);
    for (const id of known) {
      if (damaged.has(id) || active.some((each) => each.id === id)) continue;
      drivers.delete(id);
      known.delete(id);
      stuck.delete(id);
      guarded.forget(id);
      if (!backfills.some((each) => each.id === id)) onEvent?.({ kind: 'backfill-ended', id });
    }
    for (const [id, error] of damaged) {
      known.add(id);
      await attempt(id, signal, () => Promise.reject(error), 'a backfill cannot be read');
    }
    for (const [index, backfill] of active.entries()) {
      const { id } = backfill;
      known.add(id);
      await attempt(id, signal, async () => {
        const advice = `put its file into JOBS_DIR again, or end it with 'vessel-export backfill cancel ${id}'`;
        const job = jobNamed(jobs, backfill.job, `here, which backfill ${id} is of (${advice})`);
        const driver = driverOf(options, backfill, job, drivers.get(id));
        drivers.set(id, driver);
        // Backfills share the room of the queue: each takes its part of what the earlier ones have left.
        const progress = await stepDefined(options, driver, signal, 1 / (active.length - index));
        log.debug({ backfill: id, ...progress }, 'backfill');
        onEvent?.({ kind: 'backfill', id, progress });
        if (!progress.finished) return;
        await endCovered(options, backfill);
        log.info({ backfill: id, done: progress.done, failed: progress.failed }, 'backfill is covered');
      });
    }
  }

  async function look(signal: AbortSignal): Promise<void> {
    // One time for everything: otherwise a look-back finds days missing that became due after the nights were planned.
    const nowMs = ports.clock.nowMs();
    for (const job of scheduled) {
      await guard(job.name, signal, async () => {
        const plan = await nightly.planIfFired(job, nowMs, signal);
        onEvent?.({ kind: 'job-planned', job: job.name });
        if (plan !== undefined) log.info({ job: job.name, ...plan }, 'planned');
      });
    }
    await guard('delayed vessel-days', signal, async () => {
      const vesselDays = await options.queue.bringBack();
      if (vesselDays > 0) log.warn({ vesselDays }, 'delayed by a worker whose clock is ahead: brought back');
    });
    for (const [what, watch] of Object.entries(watches)) await guard(what, signal, watch);
    // Nights come first, and backfills take the room that is left.
    await guard('look-backs', signal, () => lookBacks.step(nowMs, signal));
    await attempt('backfills', signal, () => topUpBackfills(signal));
    onEvent?.({ kind: 'stuck-backfills', stuck: new Map(stuck) });
  }

  /** When a leader dies, another one takes over after its lead has expired. */
  const lead = () => state.lead(intervalMs * 6);

  /** A first plan of years takes long; one that hangs loses the lead in the end. */
  async function keepingTheLead(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    const keep = async () => {
      for (let times = 0; times < LONGEST_LOOK_RENEWALS; times++) {
        await ports.clock.sleep(intervalMs * 2, either);
        await lead().catch(() => {});
      }
    };
    const kept = keep().catch(() => {});
    await work().finally(() => ended.abort());
    await kept;
  }

  async function lookIfLeading(signal: AbortSignal): Promise<void> {
    let leads: boolean | undefined;
    try {
      leads = await lead();
    } finally {
      onEvent?.({ kind: 'lead', leads });
    }
    if (leads) return await keepingTheLead(signal, () => look(signal));
    nightly.forget();
    guarded.forget();
    stuck.clear();
    await lookBacks.stop();
  }

  return {
    /** One round: jobs that have fired, look-backs (which continue beside it until `stop`), and backfills. */
    look,
    get trouble(): string | undefined {
      return guarded.trouble;
    },
    stop: () => lookBacks.stop(),
    /** Plan every job that has a schedule now, and continue every backfill, once; returns what was done per job. */
    async planAll(signal: AbortSignal): Promise<Map<string, NightlyPlan>> {
      const plans = new Map<string, NightlyPlan>();
      for (const job of scheduled) plans.set(job.name, await nightly.plan(job, signal));
      await topUpBackfills(signal);
      return plans;
    },
    /** Repeat rounds until the signal is aborted. Never rejects. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        // Both reject only when the signal is aborted.
        try {
          await guard('the scheduler', signal, () => lookIfLeading(signal));
          await ports.clock.sleep(intervalMs, signal);
        } catch {}
      }
      await lookBacks.stop();
      await state.resign().catch(() => {});
    },
  };
}
