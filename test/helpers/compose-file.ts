/** What docker-compose.yml and the Dockerfile say, for tests that hold them to account. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface ComposeService {
  readonly image?: string;
  readonly build?: string;
  readonly entrypoint?: readonly string[];
  readonly command: readonly string[];
  /** Null: what it is in .env, if it is there. */
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly ports?: readonly string[];
  readonly deploy?: { readonly replicas: number };
  readonly user?: string;
  /** Names of secrets, files below /run/secrets in the container. */
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  /** `path:options`. */
  readonly tmpfs?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly mem_limit?: string;
  readonly logging?: { readonly options: Readonly<Record<string, string>> };
}

export const COMPOSE_SERVICES = ['redis', 's3', 'query-service', 'scheduler', 'worker'] as const;
export type ComposeServiceName = (typeof COMPOSE_SERVICES)[number];

const ROOT = join(import.meta.dirname, '../..');
export const COMPOSE_FILE = join(ROOT, 'docker-compose.yml');

/** The text of docker-compose.yml, comments included. */
export function composeText(): string {
  return readFileSync(COMPOSE_FILE, 'utf8');
}

export function composeServices(): Readonly<Record<ComposeServiceName, ComposeService>> {
  return parse(composeText(), { merge: true }).services;
}

/** Where compose takes each secret from where nothing is set: paths on this machine. */
export function secretFiles(): Readonly<Record<string, string>> {
  const secrets: Readonly<Record<string, { file: string }>> = parse(composeText()).secrets;
  return Object.fromEntries(
    Object.entries(secrets).map(([name, { file }]) => [name, join(ROOT, plain(file))]),
  );
}

/** A secret where nothing is set. */
export function secretOf(name: string): string {
  return readFileSync(secretFiles()[name]!, 'utf8').replace(/\n$/, '');
}

/** What compose makes of `${NAME-default}` and `${NAME:-default}` where nothing is set, and of `$$`. */
export function plain(text: string | number): string {
  return String(text)
    .replace(/\$\{\w+:?-([^}]*)\}/g, '$1')
    .replaceAll('$$', '$');
}

/** The environment of a service where nothing is set. */
export function environmentOf({ environment = {} }: ComposeService): Record<string, string> {
  const set = Object.entries(environment).flatMap(([name, text]) =>
    text === null ? [] : [[name, plain(text)]],
  );
  return Object.fromEntries(set);
}

/** The words that a service's container is started with: its own entry point, or the image's, and its command. */
export function wordsOf({ entrypoint, command }: ComposeService): string[] {
  return [...(entrypoint ?? imageEntrypoint()), ...command].map(plain);
}

function imageEntrypoint(): readonly string[] {
  const words = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1];
  if (words === undefined) throw new Error('the Dockerfile has no ENTRYPOINT of words');
  return JSON.parse(words);
}
