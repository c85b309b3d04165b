/** The page of a process of the fleet: opened when somebody first looks at it. */

import type { Config } from '../config/config.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Log } from '../model/index.ts';
import type { Metrics } from '../monitoring/metrics.ts';
import { readVersion } from '../version.ts';
import { createLazyPage } from '../web/lazy-page.ts';
import type { WebAccess } from '../web/ports.ts';

/** What `schedule` and `worker` show. */
export function fleetPage({ current, jobs }: Config, log: Log) {
  return (fleet: Fleet, metrics: Metrics) => {
    const { store, clock, self, apiVersion } = fleet.app.ports;
    const access = () => ({ ...webAccess(current(log)), onLoginFailed: metrics.onWebLoginFailed });
    const ports = { store, jobs, clock, log, self, apiVersion, fleet, version: readVersion() };
    return createLazyPage(access, log, ports);
  };
}

/** Who may see a page, by the settings. */
export function webAccess(
  settings: Pick<Config['settings'], 'HTTP_HOST' | 'LAKE_URL' | 'WEB_READ_PASSWORD' | 'WEB_ACT_PASSWORD'>,
): WebAccess {
  return {
    host: settings.HTTP_HOST,
    readPassword: settings.WEB_READ_PASSWORD,
    actPassword: settings.WEB_ACT_PASSWORD,
    lakeUrl: settings.LAKE_URL,
  };
}
