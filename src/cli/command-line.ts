/** The command line that commander reads, by the table of commands; these are loaded when they are used. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { readVersion } from '../core/version.ts';
import { ENV_FILE } from '../runtime/config/env-file.ts';
import type { CommandContext, CommandRow, OptionRow } from './commands/context.ts';

interface CommandLine {
  /** Where help and what is wrong with the line are written, and how headings are painted. */
  readonly screens: {
    stdout(text: string): void;
    stderr(text: string): void;
    bold(text: string): string;
  };
  /** What a command is given; `envFile` as --env-file says it, false: none. */
  contextOf(row: CommandRow, envFile: string | false | undefined): CommandContext;
  /** Told the exit code of the command that was performed. */
  done(code: number): void;
}

/** Parsing throws CommanderError, and what the command throws. */
export function buildProgram(
  commands: readonly CommandRow[],
  { screens, contextOf, done }: CommandLine,
): Command {
  const program = new Command('vessel-export')
    .description(
      'Copies vessel sensor time series into a lake of Parquet, one object per vessel and day, and proves each day complete.',
    )
    .version(readVersion())
    .option('--no-color', 'write without colours, as NO_COLOR does')
    .option(
      '--env-file <file>',
      `settings that the environment does not have (default: ${ENV_FILE}, if there is one)`,
    )
    .option('--no-env-file', 'take settings from the environment alone')
    .exitOverride()
    .showHelpAfterError(`(run 'vessel-export --help' for the commands)`)
    .configureHelp({ styleTitle: (title) => screens.bold(title) })
    .configureOutput({ writeOut: screens.stdout, writeErr: screens.stderr });
  addExamples(program, ['demo', 'run measurements --from 2026-01-01 --to 2026-02-01', 'run --help']);
  const perform: Perform = async (row, ...given) => {
    const { envFile } = program.opts<{ readonly envFile?: string | false }>();
    done(await row.perform(contextOf(row, envFile), ...given));
  };
  for (const row of commands) addCommand(program, row, perform);
  return program;
}

// biome-ignore lint/suspicious/noExplicitAny: commander has read what is given by the rows of the table.
type Perform = (row: CommandRow, given: any, options: any) => Promise<void>;

function addCommand(parent: Command, row: CommandRow, perform: Perform): void {
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
  for (const subcommand of subcommands) addCommand(command, subcommand, perform);
  if (subcommands.length > 0) {
    // What stands after a subcommand is its own.
    const names = subcommands.map((subcommand) => subcommand.name).join(' | ');
    command.enablePositionalOptions();
    const takes = argument === undefined ? '' : ` ${argument[0]}`;
    command.usage(`[options]${takes}\n       vessel-export ${name} ${names}`);
  }
  addExamples(command, examples);
  command.action(async (...given) => {
    const [first, second, third] = argument === undefined ? [undefined, ...given] : given;
    if (secondArgument === undefined) await perform(row, first, second);
    else await perform(row, [first, second], third);
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
