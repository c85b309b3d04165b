/** What a process tells the others of itself, by the app that it runs on. */
import { hostname } from 'node:os';
import type { App } from '../app.ts';
import type { Log } from '../core/model/index.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { createFleetReporter } from '../redis/fleet-facts.ts';
import type { ProcessFacts } from '../redis/fleet-shapes.ts';
import type { FleetNews } from './fleet-news.ts';
import { createFleetNews } from './fleet-news.ts';

interface FleetNewsOf {
  readonly app: Pick<App, 'config' | 'ports'>;
  /** Where it is told. */
  readonly connection: RedisConnection;
  readonly log: Log;
  readonly role: ProcessFacts['role'];
  /** Vessel-days under way; without it those of which the news is told. */
  readonly active?: (() => number) | undefined;
}

/** Roles that export; the others have no places for vessel-days. */
const EXPORTING: ReadonlySet<ProcessFacts['role']> = new Set(['worker', 'run']);

/** Told once it runs (`tellFleet`). */
export function openFleetNews({ app, connection, log, role, active }: FleetNewsOf): FleetNews {
  const { config, ports } = app;
  const { REDIS_PREFIX: prefix, WORKER_CONCURRENCY } = config.settings;
  const isExporting = EXPORTING.has(role);
  return createFleetNews({
    reporter: createFleetReporter({ connection, prefix }),
    clock: ports.clock,
    log,
    self: {
      ...{ role, host: hostname(), pid: process.pid, version: ports.version },
      atOnce: isExporting ? WORKER_CONCURRENCY : null,
    },
    active: isExporting ? active : () => null,
  });
}

/** Tell of this process until the answer is called. */
export function tellFleet(news: FleetNews): () => Promise<void> {
  const left = new AbortController();
  const telling = news.run(left.signal);
  return async () => {
    left.abort();
    await telling;
  };
}
