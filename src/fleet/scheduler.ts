/**
 * The scheduler: looks every few seconds whether a job has fired (its `schedule` or its `reconcile`) and how far
 * the backfills are, and keeps the queue filled. It has no state that matters: killed, or without its Redis, it
 * plans again from the ledger.
 *
 * Not BullMQ's job schedulers: after a time down they fire once and skip the other slots, so that the ledger has
 * to be looked at anyway; and when Redis is flushed they are gone, and nothing says that no night is exported.
 */
import { messageOf } from '../errors.ts';
import type { Job } from '../model/index.ts';
import type { ScheduleState } from '../queue/schedule-state.ts';
import type { BackfillDriver } from './backfill-driver.ts';
import { createBackfillDriver } from './backfill-driver.ts';
import { endBackfill, listBackfills } from './backfills.ts';
import { createLookBacks } from './look-backs.ts';
import type { NightlyPlan, PlanningPorts } from './nightly.ts';
import { createNightly } from './nightly.ts';
import { createGuard } from './say-once.ts';

export interface SchedulerOptions extends PlanningPorts {
  readonly jobs: readonly Job[];
  readonly state: ScheduleState;
  /** Told how many vessel-days a look-back found, by state. */
  readonly onLookedBack?: (job: string, found: Readonly<Record<string, number>>) => void;
  /** Between looks. */
  readonly intervalMs?: number;
}

export interface Scheduler {
  /** Plan every job that has a schedule now, and top up every backfill, once; what was done per job. */
  planAll(signal: AbortSignal): Promise<Map<string, NightlyPlan>>;
  /** One look: jobs that have fired, look-backs (which go on beside it until `stop`), and backfills. */
  look(signal: AbortSignal): Promise<void>;
  /** End the look-back under way. */
  stop(): Promise<void>;
  /** Look again and again until the signal is aborted. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const INTERVAL_MS = 10_000;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { ports, log, jobs, state, intervalMs = INTERVAL_MS } = options;
  const nightly = createNightly(options, state);
  const scheduled = jobs.filter((job) => job.schedule !== undefined);
  const drivers = new Map<string, BackfillDriver>();
  // What goes wrong with one job does not stop the others.
  const guarded = createGuard(log);
  const lookBacks = createLookBacks({ ...options, guard: guarded });

  async function topUpBackfills(signal: AbortSignal): Promise<void> {
    const backfills = await listBackfills(ports.store);
    for (const id of drivers.keys()) if (!backfills.some((one) => one.id === id)) drivers.delete(id);
    const active = backfills.filter(({ paused }) => !paused);
    for (const [index, backfill] of active.entries()) {
      const { id } = backfill;
      await guarded(id, signal, async () => {
        const job = jobs.find(({ name }) => name === backfill.job);
        if (job === undefined) throw new Error(`backfill ${id}: there is no job '${backfill.job}' any more`);
        const driver = drivers.get(id) ?? createBackfillDriver(options, backfill, job);
        drivers.set(id, driver);
        // Backfills share the room: each takes its part of what those before it have left.
        const progress = await driver.step(signal, 1 / (active.length - index));
        log.debug({ backfill: id, ...progress }, 'backfill');
        if (!progress.finished) return;
        await endBackfill(ports.store, backfill);
        log.info({ backfill: id, done: progress.done, failed: progress.failed }, 'backfill is covered');
      });
    }
  }

  async function look(signal: AbortSignal): Promise<void> {
    for (const job of scheduled) {
      await guarded(job.name, signal, async () => {
        const plan = await nightly.planIfFired(job, signal);
        if (plan !== undefined) log.info({ job: job.name, ...plan }, 'planned');
      });
    }
    // The nights come first, and backfills take the room that is left.
    await guarded('look-backs', signal, () => lookBacks.step(signal));
    await guarded('backfills', signal, () => topUpBackfills(signal));
  }

  return {
    look,
    stop: () => lookBacks.stop(),
    async planAll(signal) {
      const plans = new Map<string, NightlyPlan>();
      for (const job of scheduled) plans.set(job.name, await nightly.plan(job, signal));
      await topUpBackfills(signal);
      return plans;
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          // Long enough for a long look; who dies is replaced after it.
          if (await state.lead(intervalMs * 6)) await look(signal);
          else await lookBacks.stop();
          await ports.clock.sleep(intervalMs, signal);
        } catch (error) {
          if (signal.aborted) break;
          log.error({ error: messageOf(error) }, 'cannot plan now');
          await ports.clock.sleep(intervalMs, signal).catch(() => {});
        }
      }
      await lookBacks.stop();
      await state.resign().catch(() => {});
    },
  };
}
