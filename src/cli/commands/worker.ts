/** `worker`: export vessel-days from the queue until told to stop. */
import type { AppOverrides } from '../../app.ts';
import { endsAfter } from '../../core/concurrency.ts';
import { runFleetProcess } from '../../fleet/fleet-process.ts';
import { startWork, type Work, type WorkTimes } from '../../fleet/work.ts';
import { type CommandContext, commandLog, EXIT_OK, readConfig } from './command.ts';
import { fleetPage } from './page.ts';

/** Work until the signal, then hand back what is under way. `overrides` and `times` are for tests. */
export async function workerCommand(
  context: CommandContext,
  overrides: AppOverrides = {},
  times: WorkTimes = {},
): Promise<number> {
  const config = readConfig(context);
  const { env, signal } = context;
  const log = commandLog(context, config.settings.LOG_LEVEL);
  let work: Work | undefined;
  const active = () => work?.worker.active ?? 0;
  const oldestMs = () => work?.worker.oldestMs ?? 0;
  const held = () => work?.hold.code;
  const page = fleetPage(config, log);
  const about = { role: 'worker', config, env, log, overrides, signal, page } as const;
  await runFleetProcess({ ...about, active, oldestMs, held }, async (fleet, { emit }, url) => {
    work = startWork(config, fleet, log, emit, times);
    log.info({ vesselDaysAtOnce: config.settings.WORKER_CONCURRENCY, http: url }, 'worker is ready');
    // It may be waiting for Redis; the process must end even if Redis does not come back.
    await endsAfter(work.hold.watch(signal), signal, 0, fleet.app.ports.clock);
    log.info({ underWay: active() }, 'stopping: unfinished vessel-days are handed back');
    await work.worker.stop();
  });
  return EXIT_OK;
}
