/** argv → command; the only process.exit. */
import { CommanderError } from 'commander';
import { CancelledError, ConfigError, codeOf, messageOf, VesselExportError } from '../core/errors.ts';
import { cleanListing, type Log } from '../core/model/index.ts';
import { collectEarly } from '../core/process/heap.ts';
import { ownStderr } from '../core/process/stderr-log.ts';
import { withEnvFile } from '../runtime/config/env-file.ts';
import { buildProgram } from './command-line.ts';
import type { CommandContext, CommandRow } from './commands/context.ts';
import {
  commandLog,
  EXIT_FAILED,
  EXIT_INTERRUPTED,
  EXIT_NO_READER,
  EXIT_OK,
  EXIT_TERMINATED,
  EXIT_USAGE,
} from './commands/context.ts';
import { COMMANDS } from './commands/table.ts';
import { openScreen, paint, type Screen, writeLines, writeText } from './terminal/screen.ts';

export async function main(argv: readonly string[]): Promise<void> {
  const own = isLongRunning(argv) && process.stderr.isTTY !== true ? openOwnStderr() : undefined;
  const stop = new AbortController();
  const say = (text: string) =>
    own === undefined ? process.stderr.write(`\n${text}\n`) : own.log.info({}, text);
  const signals = catchSignals((signal) => {
    if (stop.signal.aborted) endBy(signal, signals.release);
    say('stopping; once more to stop at once');
    stop.abort(new CancelledError('interrupted'));
  });
  const streams = [process.stdout, process.stderr];
  const lost = watchReaders(streams, () => stop.abort(new CancelledError('nobody reads the output')));
  const colourRefused = argv.includes('--no-color');
  const context: CommandContext = {
    env: process.env,
    stdin: process.stdin.isTTY === true ? process.stdin : undefined,
    stdout: openScreen(process.stdout, colourRefused),
    stderr: own?.screen ?? openScreen(process.stderr, colourRefused),
    get signal() {
      signals.take();
      return stop.signal;
    },
  };
  const code = await perform(context, argv, lost, own?.log);
  own?.flush();
  // Both streams may be pipes: everything must be written before the process ends.
  await Promise.all(streams.map((stream) => new Promise((done) => stream.write('', done))));
  // A stream emits its error shortly after its write has ended.
  await new Promise(setImmediate);
  // The end waits for file system calls that hang: a signal must still end the process.
  signals.release();
  process.exit(lost.code ?? code);
}

function isLongRunning(argv: readonly string[]): boolean {
  const name = argv.slice(2).find((word, at) => !word.startsWith('-') && argv[at + 1] !== '--env-file');
  return COMMANDS.some((row) => row.name === name && row.isLongRunning === true);
}

/** stderr as lines of JSON. Messages of the process itself do not wait for the settings, which may be wrong. */
function openOwnStderr() {
  const write = process.stderr.write.bind(process.stderr);
  const screen = { write: (text: string) => void write(text) };
  const log = commandLog({ env: process.env, stderr: screen }, ownLevel(process.env.LOG_LEVEL));
  const { flush } = ownStderr(process.stderr, log, () => process.exit(EXIT_FAILED));
  return { log, screen, flush };
}

