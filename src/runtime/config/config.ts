/** Environment and job files → one frozen Config, or one ConfigError that lists every fault. */
import { ConfigError } from '../../core/errors.ts';
import { cleanMessage, type Job, type Log } from '../../core/model/index.ts';
import { pickJobs as jobsNamed } from '../../core/names.ts';
import { followSecrets } from '../../core/process/secret-file.ts';
import type { EnvFile, Environment, Origin } from './environment.ts';
import { formerVariables, misspelledVariables, readEnvironment, show } from './environment.ts';
import { defineJobs, type JobDefinition, type ReadJobs, readJobs } from './jobs.ts';
import { jointFaults } from './joint-faults.ts';
import { type Settings, VARIABLES, type VariableName } from './variables.ts';

export interface Config {
  readonly settings: Settings;
  readonly origins: Readonly<Partial<Record<VariableName, Origin>>>;
  readonly jobs: readonly Job[];
  /** The settings as their `…_FILE` have them now; what cannot be read stays as it was, and the log says so. */
  readonly current: (log: Log) => Settings;
}

const SERVICE_SETTINGS = [
  'QUERY_BASE_URL',
  'QUERY_AUTH_URL',
  'QUERY_CLIENT_ID',
  'QUERY_CLIENT_SECRET',
] as const;

/** A Config for looking at the lake: what is needed to ask the service may be missing. */
export interface LakeConfig extends Pick<Config, 'jobs'> {
  readonly settings: Omit<Settings, (typeof SERVICE_SETTINGS)[number]> &
    Partial<Pick<Settings, 'QUERY_BASE_URL'>>;
  readonly current: (log: Log) => LakeConfig['settings'];
}

/** Jobs by name, in the place of the files in JOBS_DIR. */
export type JobDefinitions = Readonly<Record<string, JobDefinition>>;

/** The effective configuration. Throws ConfigError `configuration` that names every fault at once. */
export function loadConfig(env: Environment, definitions?: JobDefinitions, envFile?: EnvFile): Config {
  return load(env, new Set(), definitions, envFile);
}

export function loadLakeConfig(
  env: Environment,
  definitions?: JobDefinitions,
  envFile?: EnvFile,
): LakeConfig {
  return load(env, new Set(SERVICE_SETTINGS), definitions, envFile);
}

/** A Config for asking the service what it has: there may be no lake yet, and no job that is right. */
export interface ServiceConfig {
  readonly settings: Omit<Settings, 'LAKE_URL'>;
  readonly current: (log: Log) => ServiceConfig['settings'];
  readonly jobs: readonly Job[];
  readonly jobFaults: readonly string[];
}

export function loadServiceConfig(env: Environment, envFile?: EnvFile): ServiceConfig {
  const read = readEnvironment(env, new Set(), envFile).settings;
  const { settings, current } = load({ ...env, LAKE_URL: undefined }, new Set(['LAKE_URL']), {}, envFile);
  const { jobs, faults: jobFaults } = jobsIn(read);
  return { settings, current, jobs, jobFaults: cleanFaults(jobFaults) };
}

function load(
  env: Environment,
  mayBeMissing: ReadonlySet<VariableName>,
  definitions: JobDefinitions | undefined,
  envFile: EnvFile | undefined,
): Config {
  const { settings, origins, faults } = readEnvironment(env, mayBeMissing, envFile);
  const jobs = definitions === undefined ? jobsIn(settings) : defineJobs(definitions);
  const all = cleanFaults([...faults, ...jobs.faults]);
  if (all.length > 0) {
    const count = all.length === 1 ? 'one fault' : `${all.length} faults`;
    const listed = all.map((fault) => `  - ${fault}`).join('\n');
    const next = "'vessel-export config' shows every setting and its meaning.";
    throw new ConfigError('configuration', `${count} in the settings:\n${listed}\n${next}`);
  }
  const current = followSecrets(FILE_SETTINGS, env, settings as Settings, (last, now) => {
    const read = readEnvironment(now, ALL_SETTINGS, envFile, last);
    const found = { ...read.settings, ...read.wrong };
    const isGone = (name: VariableName) => last[name] !== undefined && !(name in found);
    const gone = FILE_SETTINGS.filter((name) => now[`${name}_FILE`] && isGone(name));
    const empty = gone.map((name) => `${name}_FILE: '${now[`${name}_FILE`]}' is empty`);
    const value = fittingSettings(last, read.settings, now);
    return { value, faults: cleanFaults([...read.faults, ...empty]) };
  });
  return Object.freeze({ settings: settings as Settings, origins, jobs: jobs.jobs, current });
}

