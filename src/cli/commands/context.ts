/** What commands get, and the type of the rows that describe them. */
import type { AppOverrides } from '../../app.ts';
import type { Log } from '../../core/model/index.ts';
import { readTraceContext } from '../../core/model/tracing.ts';
import type { EnvFile } from '../../runtime/config/environment.ts';
import { createLog } from '../../runtime/log.ts';
import { paint, type Screen, writeText } from '../terminal/screen.ts';

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly envFile?: EnvFile | undefined;
  readonly stdin?: NodeJS.ReadStream | undefined;
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** Aborted on the first SIGINT or SIGTERM. Until it is read, a signal ends the process: read it after the settings. */
  readonly signal: AbortSignal;
}

/** Names of jobs, or of vessels. */
export type Names = readonly string[];

/** A command gets arguments and options as in its row, and returns its exit code. `overrides` are for tests. */
export type Command<Given extends readonly unknown[], Overrides = AppOverrides> = (
  context: CommandContext,
  ...given: [...Given, overrides?: Overrides]
) => Promise<number>;

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_INTERRUPTED = 130;
export const EXIT_NO_READER = 141;
export const EXIT_TERMINATED = 143;

/** A log on stderr: short lines on a terminal, otherwise JSON. `write` can be that of a view with a progress bar. */
export function commandLog(
  { env, stderr }: Pick<CommandContext, 'env' | 'stderr'>,
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent',
  write: (line: string) => void = (line) => writeText(stderr, line),
): Log {
  const readable = stderr.isTTY === true;
  const coloured = (line: string) =>
    line.replace(/^(warn|error) /, (word) => paint(stderr, word === 'warn ' ? 'yellow' : 'red', word));
  const { traceId } = readTraceContext(env) ?? {};
  return createLog({ level, readable, write: readable ? (line) => write(coloured(line)) : write, traceId });
}

/** Flags, meaning, default. `<n>`, `<ms>` and `<seconds>` are whole numbers, `<…...>` is one or more. */
export type OptionRow = readonly [flags: string, meaning: string, fallback?: string | number];

/** `<required>`, `[optional]`, `[several...]`. */
export type ArgumentRow = readonly [name: string, meaning: string, choices?: readonly string[]];

export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** The command itself reports errors in the file of settings. */
  readonly tellsOfEnvFile?: boolean;
  readonly arguments?: readonly ArgumentRow[];
  readonly options?: readonly OptionRow[];
  /** What follows `vessel-export` in examples; the first words of the help's last lines. */
  readonly examples: readonly string[];
  readonly subcommands?: readonly CommandRow[];
  /** It runs until it is stopped: if stderr is no terminal, it has only lines of JSON. */
  readonly isLongRunning?: boolean;
  /** It reads gigabytes and keeps little: garbage is collected early. */
  readonly readsMuch?: boolean;
  readonly hidden?: boolean;
  /** The command, loaded when it is used. It gets its arguments, and its options if it has any. */
  // biome-ignore lint/suspicious/noExplicitAny: commander has read them by the rows above.
  readonly load: () => Promise<(context: CommandContext, ...given: any[]) => number | Promise<number>>;
}
