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
  // Both streams may be pipes: what was written must be out before the process ends.
  await Promise.all(streams.map((stream) => new Promise((done) => stream.write('', done))));
  // An error of a stream is told a moment after its write has ended.
  await new Promise(setImmediate);
  // The end waits for file system calls that hang: a signal must still end it.
  signals.release();
  process.exit(lost.code ?? code);
}

function isLongRunning(argv: readonly string[]): boolean {
  const name = argv.slice(2).find((word, at) => !word.startsWith('-') && argv[at + 1] !== '--env-file');
  return COMMANDS.some((row) => row.name === name && row.isLongRunning === true);
}

/** stderr as lines of JSON. What the process itself has to say does not wait for settings, which may be wrong. */
function openOwnStderr() {
  const write = process.stderr.write.bind(process.stderr);
  const screen = { write: (text: string) => void write(text) };
  const log = commandLog({ env: process.env, stderr: screen }, ownLevel(process.env.LOG_LEVEL));
  const { flush } = ownStderr(process.stderr, log, () => process.exit(EXIT_FAILED));
  return { log, screen, flush };
}

/** What ends the process is said at every level. */
function ownLevel(setting: string | undefined) {
  if (setting === 'silent') return 'error';
  return (['debug', 'info', 'warn', 'error'] as const).find((level) => level === setting) ?? 'info';
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
type Signal = (typeof SIGNALS)[number];

/** Take the signals from the system, and leave them to it again: there they end the process, also one that hangs. */
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

/** What waits in the threads for calls of the system: the end of the process would wait for it too. */
const IN_THREADS = /^(FSReq|GetAddrInfo|GetNameInfo)/;

/** End at once with 130 or 143, whatever hangs: by the signal itself where leaving in order might hang too. */
function endBy(signal: Signal, release: () => void): never {
  release();
  if (process.getActiveResourcesInfo().some((name) => IN_THREADS.test(name)))
    process.kill(process.pid, signal);
  // The first process of a container is not ended by its own signal.
  process.exit(signal === 'SIGINT' ? EXIT_INTERRUPTED : EXIT_TERMINATED);
}

/** The exit code once nobody reads the output (`| head`), which ends the command quietly. A full disk is a failure instead. */
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

/** Its exit code. `log` takes what is said of errors where stderr is lines of JSON. */
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
    // What went wrong first counts, whatever closing has met after it.
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

/** The context with what a file of settings adds to the environment, and a word on what is wrong with that. */
function withSettings(
  context: CommandContext,
  path: string | false | undefined,
  row: CommandRow,
  log: Log | undefined,
): CommandContext {
  // Nothing is said in the middle of somebody's typing.
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
