/** The command line, as a child process says it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

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
  /** `run`, or `backfill list`. */
  readonly name: string;
  readonly description: string;
  readonly help: string;
}

let commands: Promise<CommandHelp[]> | undefined;

/** Every command and subcommand, as `--help` names them. */
export function allCommands(): Promise<CommandHelp[]> {
  commands ??= commandsBelow([]);
  return commands;
}

async function commandsBelow(path: readonly string[]): Promise<CommandHelp[]> {
  const found: CommandHelp[] = [];
  for (const name of commandNames(await outputOf([...path, '--help']))) {
    const words = [...path, name];
    const help = (await outputOf([...words, '--help'])).trimEnd();
    found.push({ name: words.join(' '), description: descriptionOf(help), help });
    found.push(...(await commandsBelow(words)));
  }
  return found;
}

/** The names in the section `Commands:` of a help; its continuation lines are indented further. */
function commandNames(help: string): string[] {
  const section = /^Commands:\n((?: .*\n?)*)/m.exec(help)?.[1] ?? '';
  const names = [...section.matchAll(/^ {2}([a-z][\w-]*)/gm)].map((match) => match[1]!);
  return names.filter((name) => name !== 'help');
}

/** The paragraph after the usage. */
function descriptionOf(help: string): string {
  const paragraph = help.split('\n\n')[1] ?? '';
  return paragraph.replace(/\s+/g, ' ').trim();
}
