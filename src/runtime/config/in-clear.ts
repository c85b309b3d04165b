/** No secret over a network in clear: one rule for every setting whose address is sent one. */
import { isInClear, isTls, readWebAddress } from '../../core/model/web-address.ts';
import { type Environment, findSecret, isPipe } from '../../core/process/secret-file.ts';
import { s3Endpoint } from '../../store/s3/settings.ts';
import { tracingSettings } from './derived-settings.ts';
import type { Settings, VariableName } from './variables.ts';

interface Address {
  /** The variable that holds the address. */
  readonly name: string;
  /** The setting that cannot be used where the address cannot. */
  readonly setting: VariableName;
  readonly url: URL;
  /** No other host is excused: what others sign in with goes there. */
  readonly always?: true;
}

/** Addresses to which a secret is sent. */
function* secretAddresses(settings: Partial<Settings>, env: Environment): Generator<Address> {
  const { QUERY_BASE_URL, QUERY_AUTH_URL, NOTIFY_URL, REDIS_URL, LAKE_URL, WEB_OIDC_ISSUER } = settings;
  // That of a webhook is often a secret itself.
  for (const [setting, text] of Object.entries({ QUERY_BASE_URL, QUERY_AUTH_URL, NOTIFY_URL }))
    if (text !== undefined) yield { name: setting, setting: setting as VariableName, url: new URL(text) };
  if (WEB_OIDC_ISSUER !== undefined) {
    const name = 'WEB_OIDC_ISSUER';
    yield { name, setting: name, url: new URL(WEB_OIDC_ISSUER), always: true };
  }
  if (REDIS_URL !== undefined) {
    const url = new URL(REDIS_URL);
    if (url.password || settings.REDIS_PASSWORD) yield { name: 'REDIS_URL', setting: 'REDIS_URL', url };
  }
  const traces = tracingSettings(settings);
  if (traces !== undefined) {
    const url = new URL(traces.url);
    const hasHeaders = Object.keys(traces.headers).length > 0 || env.OTEL_EXPORTER_OTLP_TRACES_HEADERS;
    if (hasHeaders || url.username || url.password)
      yield { name: traces.setting, setting: traces.setting, url };
  }
  // The secret key only signs; a session token is sent along.
  if (LAKE_URL?.startsWith('s3:') && hasSessionToken(env)) {
    const { name, value } = s3Endpoint(env) ?? { name: 'LAKE_URL', value: 'https://s3.amazonaws.com' };
    const url = readWebAddress(value);
    if (url !== undefined) yield { name, setting: 'LAKE_URL', url };
  }
}

/** Keys of a role, which the SDK fetches where these are set, come with one. */
const ROLES = [
  ...['AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'],
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
];

function hasSessionToken(env: Environment): boolean {
  const isSet = (name: string) => {
    const path = env[`${name}_FILE`];
    // What comes from a pipe comes once, to the store.
    if (path && !env[name] && isPipe(path)) return true;
    const found = findSecret(name, env);
    return found !== undefined && 'text' in found && found.text !== '';
  };
  const isOfRole = !env.AWS_PROFILE && !isSet('AWS_ACCESS_KEY_ID') && ROLES.some((name) => env[name]);
  return isOfRole || isSet('AWS_SESSION_TOKEN');
}

/** A fault for each address that would show a secret to the network, unless QUERY_ALLOW_HTTP names its host. */
export function inClearFaults(
  settings: Partial<Settings>,
  env: Environment,
): { readonly setting: VariableName; readonly fault: string }[] {
  const allowed = (settings.QUERY_ALLOW_HTTP ?? []).filter((host) => host !== '0');
  const isTlsChecked = env.NODE_TLS_REJECT_UNAUTHORIZED !== '0';
  return [...secretAddresses(settings, env)].flatMap(({ name, setting, url, always }) => {
    const { protocol, host } = url;
    const hostname = url.hostname.toLowerCase();
    const isMeant = always !== true && (allowed.includes('1') || allowed.includes(hostname));
    if (isMeant || !isInClear(url, isTlsChecked)) return [];
    const scheme = protocol.slice(0, -1);
    const [found, expected] = isTls(url)
      ? [
          `no check of the certificate of '${host}' (NODE_TLS_REJECT_UNAUTHORIZED=0)`,
          'a certificate that is checked; name its issuer in NODE_EXTRA_CA_CERTS',
        ]
      : [`plain ${scheme} to '${host}'`, `${scheme}s`];
    const allow = always === true ? '' : `, or set QUERY_ALLOW_HTTP=${[...allowed, hostname].join(',')}`;
    const fault = `${name}: got ${found}, which would show secrets to the network; expected ${expected}${allow}`;
    return [{ setting, fault }];
  });
}
