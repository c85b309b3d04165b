/** The text of a job file, and what YAML makes of it: whatever lies in its place, it is read in bounded time and memory. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import type { Document } from 'yaml';
import { isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { messageOf } from '../errors.ts';

/** Ten thousand vessels fit into it; the parser takes its time, and all the more the longer a file is. */
const MAX_FILE_BYTES = 128 << 10;
/** A value may stand for many; YAML's own limit, 100, does not count those of texts. */
const MAX_ALIASES = 100;
/** Brackets, and signs of a list or a key before one another in a line: the parser goes deeper with each. */
const MAX_BRACKETS = 4_000;
const NESTED_SIGNS = /(?:[-?:][ \t]+){50}/;

/** The text, or a fault: what lies there and why it is no job. */
type ReadText = { readonly text: string; readonly fault?: undefined } | { readonly fault: string };

/** Read a file that is one. Nobody waits for whoever should write into a pipe. */
export function readJobText(path: string): ReadText {
  try {
    // Opening a device may already do something.
    const fault = kindFault(statSync(path));
    if (fault !== undefined) return { fault };
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return kindFault(fstatSync(file)) === undefined ? readBounded(file) : { fault: 'it is being replaced' };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { fault: `cannot be read: ${messageOf(error)}` };
  }
}

function kindFault(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'it is a folder, expected a file';
  if (stats.isFIFO()) return 'it is a pipe, expected a file';
  return stats.isFile() ? undefined : 'it is a device or a socket, expected a file';
}

function readBounded(file: number): ReadText {
  const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(file, bytes, length, bytes.length - length, null);
  if (length > MAX_FILE_BYTES) return { fault: `it is longer than ${MAX_FILE_BYTES} bytes, expected a job` };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length)) };
  } catch {
    return { fault: 'it is not valid UTF-8; save it as UTF-8' };
  }
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
      ...document.errors.map(({ message, pos }) => `${message} ${at(pos[0])}`),
      ...referenceFaults(document, at),
    ];
    if (faults.length > 0) return { faults };
    return { content: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    // An alias of nothing, aliases of aliases.
    return { faults: [`cannot be read as YAML: ${messageOf(error)}`] };
  }
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
