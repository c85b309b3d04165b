/** What is wrong with settings together. Every address that a secret is sent to is held against one rule: none goes in clear. */
import { isInClear, isTls, readWebAddress } from '../../core/model/web-address.ts';
import { type Environment, findSecret, isPipe } from '../../core/process/secret-file.ts';
import { azureExposure } from '../../store/azure/settings.ts';
import { readLakeUrl } from '../../store/open-store.ts';
import { s3Endpoint } from '../../store/s3/settings.ts';
import { lineageSettings, tracingSettings } from './derived-settings.ts';
import type { Settings, VariableName } from './variables.ts';

type JointFault = readonly [setting: VariableName, fault: string];

export function jointFaults(settings: Partial<Settings>, env: Environment): JointFault[] {
  const faults = [...redisFaults(settings), ...s3Faults(settings), ...webFaults(settings)];
  const named = faults.map(([setting, fault]): JointFault => [setting, `${setting}: ${fault}`]);
  return [...named, ...inClearFaults(settings, env)];
}

function redisFaults({ REDIS_PASSWORD, REDIS_URL }: Partial<Settings>): JointFault[] {
  if (REDIS_PASSWORD === undefined || !REDIS_URL || new URL(REDIS_URL).password === '') return [];
  return [['REDIS_PASSWORD', 'set, and REDIS_URL holds a password too, expected one of them']];
}

function s3Faults({ S3_SSE: sse, S3_SSE_KMS_KEY_ID: key }: Partial<Settings>): JointFault[] {
  if (key === undefined || (sse !== undefined && sse !== 'AES256')) return [];
  const found = sse === undefined ? 'is not set' : `is ${sse}`;
  return [['S3_SSE_KMS_KEY_ID', `names a key, and S3_SSE ${found}, expected S3_SSE=aws:kms`]];
}

function webFaults(settings: Partial<Settings>): JointFault[] {
  const faults: JointFault[] = [];
  const isMissing = (name: VariableName) => settings[name] === undefined;
  const needs = (name: VariableName, ...needed: readonly VariableName[]) => {
    const missing = isMissing(name) ? [] : needed.filter(isMissing);
    if (missing.length > 0) faults.push([name, `set without ${missing.join(', ')}, expected these too`]);
  };
  const { WEB_READ_PASSWORD, WEB_ACT_PASSWORD, WEB_OIDC_ISSUER, PUBLIC_URL } = settings;
  if (WEB_ACT_PASSWORD !== undefined && WEB_ACT_PASSWORD === WEB_READ_PASSWORD)
    faults.push([
      'WEB_ACT_PASSWORD',
      'equal to WEB_READ_PASSWORD, so that every viewer could act, expected another password',
    ]);
  needs('WEB_USER_HEADER', 'TRUSTED_PROXY');
  needs('WEB_GROUPS_HEADER', 'WEB_USER_HEADER');
  needs('WEB_OIDC_ISSUER', 'WEB_OIDC_CLIENT_ID', 'WEB_OIDC_CLIENT_SECRET', 'PUBLIC_URL');
  needs('WEB_OIDC_CLIENT_ID', 'WEB_OIDC_ISSUER');
  needs('WEB_OIDC_CLIENT_SECRET', 'WEB_OIDC_ISSUER');
  for (const name of ['WEB_READ_GROUPS', 'WEB_ACT_GROUPS'] as const)
    if (!isMissing(name) && isMissing('WEB_OIDC_ISSUER') && isMissing('WEB_USER_HEADER'))
      faults.push([name, 'set, but nothing names users, expected WEB_OIDC_ISSUER or WEB_USER_HEADER too']);
  if (WEB_OIDC_ISSUER !== undefined && PUBLIC_URL !== undefined && isInClear(new URL(PUBLIC_URL)))
    faults.push([
      'PUBLIC_URL',
      `got plain http to '${new URL(PUBLIC_URL).host}', which would show codes and cookies to the network; expected https`,
    ]);
  return faults;
}

