/** Reports the requests of an export to the fleet. What needs Redis is loaded only if there is one, which most runs lack. */
import type { App, AppOverrides } from '../app.ts';
import type { Log } from '../core/model/index.ts';
import type { FleetNews } from './fleet-news.ts';

/** Overrides for an app, so that its requests are reported once the reporter exists. */
export function tellingRequests(overrides: AppOverrides, news: () => FleetNews | undefined): AppOverrides {
  return {
    ...overrides,
    onRequest(report) {
      overrides.onRequest?.(report);
      news()?.onEvent({ kind: 'request', ...report });
    },
  };
}

/** Report an export in this process to the fleet until `leave`; undefined without Redis. */
export async function tellOfRun(app: App, log: Log) {
  const { redis: connection } = app;
  if (connection === undefined) return undefined;
  const { tellFleet } = await import('./fleet-news.ts');
  return tellFleet({ app, connection, log, role: 'run' });
}
