/** The page of a process of the fleet, opened at its first request. */
import type { Log } from '../../core/model/index.ts';
import { readNetworks } from '../../core/model/web-address.ts';
import { readVersion } from '../../core/version.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import type { Config, LakeConfig } from '../../runtime/config/config.ts';
import { providerSettings } from '../../runtime/config/derived-settings.ts';
import type { Metrics } from '../../runtime/monitoring/metrics.ts';
import { createLazyPage } from '../../web/lazy-page.ts';
import type { WebAccess } from '../../web/ports.ts';

export function fleetPage({ current, jobs }: Config, log: Log) {
  return (fleet: Fleet, metrics: Metrics) => {
    const { store, clock, self, apiVersion } = fleet.app.ports;
    const onLoginFailed: WebAccess['onLoginFailed'] = (outcome) =>
      metrics.onEvent({ kind: 'web-login-failed', outcome });
    const access = () => ({ ...webAccess(current(log)), onLoginFailed });
    const ports = { store, jobs, clock, log, self, apiVersion, fleet, version: readVersion() };
    return createLazyPage(access, log, ports);
  };
}

export function webAccess(settings: LakeConfig['settings']): WebAccess {
  const { HTTP_HOST, LAKE_URL, PUBLIC_URL, TRUSTED_PROXY } = settings;
  return {
    host: HTTP_HOST,
    readPassword: settings.WEB_READ_PASSWORD,
    actPassword: settings.WEB_ACT_PASSWORD,
    named: namedPeople(settings),
    isProxy: TRUSTED_PROXY === undefined ? undefined : readNetworks(TRUSTED_PROXY),
    isHttps: PUBLIC_URL?.startsWith('https:') === true,
    lakeUrl: LAKE_URL,
  };
}

function namedPeople(settings: LakeConfig['settings']): WebAccess['named'] {
  const { WEB_USER_HEADER: user, WEB_GROUPS_HEADER: groups } = settings;
  const { WEB_READ_GROUPS: readGroups, WEB_ACT_GROUPS: actGroups = [] } = settings;
  const provider = providerSettings(settings);
  if (user === undefined && provider === undefined) return undefined;
  return { provider, readGroups, actGroups, headers: user === undefined ? undefined : { user, groups } };
}