interface SecretAddress {
  /** The variable that holds the address, and the setting that cannot be used where the address cannot. */
  readonly name: string;
  readonly setting: VariableName;
  readonly url: URL;
}

function* secretAddresses(settings: Partial<Settings>, env: Environment): Generator<SecretAddress> {
  const { QUERY_BASE_URL, QUERY_AUTH_URL, NOTIFY_URL, WEB_OIDC_ISSUER, REDIS_URL, LAKE_URL } = settings;
  const of = (name: VariableName, text: string) => ({ name, setting: name, url: new URL(text) });
  // That of a webhook is often a secret itself.
  const always = { QUERY_BASE_URL, QUERY_AUTH_URL, NOTIFY_URL, WEB_OIDC_ISSUER };
  for (const [name, text] of Object.entries(always))
    if (text !== undefined) yield of(name as VariableName, text);
  if (REDIS_URL !== undefined && (new URL(REDIS_URL).password || settings.REDIS_PASSWORD))
    yield of('REDIS_URL', REDIS_URL);
  const traces = tracingSettings(settings);
  if (traces !== undefined) {
    const { username, password } = new URL(traces.url);
    const hasHeaders = Object.keys(traces.headers).length > 0 || env.OTEL_EXPORTER_OTLP_TRACES_HEADERS;
    if (hasHeaders || username || password) yield of(traces.setting, traces.url);
  }
  const lineage = lineageSettings(settings);
  if (lineage !== undefined) {
    const { username, password } = new URL(lineage.url);
    if (lineage.key || username || password) yield of('OPENLINEAGE_URL', lineage.url);
  }
  // The secret key only signs; a session token is sent along.
  if (LAKE_URL?.startsWith('s3:') && hasSessionToken(env)) {
    const { name, value } = s3Endpoint(env) ?? { name: 'LAKE_URL', value: 'https://s3.amazonaws.com' };
    const url = readWebAddress(value);
    if (url !== undefined) yield { name, setting: 'LAKE_URL', url };
  }
  const lake = LAKE_URL === undefined ? undefined : readLakeUrl(LAKE_URL);
  if (lake !== undefined && 'container' in lake) {
    const endpoint = azureExposure(env, lake.named);
    if (endpoint !== undefined)
      yield { name: 'AZURE_STORAGE_ENDPOINT', setting: 'LAKE_URL', url: new URL(endpoint) };
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
function inClearFaults(settings: Partial<Settings>, env: Environment): JointFault[] {
  const allowed = (settings.QUERY_ALLOW_HTTP ?? []).filter((host) => host !== '0');
  const isTlsChecked = env.NODE_TLS_REJECT_UNAUTHORIZED !== '0';
  return [...secretAddresses(settings, env)].flatMap(({ name, setting, url }): JointFault[] => {
    const hostname = url.hostname.toLowerCase();
    // No host is excused to which others send what they sign in with.
    const mayBeAllowed = setting !== 'WEB_OIDC_ISSUER';
    const isMeant = mayBeAllowed && (allowed.includes('1') || allowed.includes(hostname));
    if (isMeant || !isInClear(url, isTlsChecked)) return [];
    const scheme = url.protocol.slice(0, -1);
    const [found, expected] = isTls(url)
      ? [
          `no check of the certificate of '${url.host}' (NODE_TLS_REJECT_UNAUTHORIZED=0)`,
          'a certificate that is checked; name its issuer in NODE_EXTRA_CA_CERTS',
        ]
      : [`plain ${scheme} to '${url.host}'`, `${scheme}s`];
    const allow = mayBeAllowed ? `, or set QUERY_ALLOW_HTTP=${[...allowed, hostname].join(',')}` : '';
    const fault = `${name}: got ${found}, which would show secrets to the network; expected ${expected}${allow}`;
    return [[setting, fault]];
  });
}
