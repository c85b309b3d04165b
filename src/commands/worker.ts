/** `worker`: export vessel-days from the queue until told to stop. */
import type { AppOverrides } from '../app.ts';
import { loadConfig } from '../config/config.ts';
import { openFleet } from '../fleet/fleet.ts';
import { createFleetMetrics, serveOperations } from '../fleet/observe.ts';
import type { Work, WorkTimes } from '../fleet/work.ts';
import { startWork } from '../fleet/work.ts';
import type { Metrics } from '../operations/metrics.ts';
import { endsAfter } from '../queue/ends-within.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_OK } from './context.ts';

/** Work until the signal, then hand back what is under way; the exit code. `overrides` and `times` are for tests. */
export async function workerCommand(
  context: CommandContext,
  overrides: AppOverrides = {},
  times: WorkTimes = {},
): Promise<number> {
  const config = loadConfig(context.env);
  const { settings } = config;
  const log = commandLog(context, settings.LOG_LEVEL);
  let work: Work | undefined;
  let metrics: Metrics | undefined;
  const fleet = await openFleet(config, context.env, log, {
    ...overrides,
    onRequest: (report) => metrics?.onRequest(report),
  });
  try {
    const active = () => work?.worker.active ?? 0;
    const held = () => work?.hold.code;
    metrics = createFleetMetrics(fleet, { active, held });
    const observe = { settings, log, stopping: context.signal, active, held };
    const operations = await serveOperations(fleet, metrics, observe);
    try {
      work = startWork(config, fleet, log, metrics, times);
      log.info({ vesselDaysAtOnce: settings.WORKER_CONCURRENCY, http: operations.url }, 'worker is ready');
      // It may be waiting for Redis, which does not have to come back for this process to end.
      await endsAfter(work.hold.watch(context.signal), context.signal, 0, fleet.app.ports.clock);
      log.info({ underWay: active() }, 'stopping: vessel-days under way are handed back');
      await work.worker.stop();
    } finally {
      await operations.close();
    }
  } finally {
    await fleet.close();
  }
  log.info({}, 'stopped');
  return EXIT_OK;
}
