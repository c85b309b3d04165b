/** Apart from what tells, which only those who have Redis load: most runs have nobody to tell. */
import type { App, AppOverrides } from '../app.ts';
import type { Log } from '../core/model/index.ts';
import type { FleetNews } from './fleet-news.ts';

/** What an app is opened with so that its requests are told, from when there is news. */
export function tellingRequests(overrides: AppOverrides, news: () => FleetNews | undefined): AppOverrides {
  return {
    ...overrides,
    onRequest(report) {
      overrides.onRequest?.(report);
      news()?.onEvent({ kind: 'request', ...report });
    },
  };
}

/** Tell the fleet of an export in this process until `leave`; undefined without Redis. */
export async function tellOfRun(app: App, log: Log) {
  const { redis: connection } = app;
  if (connection === undefined) return undefined;
  const { tellFleet } = await import('./fleet-news.ts');
  return tellFleet({ app, connection, log, role: 'run' });
}
