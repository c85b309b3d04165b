/** A command in this process on a lake, with job files of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { CommandContext } from '../../src/cli/commands/context.ts';
import { CancelledError, ConfigError, messageOf } from '../../src/core/errors.ts';
import type { RunningService } from '../../src/service/options.ts';

/** The first two vessels of every made-up fleet. */
export const VESSEL = 'IMO9321483';
export const OTHER_VESSEL = 'IMO9322853';
/** Contents of a job file; what is missing is filled in by `writeJobs`. */
export type JobFile = Readonly<Record<string, unknown>>;

/** Where nothing listens. */
const NO_SERVICE = {
  baseUrl: 'http://127.0.0.1:1/fleet',
  authUrl: 'http://127.0.0.1:1/auth',
  clientId: 'nobody',
  clientSecret: 'not-a-secret',
};

export interface CommandPlace {
  /** Absent: an address where nothing listens. */
  readonly service?: Pick<RunningService, 'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret'>;
  readonly lakeUrl: string;
  readonly jobs: Readonly<Record<string, JobFile>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Width of the terminal; absent: stdout is none. */
  readonly columns?: number;
}

export interface CommandRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What the command threw, already turned into `code`. */
  readonly error?: unknown;
}

/** Run a command as cli.ts would. */
export async function commandRun(
  place: CommandPlace,
  command: (context: CommandContext) => Promise<number>,
): Promise<CommandRun> {
  const jobsDir = await writeJobs(place.jobs);
  const [stdout, stderr] = [createScreen(place.columns), createScreen(place.columns)];
  const context: CommandContext = {
    env: {
      ...exportEnv(place.service ?? NO_SERVICE, place.lakeUrl, jobsDir),
      LOG_LEVEL: 'info',
      ...place.env,
    },
    ...{ stdout, stderr },
    signal: place.signal ?? new AbortController().signal,
  };
  let code: number;
  let error: unknown;
  try {
    code = await command(context);
  } catch (thrown) {
    error = thrown;
    stderr.write(`error: ${messageOf(error)}\n`);
    code = error instanceof CancelledError ? 130 : error instanceof ConfigError ? 2 : 1;
  } finally {
    await rm(jobsDir, { recursive: true, force: true });
  }
  return { code, stdout: stdout.text, stderr: stderr.text, ...(error !== undefined && { error }) };
}

/** Environment of an export against a service. */
export function exportEnv(
  service: NonNullable<CommandPlace['service']>,
  lakeUrl: string,
  jobsDir: string,
): Record<string, string> {
  return {
    QUERY_BASE_URL: service.baseUrl,
    QUERY_AUTH_URL: service.authUrl,
    QUERY_CLIENT_ID: service.clientId,
    QUERY_CLIENT_SECRET: service.clientSecret,
    LAKE_URL: lakeUrl,
    JOBS_DIR: jobsDir,
    LOG_LEVEL: 'debug',
  };
}

/** Write job files into a new folder; its path. */
export async function writeJobs(jobs: Readonly<Record<string, JobFile>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vessel-export-jobs-'));
  for (const [name, job] of Object.entries(jobs))
    await writeFile(join(folder, `${name}.yaml`), stringify({ vessels: [VESSEL], ...job }));
  return folder;
}

/** Keeps what is written to it, and to a copy of it with other settings. */
export function createScreen(columns?: number) {
  const screen = {
    columns,
    text: '',
    write: (more: string) => {
      screen.text += more;
    },
  };
  return screen;
}