/** The error that ends the process is logged at every level. */
function ownLevel(setting: string | undefined) {
  if (setting === 'silent') return 'error';
  return (['debug', 'info', 'warn', 'error'] as const).find((level) => level === setting) ?? 'info';
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
type Signal = (typeof SIGNALS)[number];

/** Handle the signals, and later restore the system's handlers, which end even a process that hangs. */
function catchSignals(listener: (signal: Signal) => void) {
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
  return {
    take() {
      release();
      for (const signal of SIGNALS) process.on(signal, listener);
    },
    release,
  };
}

/** System calls that wait in the thread pool: the end of the process would wait for them too. */
const IN_THREADS = /^(FSReq|GetAddrInfo|GetNameInfo)/;

/** End at once with 130 or 143, whatever hangs: by the signal itself if an orderly exit might hang too. */
function endBy(signal: Signal, release: () => void): never {
  release();
  if (process.getActiveResourcesInfo().some((name) => IN_THREADS.test(name)))
    process.kill(process.pid, signal);
  // The first process of a container is not ended by its own signal.
  process.exit(signal === 'SIGINT' ? EXIT_INTERRUPTED : EXIT_TERMINATED);
}

/** The exit code after the reader of the output has closed it (`| head`), which ends the command quietly. A full disk is a failure. */
function watchReaders(streams: readonly NodeJS.WriteStream[], onLost: () => void): { code?: number } {
  const lost: { code?: number } = {};
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (lost.code !== undefined) return;
      lost.code = error.code === 'EPIPE' ? EXIT_NO_READER : EXIT_FAILED;
      if (error.code !== 'EPIPE' && stream === process.stdout)
        process.stderr.write(`error: cannot write the output: ${messageOf(error)}\n`);
      onLost();
    });
  }
  return lost;
}

/** Runs the command; returns its exit code. `log` gets the errors if stderr is lines of JSON. */
export async function perform(
  context: CommandContext,
  argv: readonly string[],
  lost: { readonly code?: number } = {},
  log?: Log,
): Promise<number> {
  let code = EXIT_OK;
  const program = buildProgram(COMMANDS, {
    screens: {
      stdout: (text) => writeLines(context.stdout, text),
      stderr: (text) =>
        log === undefined ? writeLines(context.stderr, text) : log.error({ code: 'usage' }, text.trim()),
      bold: (text) => paint(context.stdout, 'bold', text),
    },
    contextOf: (row, envFile) => {
      if (row.readsMuch) collectEarly();
      return withSettings(context, envFile, row, log);
    },
    done: (result) => {
      code = result;
    },
  });
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (thrown) {
    if (lost.code !== undefined) return lost.code;
    // The first error counts, even if closing fails after it.
    const error = thrown instanceof SuppressedError ? thrown.suppressed : thrown;
    report(error, log, context.stderr);
    return exitCodeOf(error);
  }
}

function report(error: unknown, log: Log | undefined, stderr: Screen): void {
  if (error instanceof CommanderError) return;
  if (error instanceof CancelledError) {
    if (log === undefined) writeLines(stderr, `${INTERRUPTED}\n`);
    else log.info({}, INTERRUPTED);
    return;
  }
  const isOurs = error instanceof VesselExportError;
  const what = isOurs ? 'error:' : 'internal error, please report it:';
  const stack = !isOurs && error instanceof Error ? error.stack : undefined;
  if (log === undefined) {
    const text = stack === undefined ? messageOf(error) : cleanListing(stack);
    writeText(stderr, `${paint(stderr, 'red', what)} ${text}\n`);
  } else {
    const message = isOurs ? error.message : `${what} ${messageOf(error)}`;
    log.error({ code: codeOf(error), ...(!isOurs && { stack }) }, message);
  }
}

const INTERRUPTED = 'interrupted; run the same command again to finish';

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
  if (error instanceof CancelledError) return EXIT_INTERRUPTED;
  return error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILED;
}

/** The context with the environment from a file of settings, and a warning if that is wrong. */
function withSettings(
  context: CommandContext,
  path: string | false | undefined,
  row: CommandRow,
  log: Log | undefined,
): CommandContext {
  // Completion must not print messages while somebody types.
  if (row.hidden === true) return context;
  const { env, envFile } = withEnvFile(context.env, path);
  // The libraries of store and traces read these by themselves; nothing else of a file becomes known to the whole process.
  for (const name of envFile?.names ?? []) if (/^(AWS|AZURE|OTEL)_/.test(name)) process.env[name] = env[name];
  if (row.tellsOfEnvFile !== true && !['error', 'silent'].includes(env.LOG_LEVEL ?? ''))
    for (const warning of envFile?.warnings ?? [])
      (log ?? commandLog({ env, stderr: context.stderr }, 'warn')).warn({}, warning);
  const { stdin, stdout, stderr } = context;
  return {
    ...{ env, envFile, stdin, stdout, stderr },
    get signal() {
      return context.signal;
    },
  };
}
