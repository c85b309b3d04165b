/** `schedule`: keep the queue filled with what is due, until told to stop or once. */
import { randomUUID } from 'node:crypto';
import type { AppOverrides } from '../app.ts';
import { loadConfig } from '../config/config.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { openFleet } from '../fleet/fleet.ts';
import { createLedgerView } from '../fleet/ledger-view.ts';
import { createFleetMetrics, serveOperations } from '../fleet/observe.ts';
import type { Scheduler } from '../fleet/scheduler.ts';
import { createScheduler } from '../fleet/scheduler.ts';
import type { Job, Log } from '../model/index.ts';
import type { Metrics } from '../operations/metrics.ts';
import { AWAY_STOP_MS, endsAfter } from '../queue/ends-within.ts';
import { createScheduleState } from '../queue/schedule-state.ts';
import { formatTable } from '../terminal/format.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_OK } from './context.ts';

export interface ScheduleOptions {
  /** Plan every job that has a schedule now, and end. It does not look back: `reconcile --enqueue` does. */
  readonly once?: boolean;
}

/** Plan until the signal, or once; the exit code. `overrides` and `intervalMs` are for tests. */
export async function scheduleCommand(
  context: CommandContext,
  options: ScheduleOptions,
  overrides: AppOverrides = {},
  intervalMs?: number,
): Promise<number> {
  const config = loadConfig(context.env);
  const log = commandLog(context, config.settings.LOG_LEVEL);
  let metrics: Metrics | undefined;
  const fleet = await openFleet(config, context.env, log, {
    ...overrides,
    onRequest: (report) => metrics?.onRequest(report),
  });
  const nothing = { active: () => 0, held: () => undefined };
  try {
    metrics = createFleetMetrics(fleet, nothing);
    const scheduler = openScheduler(fleet, config.jobs, log, metrics, intervalMs);
    if (options.once === true) return await planOnce(context, scheduler);
    const observe = { settings: config.settings, log, stopping: context.signal, ...nothing };
    const operations = await serveOperations(fleet, metrics, observe);
    try {
      const namesWith = (key: 'schedule' | 'reconcile') =>
        config.jobs.filter((job) => job[key] !== undefined).map(({ name }) => name);
      const fields = { jobs: namesWith('schedule'), reconciled: namesWith('reconcile') };
      log.info({ ...fields, http: operations.url }, 'scheduler is ready');
      // It may be waiting for Redis.
      await endsAfter(scheduler.run(context.signal), context.signal, AWAY_STOP_MS, fleet.app.ports.clock);
    } finally {
      await operations.close();
    }
  } finally {
    await fleet.close();
  }
  log.info({}, 'stopped');
  return EXIT_OK;
}

function openScheduler(
  fleet: Fleet,
  jobs: readonly Job[],
  log: Log,
  metrics: Metrics,
  intervalMs: number | undefined,
): Scheduler {
  const { app, queue, redis, prefix } = fleet;
  return createScheduler({
    ports: app.ports,
    queue,
    ledger: createLedgerView(app.store),
    log,
    jobs,
    state: createScheduleState(redis, prefix, randomUUID()),
    onPlanned: (job, missing, oldest) => metrics.onPlanned(job, missing, oldest),
    onLookedBack: (job, found) => metrics.onLookedBack(job, found),
    ...(intervalMs === undefined ? {} : { intervalMs }),
  });
}

async function planOnce(context: CommandContext, scheduler: Scheduler): Promise<number> {
  const plans = [...(await scheduler.planAll(context.signal))];
  const rows = plans.map(([job, { added, waiting, left }]) => [job, added, waiting, left]);
  context.stdout.write(`${formatTable([['job', 'queued', 'in queue already', 'without room'], ...rows])}\n`);
  return EXIT_OK;
}
