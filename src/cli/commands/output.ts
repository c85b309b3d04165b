/**
 * Prints a result for machines: `--json` as one object, `--ndjson` an item a line as it comes, its `kind` first, and the
 * summary as the last line: without that line the output is not whole. A list that may have hundreds of thousands of items
 * (STREAMED) stands first in the object and is written as it is made: where the command fails in between, what was printed
 * is no whole JSON.
 */
import { ConfigError } from '../../core/errors.ts';
import { cleanMessage } from '../../core/model/index.ts';
import type { JsonPage, Screen } from '../terminal/screen.ts';
import { createJsonPage } from '../terminal/screen.ts';
import { LINE_KINDS, LISTS, SCHEMA_VERSION } from './result-lists.ts';
import type { Item, Lists, ResultName, Summary } from './results.ts';

export interface OutputOptions {
  readonly json?: boolean;
  readonly ndjson?: boolean;
}

export interface Output<K extends ResultName> {
  /** For people: the command prints by itself, and what is told here goes nowhere. */
  readonly isText: boolean;
  add<L extends keyof Lists<K>>(list: L, item: Item<K, L>): void;
  /** To be waited for, where there is something, by who adds without end: else what nobody has read yet is kept. */
  taken(): Promise<void> | undefined;
  /** Once, after the last item. */
  end(summary: Summary<K>): void;
}

/** Lists that are written as they are made. */
const STREAMED: Partial<Record<ResultName, string>> = { status: 'days' };

/** What the options ask for. Holds the items of a `--json` only, and those of a streamed list not. Throws ConfigError `usage`. */
export function openOutput<K extends ResultName>(screen: Screen, name: K, options: OutputOptions): Output<K> {
  const { json = false, ndjson = false } = options;
  if (json && ndjson)
    throw new ConfigError('usage', '--ndjson: given together with --json, expected one of them');
  const lists: Record<string, unknown[]> = {};
  for (const list of LISTS[name]) lists[list] = [];
  const page = createJsonPage(screen, STREAMED[name] !== undefined);
  const streamed = openStreamed(page, STREAMED[name]);
  return {
    isText: !json && !ndjson,
    add(list, item) {
      const shown = typeof item === 'object' ? withBoundedTexts(item as object) : item;
      if (ndjson) page.line({ kind: LINE_KINDS[list as keyof typeof LINE_KINDS], ...(shown as object) });
      else if (json && list === STREAMED[name]) streamed.add(shown);
      else if (json) lists[list as string]!.push(shown);
    },
    taken: () => screen.taken?.(),
    end(summary) {
      const versioned = { schemaVersion: SCHEMA_VERSION, ...summary };
      if (ndjson) page.line({ kind: 'summary', ...versioned });
      else if (json) streamed.end(versioned, lists);
      page.end();
    },
  };
}

interface StreamedList {
  add(item: unknown): void;
  /** What stands behind it: the object's other members. */
  end(summary: object, lists: Record<string, unknown[]>): void;
}

/** The object of a `--json`; an item a line in the list `name`, where it got any. */
function openStreamed(page: JsonPage, name: string | undefined): StreamedList {
  let items = 0;
  return {
    add(item) {
      page.between(items++ === 0 ? `{\n  "${name}": [\n    ` : ',\n    ');
      page.value(item);
    },
    end(summary, { ...lists }) {
      if (items === 0) return page.line({ ...summary, ...lists }, 2);
      delete lists[name!];
      page.between('\n  ],');
      page.rest({ ...summary, ...lists }, 2);
    },
  };
}

/** Members that are for people: cleaned and bounded, where all others are exact. */
const TEXTS: ReadonlySet<string> = new Set(['message', 'found', 'expected', 'next', 'remark']);

function withBoundedTexts(item: object): object {
  // Most items have none, and there may be hundreds of thousands.
  let hasTexts = false;
  for (const name of TEXTS) hasTexts ||= Object.hasOwn(item, name);
  if (!hasTexts) return item;
  const bounded = ([name, value]: [string, unknown]) => [
    name,
    TEXTS.has(name) && typeof value === 'string' ? cleanMessage(value) : value,
  ];
  return Object.fromEntries(Object.entries(item).map(bounded));
}
