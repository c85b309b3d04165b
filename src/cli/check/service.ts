/** Checks the query service: whether it is reachable and accepts the credentials, its version, and its clock. */
import { codeOf, HttpStatusError, messageOf } from '../../core/errors.ts';
import { API_VERSION_ENDS, API_VERSIONS, type ApiVersion, type Clock } from '../../core/model/index.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import { type ClientOptions, createQueryClient, type QueryClient } from '../../source/fetch/client.ts';
import { createConcurrencyLimit } from '../../source/fetch/concurrency-limit.ts';
import { createRateLimit } from '../../source/fetch/rate-limit.ts';
import { CLOCK_TOLERANCE_MS } from '../../source/fetch/server-clock.ts';
import { checkNetwork } from './network.ts';
import type { CheckResult, Finding } from './result.ts';
import { failed, faultOf, PATIENCE_MS, resultsOf, skipped, warning } from './result.ts';

export const SERVICE_SETTINGS = [
  ...(['QUERY_BASE_URL', 'QUERY_AUTH_URL', 'QUERY_CLIENT_ID'] as const),
  ...(['QUERY_CLIENT_SECRET', 'QUERY_API_VERSION'] as const),
];
export type ServiceSettings = Pick<Settings, (typeof SERVICE_SETTINGS)[number]>;

const resultOf = resultsOf('service');

/** The checks that follow once the service is reachable, in this order. */
const ASKED = ['token', 'metadata', 'api-version', 'clock'] as const;

