/** The text of a job file, and what YAML makes of it: whatever lies in its place, it is read in bounded time and memory. */
import { type Document, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { messageOf } from '../../core/errors.ts';
import { type ReadText, readSmallText } from '../../core/process/small-file.ts';

/** Ten thousand vessels fit into it; the parser takes its time, and all the more the longer a file is. */
const MAX_FILE_BYTES = 128 << 10;
/** A value may stand for many; YAML's own limit, 100, does not count those of texts. */
const MAX_ALIASES = 100;
/** Brackets, and signs of a list or a key before one another in a line: the parser goes deeper with each. */
const MAX_BRACKETS = 4_000;
const NESTED_SIGNS = /(?:[-?:][ \t]+){50}/;

/** Read a job file: its text, or a fault. */
export function readJobText(path: string): ReadText {
  return readSmallText(path, MAX_FILE_BYTES, 'a job');
}

/** What YAML stands for, or faults. */
type ReadYaml = { readonly content: unknown; readonly faults?: undefined } | { readonly faults: string[] };

export function readYaml(text: string): ReadYaml {
  const brackets = text.match(/[[{]/g)?.length ?? 0;
  if (brackets > MAX_BRACKETS)
    return { faults: [`got ${brackets} brackets, expected at most ${MAX_BRACKETS}`] };
  if (NESTED_SIGNS.test(text)) return { faults: ['got a line of 50 lists in each other, expected a job'] };
  try {
    const lines = new LineCounter();
    const at = (offset: number) => {
      const { line, col } = lines.linePos(offset);
      return `at line ${line}, column ${col}`;
    };
    // Excerpts of a long line take longer than all else, and keys would be compared with each other one.
    const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter: lines });
    const faults = [
      ...document.errors.map(({ message, pos }) => `${withoutSource(message)} ${at(pos[0])}`),
      ...referenceFaults(document, at),
    ];
    if (faults.length > 0) return { faults };
    return { content: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    // An alias of nothing, aliases of aliases.
    return { faults: [`cannot be read as YAML: ${messageOf(error)}`] };
  }
}

/** The parser repeats what it found after a colon: in a file that is no job, that may be a secret. */
function withoutSource(message: string): string {
  return message.split(': ', 1)[0]!;
}

/** Aliases without end, and keys that come twice. */
function referenceFaults(document: Document, at: (offset: number) => string): string[] {
  let aliases = 0;
  const doubled: string[] = [];
  visit(document, {
    Alias: () => void aliases++,
    Map(_key, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value))
          doubled.push(`the key ${JSON.stringify(key.value)} stands there twice ${at(key.range?.[0] ?? 0)}`);
        seen.add(key.value);
      }
    },
  });
  return aliases > MAX_ALIASES
    ? [`got ${aliases} aliases, expected at most ${MAX_ALIASES}`, ...doubled]
    : doubled;
}
