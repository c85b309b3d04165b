/** `.env`: settings in a file. What the environment sets, even empty or in its other form (`NAME`, `NAME_FILE`), is never overridden. */
import { parseEnv } from 'node:util';
import { ConfigError } from '../../core/errors.ts';
import { cleanForeignText } from '../../core/model/index.ts';
import { readSmallText } from '../../core/process/small-file.ts';
import { type EnvFile, type Environment, holdsSecret } from './environment.ts';

export const ENV_FILE = '.env';
const MAX_FILE_BYTES = 256 << 10;
const NAME = /^[A-Za-z_][\w.-]*$/;

/** Adds a file to an environment. `path` undefined: `.env` if there is one; false: none. Throws ConfigError `env-file`. */
export function withEnvFile(
  env: Environment,
  path: string | false | undefined,
): { readonly env: Record<string, string | undefined>; readonly envFile?: EnvFile } {
  if (path === false) return { env: { ...env } };
  const name = path ?? ENV_FILE;
  const read = readSmallText(name, MAX_FILE_BYTES, 'settings, a line NAME=value each');
  if (read.fault !== undefined) {
    // Folders of that name are common too.
    if (path === undefined && ['ENOENT', 'EISDIR', 'ENOTDIR'].includes(read.code ?? ''))
      return { env: { ...env } };
    throw new ConfigError('env-file', `the settings in '${name}': ${read.fault}`);
  }
  const values = parse(read.text, name);
  const taken = Object.entries(values).filter(([variable, value]) => value !== '' && !isSet(env, variable));
  const warnings = [...sharedSecrets(name, read.mode, values), ...uselessVariables(name, values)];
  return {
    env: { ...env, ...Object.fromEntries(taken) },
    envFile: { path: name, names: new Set(taken.map(([variable]) => variable)), warnings },
  };
}

/** Node's parser passes over what it does not understand: here nothing is passed over in silence. */
function parse(text: string, path: string): Readonly<Record<string, string>> {
  const plain = text.replace(/^\uFEFF/, '');
  const values = parseEnv(plain) as Record<string, string>;
  const faults = Object.keys(values)
    .filter((name) => !NAME.test(name))
    .map((name) => `'${cleanForeignText(name, [], 60)}' is no name of a variable`);
  const severalLines = Object.values(values).filter((value) => value.includes('\n'));
  for (const [index, line] of plain.split(/\r?\n/).entries()) {
    const isPart = severalLines.some((value) => value.split('\n').some((part) => line.startsWith(part)));
    // What stands there may be a secret, so it is not shown.
    if (line.trim() !== '' && !/^\s*#/.test(line) && !line.includes('=') && !isPart)
      faults.push(`line ${index + 1} has no '='`);
  }
  if (faults.length === 0) return values;
  const listed = faults.slice(0, 5).join('; ');
  throw new ConfigError('env-file', `the settings in '${path}': ${listed}; expected lines NAME=value`);
}

function isSet(env: Environment, name: string): boolean {
  const twin = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`;
  return env[name] !== undefined || Boolean(env[twin]);
}

function sharedSecrets(path: string, mode: number, values: Readonly<Record<string, string>>): string[] {
  if (process.platform === 'win32' || (mode & 0o044) === 0) return [];
  const secrets = Object.entries(values).flatMap(([name, value]) => (holdsSecret(name, value) ? [name] : []));
  if (secrets.length === 0) return [];
  const others = `others may read it (mode ${(mode & 0o777).toString(8)}): chmod 600 ${path}`;
  return [`'${path}' holds ${secrets.join(' and ')}, and ${others}`];
}

/** Node itself reads these when it starts, which is before any file of ours. */
const TOO_LATE = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS'];

function uselessVariables(path: string, values: Readonly<Record<string, string>>): string[] {
  const late = 'has no effect: Node.js reads it when it starts; set it in the environment';
  return TOO_LATE.filter((name) => values[name]).map((name) => `${name} in '${path}' ${late}`);
}

/** What needs no quotes, whoever reads it. */
const PLAIN_VALUE = /^[\w./:@%+,=~-]+$/;

/** A line `NAME=value`, understood alike by Node.js, by `docker compose`, and by shells. Throws ConfigError `env-value` for a value that no quotes hold: it belongs into a file. */
export function envLine(name: string, value: string): string {
  if (PLAIN_VALUE.test(value)) return `${name}=${value}`;
  // Within double quotes some replace '$' and '\'.
  const quote = ["'", '`'].find((one) => !value.includes(one));
  if (quote !== undefined && !/[\r\n]/.test(value)) return `${name}=${quote}${value}${quote}`;
  const fault = `${name}: its value has quotes or line ends that a .env cannot hold`;
  throw new ConfigError('env-value', `${fault}; put it into a file, and name that in ${name}_FILE`);
}
