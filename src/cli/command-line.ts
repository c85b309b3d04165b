/** Builds the parser (commander) from the table of commands; commands are loaded when they are used. */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { readVersion } from '../core/version.ts';
import { ENV_FILE } from '../runtime/config/env-file.ts';
import type { ArgumentRow, CommandContext, CommandRow, OptionRow } from './commands/context.ts';

interface CommandLine {
  /** Where help and errors of the line are written, and how headings are coloured. */
  readonly screens: {
    stdout(text: string): void;
    stderr(text: string): void;
    bold(text: string): string;
  };
  /** The context of a command; `envFile` is the value of --env-file, false: none. */
  contextOf(row: CommandRow, envFile: string | false | undefined): CommandContext;
  done(code: number): void;
}

const DESCRIPTION =
  'Copies vessel sensor time series into a lake of Parquet, one object per vessel and day, and proves each day complete.';

/** Parsing throws CommanderError, and what the command throws. */
export function buildProgram(
  commands: readonly CommandRow[],
  { screens, contextOf, done }: CommandLine,
): Command {
  const fileMeaning = `settings that the environment does not have (default: ${ENV_FILE}, if there is one)`;
  const program = new Command('vessel-export')
    .description(DESCRIPTION)
    .version(readVersion())
    .option('--no-color', 'write without colours, as NO_COLOR does')
    .option('--env-file <file>', fileMeaning)
    .option('--no-env-file', 'take settings from the environment alone')
    .exitOverride()
    .showHelpAfterError(`(run 'vessel-export --help' for the commands)`)
    .configureHelp({ styleTitle: (title) => screens.bold(title) })
    .configureOutput({ writeOut: screens.stdout, writeErr: screens.stderr });
  addExamples(program, ['demo', 'run measurements --from 2026-01-01 --to 2026-02-01', 'run --help']);
  const perform: Perform = async (row, given) => {
    const { envFile } = program.opts<{ readonly envFile?: string | false }>();
    const context = contextOf(row, envFile);
    const command = await row.load();
    done(await command(context, ...given));
  };
  for (const row of commands) addCommand(program, row, perform);
  return program;
}

type Perform = (row: CommandRow, given: readonly unknown[]) => Promise<void>;

function addCommand(parent: Command, row: CommandRow, perform: Perform): void {
  const { name, summary, options, subcommands = [], examples, hidden = false } = row;
  const command = parent.command(name, { hidden }).description(summary);
  for (const argument of row.arguments ?? []) command.addArgument(argumentOf(argument));
  for (const option of options ?? []) command.addOption(optionOf(option));
  for (const subcommand of subcommands) addCommand(command, subcommand, perform);
  if (subcommands.length > 0) {
    // Arguments after a subcommand belong to it.
    const names = subcommands.map((subcommand) => subcommand.name).join(' | ');
    const takes = (row.arguments ?? []).map(([argument]) => ` ${argument}`).join('');
    command.enablePositionalOptions().usage(`[options]${takes}\n       vessel-export ${name} ${names}`);
  }
  addExamples(command, examples);
  // Commander adds the options, and the command itself.
  command.action((...given) => perform(row, given.slice(0, options === undefined ? -2 : -1)));
}

function argumentOf([name, meaning, choices]: ArgumentRow): Argument {
  const argument = new Argument(name, meaning);
  return choices === undefined ? argument : argument.choices(choices);
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
