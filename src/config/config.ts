/** Environment and job files → one frozen Config, or one ConfigError that lists every fault. */
import { ConfigError } from '../errors.ts';
import type { Job } from '../model/index.ts';
import type { Environment, Origin, Settings } from './environment.ts';
import { readEnvironment, show } from './environment.ts';
import { readJobs } from './jobs.ts';
import type { Variable, VariableName } from './variables.ts';
import { VARIABLES } from './variables.ts';

export interface Config {
  readonly settings: Settings;
  readonly origins: Readonly<Partial<Record<VariableName, Origin>>>;
  readonly jobs: readonly Job[];
}

/** Settings without which nothing can be asked of the service. */
const SERVICE_SETTINGS = [
  'QUERY_BASE_URL',
  'QUERY_AUTH_URL',
  'QUERY_CLIENT_ID',
  'QUERY_CLIENT_SECRET',
] as const satisfies VariableName[];

/** A Config for looking at the lake: what is needed to ask the service may be missing. */
export interface LakeConfig extends Pick<Config, 'jobs'> {
  readonly settings: Omit<Settings, (typeof SERVICE_SETTINGS)[number]>;
}

/** The effective configuration. Throws ConfigError `configuration` that names every fault at once. */
export function loadConfig(env: Environment): Config {
  return load(env, new Set());
}

/** The same, for commands that ask nothing of the service. */
export function loadLakeConfig(env: Environment): LakeConfig {
  return load(env, new Set(SERVICE_SETTINGS));
}

function load(env: Environment, mayBeMissing: ReadonlySet<VariableName>): Config {
  const { settings, origins, faults } = readEnvironment(env, mayBeMissing);
  const jobs = settings.JOBS_DIR === undefined ? { jobs: [], faults: [] } : readJobs(settings.JOBS_DIR);
  const all = [...faults, ...jobs.faults];
  if (all.length > 0) {
    const count = all.length === 1 ? 'one fault' : `${all.length} faults`;
    throw new ConfigError(
      'configuration',
      `${count} in the settings:\n${all.map((fault) => `  - ${fault}`).join('\n')}\nSee 'vessel-export config' and the README's Settings.`,
    );
  }
  return Object.freeze({ settings: settings as Settings, origins, jobs: jobs.jobs });
}

/** The jobs with these names, all when none is named. Throws ConfigError for a name that does not exist. */
export function pickJobs(config: LakeConfig, names: readonly string[]): Job[] {
  const unknown = names.filter((name) => !config.jobs.some((job) => job.name === name));
  if (unknown.length > 0) {
    throw new ConfigError(
      'unknown-job',
      `no job '${unknown.join("', '")}' in ${config.settings.JOBS_DIR}; there are: ${config.jobs.map((job) => job.name).join(', ')}`,
    );
  }
  return config.jobs.filter((job) => names.length === 0 || names.includes(job.name));
}

/** One effective setting for people to see. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string | null;
  readonly origin: string;
  readonly meaning: string;
}

/** Every variable with its effective value, secrets masked, and where it came from; faults beside them. */
export function showSettings(env: Environment): {
  settings: ShownSetting[];
  jobs: readonly Job[];
  faults: string[];
} {
  const { settings, origins, faults } = readEnvironment(env);
  const shown = (VARIABLES as readonly (Variable & { name: VariableName })[]).map((variable) => {
    const value = settings[variable.name];
    return {
      name: variable.name,
      value: value === undefined ? null : show(variable, String(value)).replace(/^'|'$/g, ''),
      origin: origins[variable.name] ?? 'not set',
      meaning: variable.meaning,
    };
  });
  const jobs = settings.JOBS_DIR === undefined ? { jobs: [], faults: [] } : readJobs(settings.JOBS_DIR);
  return { settings: shown, jobs: jobs.jobs, faults: [...faults, ...jobs.faults] };
}
