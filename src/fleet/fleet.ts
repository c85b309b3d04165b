/** What the processes of a fleet share: the app, and the queue in Redis. */
import { type AppOverrides, openApp } from '../app.ts';
import { ConfigError } from '../core/errors.ts';
import type { Log } from '../core/model/index.ts';
import { createLedgerView } from '../lake/ledger/ledger-view.ts';
import type { Config } from '../runtime/config/config.ts';
import type { PlanningPorts } from './nightly.ts';
import { openVesselDayQueue } from './queue/vessel-day-queue.ts';

export type Fleet = Awaited<ReturnType<typeof openFleet>>;

/** Open app and queue. Throws ConfigError `redis-url` without REDIS_URL, and what `openApp` throws. */
export async function openFleet(
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Log,
  overrides: AppOverrides = {},
) {
  if (config.settings.REDIS_URL === undefined) {
    const text =
      "REDIS_URL: not set, expected the address of the queue's Redis, such as redis://localhost:6379; without one, 'vessel-export run' and 'reconcile --run' export in one process";
    throw new ConfigError('redis-url', text);
  }
  const app = await openApp(config, env, log, { isShared: true, ...overrides });
  const connection = app.redis!;
  /** Its commands wait while Redis is unreachable. */
  const redis = connection.openForQueue();
  const prefix = config.settings.REDIS_PREFIX;
  const tracing = await app.openQueueTracing?.();
  const queue = openVesselDayQueue({ redis, client: connection.client, prefix, log, tracing });
  const ledger = createLedgerView(app.store, undefined, log);
  const planning: PlanningPorts = { ports: app.ports, queue, ledger, log };
  return { app, connection, redis, prefix, queue, planning, close: () => app.close() };
}