/** `last` with what is new, but for what would be wrong together with what stays. */
function fittingSettings(last: Settings, read: Partial<Settings>, env: Environment): Settings {
  const faultsOf = (settings: Settings) => jointFaults(settings, env).length;
  let fitting = { ...last, ...read };
  for (const name of FILE_SETTINGS) {
    const without = { ...fitting, [name]: last[name] };
    if (faultsOf(without) < faultsOf(fitting)) fitting = without;
  }
  return faultsOf(fitting) <= faultsOf(last) ? fitting : last;
}

const ALL_SETTINGS: ReadonlySet<VariableName> = new Set(VARIABLES.map(({ name }) => name));
const FILE_SETTINGS = VARIABLES.flatMap(({ name, fromFile }) => (fromFile ? [name] : []));

/** One line each: they hold what files and variables say. */
function cleanFaults(faults: readonly string[]): string[] {
  return faults.map((fault) => cleanMessage(fault));
}

function jobsIn({ JOBS_DIR: folder, JOBS_EXCLUDED: excluded }: Partial<Settings>): ReadJobs {
  return folder === undefined ? { jobs: [], faults: [] } : readJobs(folder, excluded);
}

/** The jobs with these names, all when none is named. Throws ConfigError for a name that does not exist. */
export function pickJobs({ jobs, settings }: LakeConfig, names: readonly string[]): Job[] {
  const { JOBS_DIR, JOBS_EXCLUDED: excluded = [] } = settings;
  const left = excluded.length === 0 ? '' : ` without those of JOBS_EXCLUDED (${excluded.join(', ')})`;
  return jobsNamed(jobs, names, `in ${JOBS_DIR}${left}`);
}

/** Settings and jobs as far as they can be read, with every fault, for those who go on in spite of it. */
export interface SurveyedConfig {
  readonly settings: Partial<Settings>;
  readonly jobs: readonly Job[];
  readonly faults: readonly string[];
  /** What is probably misspelt, and what is wrong with the file of settings. */
  readonly warnings: readonly string[];
}

export function surveyConfig(env: Environment, envFile?: EnvFile): SurveyedConfig {
  const { settings, faults } = readEnvironment(env, new Set(), envFile);
  const jobs = jobsIn(settings);
  const misspelt = misspelledVariables(env).map(
    ([found, meant]) => `${found} is set and no setting; did you mean ${meant}?`,
  );
  const warnings = cleanFaults([...formerVariables(env), ...misspelt, ...(envFile?.warnings ?? [])]);
  return { settings, jobs: jobs.jobs, faults: cleanFaults([...faults, ...jobs.faults]), warnings };
}

/** The same, with every variable for people to see: secrets masked, null where it is not set or cannot be read. */
export function showSettings(env: Environment, envFile?: EnvFile) {
  const { settings, origins, wrong } = readEnvironment(env, new Set(), envFile);
  const shown = VARIABLES.map((variable) => {
    const { name, meaning } = variable;
    const bad = wrong[name];
    const text = bad?.shown ?? (settings[name] === undefined ? null : show(variable, String(settings[name])));
    const origin: string = bad?.origin ?? origins[name] ?? 'not set';
    return { name, value: text?.replace(/^'|'$/g, '') ?? null, valid: bad === undefined, origin, meaning };
  });
  return { ...surveyConfig(env, envFile), settings: shown };
}
