/** What several variables say together. */
import type { Settings, VariableName } from './variables.ts';

export interface TracingSettings {
  readonly url: string;
  /** They may hold secrets. A function where they may change. */
  readonly headers: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
}

/** Undefined: nothing is traced. By OpenTelemetry's rule the address for traces is taken as it is. */
export function tracingSettings(settings: Partial<Settings>) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = settings;
  const url = own ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || settings.OTEL_SDK_DISABLED) return undefined;
  const setting = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const headers = Object.fromEntries(settings.OTEL_EXPORTER_OTLP_HEADERS ?? []);
  return { setting, url, headers } as const satisfies TracingSettings & { setting: VariableName };
}

export interface LineageSettings {
  readonly url: string;
  readonly key: string | undefined;
}

/** Where events of OpenLineage are sent; undefined: none are. */
export function lineageSettings(settings: Partial<Settings>): LineageSettings | undefined {
  const { OPENLINEAGE_URL: base, OPENLINEAGE_ENDPOINT: path = '', OPENLINEAGE_API_KEY: key } = settings;
  if (base === undefined) return undefined;
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
  return { url: url.href, key };
}

/** Where and how messages are sent; undefined: nobody is told. */
export function webhookSettings(
  settings: Pick<Settings, 'NOTIFY_URL' | 'NOTIFY_SECRET' | 'NOTIFY_FORMAT' | 'REDIS_PREFIX'>,
) {
  const { NOTIFY_URL: url, NOTIFY_SECRET: secret, NOTIFY_FORMAT: format, REDIS_PREFIX: name } = settings;
  // Deployments that share a Redis differ by their prefix; the others are told apart by where they send.
  return url === undefined ? undefined : { url, secret, format, name };
}

/** The provider at which people sign in with their own names; undefined: none. */
export function providerSettings(settings: Partial<Settings>) {
  const { WEB_OIDC_ISSUER: issuer, WEB_OIDC_CLIENT_ID: clientId, PUBLIC_URL } = settings;
  const { WEB_OIDC_CLIENT_SECRET: clientSecret, WEB_OIDC_SCOPE: scope = 'openid' } = settings;
  const { WEB_OIDC_NAME_CLAIM: nameClaim = 'sub', WEB_OIDC_GROUPS_CLAIM: groupsClaim = 'groups' } = settings;
  if (!issuer || !clientId || !clientSecret || !PUBLIC_URL) return undefined;
  const redirectUri = `${PUBLIC_URL}/api/session/provider/return`;
  return { issuer, clientId, clientSecret, scope, nameClaim, groupsClaim, redirectUri };
}
