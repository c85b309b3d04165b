/** Environment → settings; every fault is gathered, none thrown. */
import { maskUrl } from '../../core/model/web-address.ts';
import { nearestName } from '../../core/names.ts';
import { type Environment, findSecret } from '../../core/process/secret-file.ts';
import { jointFaults } from './joint-faults.ts';
import type { Variable } from './variable.ts';
import { FORMER_VARIABLES, type Settings, VARIABLES, type VariableName } from './variables.ts';

export type { Environment };

export interface EnvFile {
  readonly path: string;
  readonly names: ReadonlySet<string>;
  /** What is worth a word, and stops nothing. */
  readonly warnings: readonly string[];
}

export type Origin = 'environment' | 'default' | 'demo' | `file ${string}`;

interface ReadEnvironment {
  readonly settings: Partial<Settings>;
  readonly origins: Partial<Record<VariableName, Origin>>;
  readonly faults: string[];
  /** What is set but cannot be used, as it may be shown; absent where it cannot be read. */
  readonly wrong: Partial<Record<VariableName, { readonly origin: Origin; readonly shown?: string }>>;
}

const KNOWN_NAMES = new Set(
  VARIABLES.flatMap(({ name, fromFile }) => (fromFile ? [name, `${name}_FILE`] : [name])),
);

/** Reads every variable; an empty value counts as not set. `others` are held against what is read where there is no other. */
export function readEnvironment(
  env: Environment,
  mayBeMissing: ReadonlySet<VariableName> = new Set(),
  envFile?: EnvFile,
  others: Partial<Settings> = {},
): ReadEnvironment {
  const settings: Record<string, unknown> = {};
  const { origins, wrong, faults }: Omit<ReadEnvironment, 'settings'> = {
    origins: {},
    wrong: {},
    faults: [],
  };
  for (const variable of VARIABLES) {
    if (mayBeMissing.has(variable.name) && !isSet(variable, env)) continue;
    const found = findText(variable, env, envFile);
    if (found === undefined) continue;
    if ('fault' in found) {
      faults.push(found.fault);
      if (found.origin !== undefined) wrong[variable.name] = { origin: found.origin };
      continue;
    }
    // Whatever the file is, what is in it may be a secret.
    const shown =
      found.origin === 'environment' || envFile?.names.has(variable.name)
        ? show(variable, found.text)
        : `${found.text.length} characters`;
    const parsed = variable.schema.safeParse(found.text);
    if (!parsed.success) {
      const expected = [variable.rule, variable.advice?.(found.text) ?? []].flat().join('; ');
      faults.push(`${variable.name} (${found.origin}): got ${shown}, expected ${expected}`);
      wrong[variable.name] = { origin: found.origin, shown };
      continue;
    }
    settings[variable.name] = parsed.data;
    origins[variable.name] = found.origin;
  }
  const typed = settings as Partial<Settings>;
  for (const [setting, fault] of jointFaults({ ...others, ...typed }, env)) {
    faults.push(fault);
    const variable = VARIABLES.find(({ name }) => name === setting)!;
    wrong[setting] ??= {
      origin: origins[setting] ?? 'environment',
      shown: show(variable, String(settings[setting] ?? others[setting])),
    };
    // Nobody who goes on in spite of it uses it.
    delete settings[setting];
  }
  return { settings: typed, origins, faults, wrong };
}

/** Variables that are set and are none of ours, but nearly, with the one that was meant. */
export function misspelledVariables(env: Environment): [found: string, meant: string][] {
  return Object.keys(env).flatMap((name) => {
    const meant = env[name] && !KNOWN_NAMES.has(name) ? nearestName(name, KNOWN_NAMES, 1) : undefined;
    return meant === undefined ? [] : [[name, meant] as [string, string]];
  });
}

/** What is set and no setting any more, with what took its place. */
export function formerVariables(env: Environment): string[] {
  return Object.entries(FORMER_VARIABLES).flatMap(([name, instead]) =>
    [name, `${name}_FILE`]
      .filter((found) => env[found])
      .map((found) => `${found} is set and no setting any more: ${instead}`),
  );
}

function isSet({ name }: Row, env: Environment): boolean {
  return Boolean(env[name] || env[`${name}_FILE`]);
}

type Row = (typeof VARIABLES)[number];
type Found = { text: string; origin: Origin } | { fault: string; origin?: Origin };

function findText(variable: Row, env: Environment, envFile: EnvFile | undefined): Found | undefined {
  const { name } = variable;
  const origin = envFile?.names.has(name) ? (`file ${envFile.path}` as const) : 'environment';
  if (variable.fromFile === true) {
    const found = findSecret(name, env);
    if (found !== undefined && ('fault' in found || found.text !== ''))
      return found.origin === 'environment' ? { ...found, origin } : found;
    // An empty file counts as not set, as an empty variable does.
    if (found !== undefined && variable.optional !== true) {
      const fault = `${name} (${found.origin}): it is empty, expected ${variable.rule}`;
      return { fault, origin: found.origin };
    }
  } else if (env[name]) {
    return { text: env[name], origin };
  }
  const fallback = variable.fallback?.();
  if (fallback !== undefined) return { text: fallback, origin: 'default' };
  if (variable.optional === true) return undefined;
  const places = variable.fromFile === true ? `${name} or ${name}_FILE` : name;
  const near = misspelledVariables(env).filter(([, meant]) => meant === name || meant === `${name}_FILE`);
  const hint = near.map(([found]) => `; ${found} is set: did you mean this?`).join('');
  return {
    fault: `${name}: not set, expected ${variable.rule}; set ${places} in the environment or in .env (${variable.meaning})${hint}`,
  };
}

/** A value as it may be shown: secrets masked, passwords in URLs too. */
export function show(variable: Pick<Variable, 'secret'>, text: string): string {
  if (variable.secret === true) return '***';
  return `'${maskUrl(text).slice(0, 200)}'`;
}

const AWS_SECRETS = ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
const AZURE_SECRETS = ['AZURE_CLIENT_SECRET', 'AZURE_CLIENT_CERTIFICATE_PASSWORD', 'AZURE_PASSWORD'];
const OTHER_SECRETS = [...AWS_SECRETS, ...AZURE_SECRETS, 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];

/** Is the value of a variable one, or does it have one in it? */
export function holdsSecret(name: string, value: string): boolean {
  const isOurs = VARIABLES.some((variable) => variable.name === name && variable.secret === true);
  return value !== '' && (isOurs || OTHER_SECRETS.includes(name) || maskUrl(value) !== value);
}
