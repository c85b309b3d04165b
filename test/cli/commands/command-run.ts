/** A command in this process on a lake, with job files of its own. */
import { rm } from 'node:fs/promises';
import type { CommandContext } from '../../../src/cli/commands/context.ts';
import { CancelledError, ConfigError, messageOf } from '../../../src/core/errors.ts';
import type { RunningService } from '../../../src/service/options.ts';
import { exportEnv, type JobFile, writeJobs } from '../../helpers/run.ts';

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
  const texts = { stdout: '', stderr: '' };
  const screen = (name: 'stdout' | 'stderr') => ({
    columns: place.columns,
    write: (text: string) => {
      texts[name] += text;
    },
  });
  const context: CommandContext = {
    env: {
      ...exportEnv(place.service ?? NO_SERVICE, place.lakeUrl, jobsDir),
      LOG_LEVEL: 'info',
      ...place.env,
    },
    stdout: screen('stdout'),
    stderr: screen('stderr'),
    signal: place.signal ?? new AbortController().signal,
  };
  let code: number;
  let error: unknown;
  try {
    code = await command(context);
  } catch (thrown) {
    error = thrown;
    texts.stderr += `error: ${messageOf(error)}\n`;
    code = error instanceof CancelledError ? 130 : error instanceof ConfigError ? 2 : 1;
  } finally {
    await rm(jobsDir, { recursive: true, force: true });
  }
  return { code, ...texts, ...(error !== undefined && { error }) };
}