/** Requests the metadata of one expression after the other until one matches. There are no retries, and nothing outlasts PATIENCE_MS. */
export async function* checkService(
  settings: ServiceSettings,
  expressions: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<CheckResult> {
  let isReached = true;
  for (const [setting, url] of originsOf(settings))
    for await (const result of checkNetwork(url, setting, clock)) {
      isReached &&= result.state !== 'failed';
      yield result;
    }
  if (!isReached) {
    for (const check of ASKED) yield resultOf(check, skipped('the service was not reached'));
    return;
  }
  yield* ask(settings, expressions, clock, signal);
}

function originsOf({ QUERY_BASE_URL, QUERY_AUTH_URL }: ServiceSettings): [setting: string, url: URL][] {
  const [base, auth] = [new URL(QUERY_BASE_URL), new URL(QUERY_AUTH_URL)];
  const same = { 'QUERY_BASE_URL and QUERY_AUTH_URL': base };
  return Object.entries(base.origin === auth.origin ? same : { QUERY_AUTH_URL: auth, QUERY_BASE_URL: base });
}

type QuickClientOptions = Readonly<{ patienceMs: number; limit: number }> & Pick<ClientOptions, 'onRequest'>;

/** A client without retries. */
export function openQuickClient(
  settings: ServiceSettings,
  clock: Clock,
  { patienceMs, limit, onRequest = () => {} }: QuickClientOptions,
): QueryClient {
  const rateLimit = createRateLimit({ perMinute: undefined, clock });
  const { QUERY_BASE_URL: baseUrl, QUERY_AUTH_URL: authUrl, QUERY_API_VERSION: apiVersion } = settings;
  const { QUERY_CLIENT_ID: clientId, QUERY_CLIENT_SECRET: clientSecret } = settings;
  return createQueryClient({
    ...{ baseUrl, authUrl, clientId, clientSecret, apiVersion },
    ...{ rateLimit, clock, random: Math.random, failFast: true },
    concurrencyLimit: createConcurrencyLimit({ limit, rateLimit, clock }),
    limits: {
      ...{ headersTimeoutMs: patienceMs, idleTimeoutMs: patienceMs, maxErrorBodyMs: patienceMs },
      retry: { maxAttempts: 1, maxLimitedMs: 0 },
    },
    onRequest,
  });
}

async function* ask(
  settings: ServiceSettings,
  expressions: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<CheckResult> {
  const { QUERY_API_VERSION: version } = settings;
  let isAuthorized = false;
  const client = openQuickClient(settings, clock, {
    ...{ patienceMs: PATIENCE_MS, limit: 1 },
    onRequest: () => {
      isAuthorized = true;
    },
  });
  try {
    let fault: unknown;
    let expression = '';
    for (expression of expressions) {
      fault = await askMetadata(client, expression, signal);
      if (!isNothing(fault)) break;
    }
    // Cancelled by the user, not by the service.
    signal.throwIfAborted();
    const token = `${new URL(settings.QUERY_AUTH_URL).host} gives an access token`;
    const clockResult = resultOf('clock', checkClock(client.serverNowMs(), clock.nowMs()));
    if (fault === undefined) {
      yield resultOf('token', token);
      yield resultOf('metadata', `the service answers for ${expression}`);
      yield resultOf('api-version', checkVersion(version, clock.nowMs()));
      yield clockResult;
      return;
    }
    // A new token that the service refuses is a fault of the credentials too.
    const [check, ...rest] = ASKED.slice(
      !isAuthorized || codeOf(fault) === 'credentials-refused' ? 0 : isOfVersion(fault) ? 2 : 1,
    );
    if (check !== 'token') yield resultOf('token', token);
    if (check === 'api-version') yield resultOf('metadata', 'the service answers');
    yield isNothing(fault)
      ? resultOf('metadata', nothingFound(settings, fault))
      : resultOf(check!, faultOf(fault));
    for (const name of rest)
      yield name === 'clock' && client.serverNowMs() !== undefined
        ? clockResult
        : resultOf(name, skipped(`${check} has failed`));
  } finally {
    await client.close();
  }
}

async function askMetadata(client: QueryClient, expression: string, signal: AbortSignal): Promise<unknown> {
  try {
    await client.exchange(
      () => ({ family: 'metadata', expressions: [expression], format: 'json' }),
      async ({ body }) => {
        // The first bytes are enough; leaving the loop ends the body, which may be that of a whole fleet.
        for await (const _ of body) return;
      },
      { signal },
    );
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

function isOfVersion(fault: unknown): boolean {
  if (codeOf(fault) === 'wrong-api-version') return true;
  return fault instanceof HttpStatusError && fault.status === 400 && /version/i.test(messageOf(fault));
}

function isNothing(fault: unknown): boolean {
  return fault instanceof HttpStatusError && fault.status === 404;
}

/** A tenant that does not exist cannot be distinguished from one without readable series. */
function nothingFound({ QUERY_BASE_URL }: ServiceSettings, fault: unknown): Finding {
  const tenant = new URL(QUERY_BASE_URL).pathname.slice(1);
  const segment = tenant === '' ? 'it has no tenant segment' : `is '${tenant}' the tenant?`;
  const advice = 'check what the credentials may read, too';
  return failed('not-found', `${messageOf(fault)} (${segment}); ${advice}`);
}

const MONTHS_AHEAD = 6;

function checkVersion(version: ApiVersion, nowMs: number): Finding {
  const end = API_VERSION_ENDS[version];
  if (end === undefined) return `the service answers in version ${version}, which has no end that is known`;
  const warnFrom = new Date(`${end}T00:00:00Z`);
  warnFrom.setUTCMonth(warnFrom.getUTCMonth() - MONTHS_AHEAD);
  const found = `the service answers in version ${version}, which is deactivated after ${end}`;
  if (nowMs < warnFrom.getTime()) return found;
  const newer = API_VERSIONS.filter((one) => API_VERSION_ENDS[one] === undefined)[0];
  return warning('version-ends', `${found}: set QUERY_API_VERSION=${newer} before`);
}

function checkClock(serviceMs: number | undefined, nowMs: number): Finding {
  const unknown = "the service does not say what time it is, so this machine's clock cannot be compared";
  if (serviceMs === undefined) return warning('no-time', unknown);
  const apartMs = Math.abs(nowMs - serviceMs);
  const seconds = Math.round(apartMs / 1_000);
  const apart = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60).toLocaleString('en-US')} min`;
  // Responses have their time in whole seconds.
  if (seconds <= 1) return "this machine's clock is the service's";
  if (apartMs <= CLOCK_TOLERANCE_MS) return `this machine's clock is ${apart} from the service's`;
  const found = `this machine's clock is ${apart} ${nowMs > serviceMs ? 'ahead of' : 'behind'} the service's`;
  return failed(
    'clock-skew',
    `${found} (${new Date(nowMs).toISOString()} here, ${new Date(serviceMs).toISOString()} there): correct it, for example with NTP, or inform the operator of the service; a day is due when it is over by both clocks`,
  );
}
