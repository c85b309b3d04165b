/** The command line: what `--help` prints, and what a command prints as a child process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/commands/table.ts';

const BIN = resolve(import.meta.dirname, '../../src/bin.js');

/** stdout of a command that must succeed, with PATH and nothing else in its environment. Throws Error. */
export async function outputOf(args: readonly string[], cwd?: string): Promise<string> {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (more: string) => {
      text[name] += more;
    });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`vessel-export ${args.join(' ')} ended with ${code}: ${text.stderr}`);
  return text.stdout;
}

/** A command with what its `--help` prints. */
export interface CommandHelp {
  /** `run`, or `backfill list`; '' for the program itself. */
  readonly name: string;
  readonly description: string;
  readonly help: string;
}

const HELP_COLUMNS = 80;

/** The program itself, then every command and subcommand that `--help` names. */
export function programHelp(): [program: CommandHelp, ...commands: CommandHelp[]] {
  let text = '';
  const program = buildProgram(COMMANDS, {
    screens: {
      stdout: (more) => {
        text += more;
      },
      stderr: () => {},
      bold: (title) => title,
    },
    contextOf: () => {
      throw new Error('a command is run, where only help was asked for');
    },
    done: () => {},
  });
  const helpOf = (command: Command, path: readonly string[]): CommandHelp => {
    text = '';
    command.configureOutput({ getOutHelpWidth: () => HELP_COLUMNS }).outputHelp();
    return { name: path.join(' '), description: command.description(), help: text.trimEnd() };
  };
  const below = (parent: Command, path: readonly string[]): CommandHelp[] =>
    parent
      .createHelp()
      .visibleCommands(parent)
      .filter((command) => command.name() !== 'help')
      .flatMap((command) => {
        const words = [...path, command.name()];
        return [helpOf(command, words), ...below(command, words)];
      });
  return [helpOf(program, []), ...below(program, [])];
}

/** Every command and subcommand. */
export function allCommands(): CommandHelp[] {
  return programHelp().slice(1);
}
