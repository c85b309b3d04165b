/** Checks everything that an export needs: each subject by itself, so that a failure hides no other one. */
import { messageOf } from '../../core/errors.ts';
import { type Clock, FLAT_DOMAINS, type Job } from '../../core/model/index.ts';
import { openTempFolder } from '../../core/process/temp-folder.ts';
import type { SurveyedConfig } from '../../runtime/config/config.ts';
import { providerSettings } from '../../runtime/config/derived-settings.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import { expressionFor } from '../../source/series.ts';
import { checkJob } from './jobs.ts';
import { checkLake } from './lake.ts';
import { checkRedis } from './redis.ts';
import type { CheckResult } from './result.ts';
import { failed, faultOf, inTime, resultsOf, skipped, warning } from './result.ts';
import { checkService, openQuickClient, SERVICE_SETTINGS, type ServiceSettings } from './service.ts';

/** Metadata queries, one of which most services can answer: everything with a flat name. */
export const EVERYTHING: readonly string[] = FLAT_DOMAINS.map((domain) => `${domain}/*/*`);

interface Checked {
  readonly config: SurveyedConfig;
  readonly jobs: readonly Job[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** All results, in the order of the subjects; independent subjects are checked in parallel. */
export async function* checkAll(checked: Checked): AsyncGenerator<CheckResult> {
  const { config, jobs, clock, env, signal } = checked;
  const { LAKE_URL } = config.settings;
  const use = { settings: config.settings, jobs: jobs.map(({ name }) => name) };
  const subjects = [
    checkSettings(config),
    checkServiceAndJobs(checked),
    LAKE_URL === undefined ? notSet('lake', 'LAKE_URL') : checkLake(LAKE_URL, env, clock, signal, use),
    checkRedis(config.settings, clock),
    checkPage(config.settings, clock),
  ].map((results) => Array.fromAsync(results));
  const [settings, service, lake, redis, page] = await Promise.all(subjects);
  const { true: ofJobs = [], false: ofService = [] } = Object.groupBy(service!, ({ subject }) =>
    String(subject === 'jobs'),
  );
  yield* [...settings!, ...ofService, ...lake!, ...redis!, ...page!, ...ofJobs];
}

async function* notSet(subject: CheckResult['subject'], setting: string): AsyncGenerator<CheckResult> {
  yield resultsOf(subject)(subject, skipped(`${setting} is not set, or cannot be used`));
}

/** The service has answered already, so a longer time for a large fleet is no fault. */
const JOB_PATIENCE_MS = 60_000;

/** Only jobs that could be read: the faults of others are reported with the settings. */
async function* checkServiceAndJobs(checked: Checked): AsyncGenerator<CheckResult> {
  const { config, jobs, clock, signal } = checked;
  const { settings } = config;
  if (!hasService(settings))
    return yield* notSet('service', 'QUERY_BASE_URL, QUERY_AUTH_URL, QUERY_CLIENT_ID or QUERY_CLIENT_SECRET');
  let isReady = true;
  for await (const result of checkService(settings, expressionsOf(jobs), clock, signal)) {
    if (result.state === 'failed' && result.check !== 'clock') isReady = false;
    yield result;
  }
  if (!isReady) {
    for (const { name } of jobs) yield resultsOf('jobs')(name, skipped('the service cannot be reached'));
    return;
  }
  const { QUERY_MAX_CONCURRENCY: concurrency = 1 } = config.settings;
  const client = openQuickClient(settings, clock, { limit: concurrency, patienceMs: JOB_PATIENCE_MS });
  try {
    for (const job of jobs) yield* checkJob({ client, concurrency, signal }, job);
  } finally {
    await client.close();
  }
}

/** Expressions for a sample of series: a service may lack the domain of the first. */
function expressionsOf(jobs: readonly Job[]): string[] {
  const discovered = jobs.flatMap(({ vessels }) => ('discover' in vessels ? vessels.discover : []));
  const selected = jobs.flatMap(({ select, vessels }) =>
    'discover' in vessels ? [] : expressionFor(select[0]!, vessels[0]!),
  );
  return [...new Set([...discovered.slice(0, 1), ...EVERYTHING, ...selected.slice(0, 1)])];
}

function hasService(settings: Partial<Settings>): settings is ServiceSettings {
  return SERVICE_SETTINGS.every((name) => settings[name]);
}

async function* checkSettings(config: SurveyedConfig): AsyncGenerator<CheckResult> {
  const resultOf = resultsOf('settings');
  for (const fault of config.faults) yield resultOf('settings', failed('configuration', fault));
  for (const text of config.warnings) yield resultOf('settings', warning('configuration', text));
  const { length } = config.jobs;
  const files = length === 1 ? 'the job file' : `all ${length} job files`;
  if (config.faults.length === 0) yield resultOf('settings', `all settings can be used, and ${files}`);
  const { TEMP_DIR: path } = config.settings;
  if (path === undefined) return;
  try {
    const folder = await openTempFolder(path, 'check');
    await folder.remove();
    yield resultOf('temp-folder', `${path} can be written to`);
  } catch (error) {
    const found = `no folder can be made in '${path}' (${messageOf(error)})`;
    const advice = 'set TEMP_DIR to a folder that can be written to';
    yield resultOf('temp-folder', failed('temp-folder', `${found}: ${advice}`));
  }
}

/** The provider at which users sign in to the page; no result if none is set, because the page needs none. */
async function* checkPage(settings: Partial<Settings>, clock: Clock): AsyncGenerator<CheckResult> {
  const provider = providerSettings(settings);
  if (provider === undefined) return;
  const resultOf = resultsOf('page');
  try {
    const { openProvider } = await import('../../web/sign-in/openid.ts');
    await inTime(clock, provider.issuer, () => openProvider(provider));
    const unknown = `whether it knows the client, and ${provider.redirectUri}, shows when somebody does`;
    yield resultOf('provider', `${provider.issuer} says how people sign in there; ${unknown}`);
  } catch (thrown) {
    yield resultOf('provider', faultOf(thrown));
  }
}
