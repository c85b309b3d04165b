/** `completion`: scripts by which a shell asks `complete` what may follow. */
import { readdirSync } from 'node:fs';
import { writeFields, writeLines } from '../terminal/screen.ts';
import { type CommandContext, type CommandRow, EXIT_OK, type OptionRow } from './context.ts';

/** Each script passes the words of the line, the last one as far as it is typed, and gets `name<TAB>meaning` lines. */
const SCRIPTS = {
  bash: `_vessel_export() {
  local IFS=$'\\n'
  COMPREPLY=($(vessel-export complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _vessel_export vessel-export
`,
  zsh: `#compdef vessel-export
_vessel_export() {
  local -a found
  local line
  for line in "\${(@f)$(vessel-export complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    line=\${line//:/\\\\:}
    found+=("\${line/$'\\t'/:}")
  done
  if [[ -n $found[1] ]]; then _describe vessel-export found; else _files; fi
}
compdef _vessel_export vessel-export
`,
  fish: `function __vessel_export
  set -l words (commandline -opc) (commandline -ct)
  vessel-export complete -- $words[2..-1] 2>/dev/null
end
complete -c vessel-export -a '(__vessel_export)'
`,
};

type Shell = keyof typeof SCRIPTS;
export const SHELLS = Object.keys(SCRIPTS) as Shell[];

export function completionCommand(context: CommandContext, shell: Shell): number {
  writeLines(context.stdout, SCRIPTS[shell]);
  return EXIT_OK;
}

/** Print what may replace the last of `words`. It reads only the names in JOBS_DIR. */
export function completeCommand(
  context: CommandContext,
  commands: readonly CommandRow[],
  words: readonly string[],
): number {
  const typed = words.at(-1) ?? '';
  const found = candidates(commands, words.slice(0, -1), typed, () =>
    jobNames(context.env.JOBS_DIR || 'jobs'),
  );
  for (const [name, meaning] of found)
    if (name.startsWith(typed)) writeFields(context.stdout, [name, meaning]);
  return EXIT_OK;
}

type Candidate = readonly [name: string, meaning: string];

function candidates(
  commands: readonly CommandRow[],
  before: readonly string[],
  typed: string,
  jobs: () => readonly Candidate[],
): readonly Candidate[] {
  const visible = commands.filter(({ hidden }) => hidden !== true);
  const at = before.findIndex((word) => !word.startsWith('-'));
  const command = visible.find(({ name }) => name === before[at]);
  if (command === undefined)
    return at === -1 ? visible.map(({ name, summary }) => [name, summary] as const) : [];
  const { options = [], arguments: [argument] = [], subcommands = [] } = command;
  const rest = before.slice(at + 1);
  const sub = subcommands.some(({ name }) => name === rest[0]);
  if (sub) return candidates(subcommands, rest, typed, jobs);
  const flagOf = ([flags]: OptionRow) => flags.split(' ')[0]!;
  if (typed.startsWith('-')) return options.map((row) => [flagOf(row), row[1]]);
  // There are no suggestions for the values of other options.
  if (options.some((row) => row[0].includes('<') && flagOf(row) === rest.at(-1))) return [];
  const here = rest.length === 0 ? subcommands.map(({ name, summary }) => [name, summary] as const) : [];
  const [name, , choices = []] = argument ?? [''];
  if (/job/.test(name)) return [...here, ...jobs()];
  return [...here, ...choices.map((choice) => [choice, ''] as const)];
}

function jobNames(folder: string): Candidate[] {
  try {
    return readdirSync(folder).flatMap((file) =>
      /\.ya?ml$/.test(file) ? [[file.replace(/\.ya?ml$/, ''), 'job'] as const] : [],
    );
  } catch {
    // No error can be printed while somebody types.
    return [];
  }
}
