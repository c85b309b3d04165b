/** Environment → settings; every fault is gathered, none thrown. */
import { readFileSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import type { ApiVersion } from '../model/index.ts';
import type { Variable, VariableName } from './variables.ts';
import { VARIABLES } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where an effective setting came from. */
export type Origin = 'environment' | 'default' | 'demo' | `file ${string}`;

export interface Settings {
  readonly QUERY_BASE_URL: string;
  readonly QUERY_AUTH_URL: string;
  readonly QUERY_CLIENT_ID: string;
  readonly QUERY_CLIENT_SECRET: string;
  readonly QUERY_API_VERSION: ApiVersion;
  readonly QUERY_MAX_CONCURRENCY: number;
  readonly QUERY_MAX_REQUESTS_PER_MINUTE: number;
  readonly QUERY_PACE_GROUP: string;
  readonly QUERY_ALLOW_HTTP: boolean;
  readonly LAKE_URL: string;
  readonly REDIS_URL?: string;
  readonly REDIS_PREFIX: string;
  readonly WORKER_CONCURRENCY: number;
  readonly HTTP_HOST: string;
  readonly HTTP_PORT: number;
  readonly QUEUE_BOARD_PASSWORD?: string;
  readonly JOBS_DIR: string;
  readonly TEMP_DIR: string;
  readonly LOG_LEVEL: 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

export interface ReadEnvironment {
  readonly settings: Partial<Settings>;
  readonly origins: Readonly<Partial<Record<VariableName, Origin>>>;
  readonly faults: readonly string[];
}

/**
 * Read every variable of the table. An empty value counts as not set; those in `mayBeMissing` are then left out.
 */
export function readEnvironment(
  env: Environment,
  mayBeMissing: ReadonlySet<VariableName> = new Set(),
): ReadEnvironment {
  const settings: Record<string, unknown> = {};
  const origins: Partial<Record<VariableName, Origin>> = {};
  const faults: string[] = [];
  for (const variable of VARIABLES as readonly (Variable & { name: VariableName })[]) {
    if (mayBeMissing.has(variable.name) && !isSet(variable, env)) continue;
    const found = findText(variable, env);
    if (found === undefined) continue;
    if ('fault' in found) {
      faults.push(found.fault);
      continue;
    }
    const parsed = variable.schema.safeParse(found.text);
    if (!parsed.success) {
      faults.push(
        `${variable.name} (${found.origin}): got ${show(variable, found.text)}, expected ${variable.rule}`,
      );
      continue;
    }
    settings[variable.name] = parsed.data;
    origins[variable.name] = found.origin;
  }
  const typed = settings as Partial<Settings>;
  return { settings: typed, origins, faults: [...faults, ...plainHttpFaults(typed)] };
}

function isSet({ name }: Variable, env: Environment): boolean {
  return Boolean(env[name] || env[`${name}_FILE`]);
}

function findText(
  variable: Variable,
  env: Environment,
): { text: string; origin: Origin } | { fault: string } | undefined {
  const { name } = variable;
  const value = env[name] || undefined;
  const fileName = variable.fromFile === true ? env[`${name}_FILE`] || undefined : undefined;
  if (value !== undefined && fileName !== undefined) {
    return { fault: `${name} and ${name}_FILE: both are set, expected one of them` };
  }
  if (value !== undefined) return { text: value, origin: 'environment' };
  if (fileName !== undefined) return readSecretFile(name, fileName);
  const fallback = variable.fallback?.();
  if (fallback !== undefined) return { text: fallback, origin: 'default' };
  if (variable.optional === true) return undefined;
  const places = variable.fromFile === true ? `${name} or ${name}_FILE` : name;
  return {
    fault: `${name}: not set, expected ${variable.rule}; set ${places} in the environment (${variable.meaning})`,
  };
}

function readSecretFile(name: string, path: string): { text: string; origin: Origin } | { fault: string } {
  try {
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return { text, origin: `file ${path}` };
  } catch (error) {
    return { fault: `${name}_FILE: cannot read '${path}': ${messageOf(error)}` };
  }
}

/** A value as it may be shown: secrets masked, passwords in URLs too. */
export function show(variable: Pick<Variable, 'secret'>, text: string): string {
  if (variable.secret === true) return '***';
  return `'${text.replace(/(\/\/[^/@:]*):.*@/, '$1:***@').slice(0, 200)}'`;
}

/** Credentials travel in clear over http, so that is for this machine only. */
function plainHttpFaults(settings: Partial<Settings>): string[] {
  if (settings.QUERY_ALLOW_HTTP === true) return [];
  const names = ['QUERY_BASE_URL', 'QUERY_AUTH_URL'] as const;
  return names.flatMap((name) => {
    const text = settings[name];
    if (text === undefined || !text.startsWith('http:') || isLoopback(new URL(text).hostname)) return [];
    return [
      `${name}: got plain http to '${new URL(text).host}', which would show the credentials to the network; expected https, or set QUERY_ALLOW_HTTP=1`,
    ];
  });
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
