/** argv → command; the only process.exit. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { readVersion } from './app.ts';
import type { CommandContext, CommandRow, OptionRow } from './commands/context.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NO_READER, EXIT_OK, EXIT_USAGE } from './commands/context.ts';
import { COMMANDS } from './commands/table.ts';
import { CancelledError, ConfigError, messageOf, VesselExportError } from './errors.ts';
import { cleanListing } from './model/index.ts';
import { openScreen, paint, writeLines, writeText } from './terminal/screen.ts';

/** Run the command that `argv` names, and exit with its code. */
export async function main(argv: readonly string[]): Promise<void> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(EXIT_INTERRUPTED);
    process.stderr.write('\nstopping; once more to stop at once\n');
    stop.abort(new CancelledError('interrupted'));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const streams = [process.stdout, process.stderr];
  const lost = watchReaders(streams, () => stop.abort(new CancelledError('nobody reads the output')));
  const colourRefused = argv.includes('--no-color');
  const context: CommandContext = {
    env: process.env,
    stdout: openScreen(process.stdout, colourRefused),
    stderr: openScreen(process.stderr, colourRefused),
    signal: stop.signal,
  };
  const code = await perform(context, argv, lost);
  // Both streams may be pipes: what was written must be out before the process ends.
  await Promise.all(streams.map((stream) => new Promise((done) => stream.write('', done))));
  // An error of a stream is told a moment after its write has ended.
  await new Promise(setImmediate);
  process.exit(lost.code ?? code);
}

interface Lost {
  code?: number;
}

/**
 * The exit code once nobody reads what is written (`| head`): the command ends as if it were interrupted, and
 * quietly. Output that cannot be written for another reason, such as a full disk, is a failure.
 */
function watchReaders(streams: readonly NodeJS.WriteStream[], onLost: () => void): Lost {
  const lost: Lost = {};
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

async function perform(context: CommandContext, argv: readonly string[], lost: Lost): Promise<number> {
  let code = EXIT_OK;
  const program = buildProgram(context, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    return lost.code ?? report(context, error);
  }
}

function report(context: CommandContext, error: unknown): number {
  const say = (what: string, text: unknown) =>
    writeText(context.stderr, `${paint(context.stderr, 'red', what)} ${text}\n`);
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
  if (error instanceof CancelledError) {
    writeLines(context.stderr, 'interrupted; run the same command again to finish\n');
    return EXIT_INTERRUPTED;
  }
  if (error instanceof VesselExportError) {
    say('error:', messageOf(error));
    return error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILED;
  }
  const text = (error instanceof Error && error.stack) || messageOf(error);
  say('internal error, please report it:', cleanListing(text));
  return EXIT_FAILED;
}

type Done = (code: number) => void;

/** The command line, by the table of commands; these are loaded when they are used. */
function buildProgram(context: CommandContext, done: Done): Command {
  const program = new Command('vessel-export')
    .description(
      'Copies vessel sensor time series into a lake of Parquet, one object per vessel and day, and proves each day complete.',
    )
    .version(readVersion())
    .option('--no-color', 'write without colours, as NO_COLOR does')
    .exitOverride()
    .showHelpAfterError(`(run 'vessel-export --help' for the commands)`)
    .configureHelp({ styleTitle: (title) => paint(context.stdout, 'bold', title) })
    .configureOutput({
      writeOut: (text) => writeLines(context.stdout, text),
      writeErr: (text) => writeLines(context.stderr, text),
    });
  addExamples(program, ['demo', 'run measurements --from 2026-01-01 --to 2026-02-01', 'run --help']);
  for (const row of COMMANDS) addCommand(program, row, context, done);
  return program;
}

function addCommand(parent: Command, row: CommandRow, context: CommandContext, done: Done): void {
  const {
    name,
    summary,
    argument,
    secondArgument,
    options = [],
    subcommands = [],
    examples,
    hidden = false,
  } = row;
  const command = parent.command(name, { hidden }).description(summary);
  if (argument !== undefined) {
    const [term, meaning, choices] = argument;
    const added = command.createArgument(term, meaning);
    command.addArgument(choices === undefined ? added : added.choices(choices));
  }
  if (secondArgument !== undefined) command.argument(...secondArgument);
  for (const option of options) command.addOption(optionOf(option));
  for (const subcommand of subcommands) addCommand(command, subcommand, context, done);
  if (subcommands.length > 0) {
    // What stands after a subcommand is its own.
    const names = subcommands.map((subcommand) => subcommand.name).join(' | ');
    command.enablePositionalOptions();
    command.usage(`[options] ${argument?.[0] ?? ''}\n       vessel-export ${name} ${names}`);
  }
  addExamples(command, examples);
  command.action(async (...given) => {
    const [first, second, third] = argument === undefined ? [undefined, ...given] : given;
    if (secondArgument === undefined) done(await row.perform(context, first, second));
    else done(await row.perform(context, [first, second], third));
  });
}

function optionOf([flags, meaning, fallback]: OptionRow): Option {
  const option = new Option(flags, meaning);
  if (fallback !== undefined) option.default(fallback);
  return /<(n|ms|seconds)>/.test(flags) ? option.argParser(wholeNumber) : option;
}

function addExamples(command: Command, examples: readonly string[]): void {
  const lines = examples.map((example) => `  vessel-export ${example}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number.');
  return Number(text);
}
