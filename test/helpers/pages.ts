/** README and docs/ as tests read them. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { pages, ROOT } from '../../docs/tools/generate.ts';
import { codeBlocks, codeSpans, sectionOf, tableRows } from '../../docs/tools/markdown.ts';

export const PAGES = pages().map((path) => ({
  path,
  name: relative(ROOT, path),
  text: readFileSync(path, 'utf8'),
}));

export function page(name: string): string {
  const found = PAGES.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no page '${name}'`);
  return found.text;
}

/** Fenced blocks of a language, and where they stand. */
export function blocksOf(language: string) {
  return PAGES.flatMap(({ name, text }) =>
    codeBlocks(text)
      .filter((block) => block.language === language)
      .map((block) => ({ ...block, where: `${name}:${block.line}` })),
  );
}

/** The first cell's code spans of the table below a heading. */
export function namesIn(name: string, heading: string): string[] {
  return tableRows(sectionOf(page(name), heading)).flatMap(([first]) => codeSpans(first!));
}

/** `vessel-export …` in blocks of shell: the words after it, without comment. */
export const SHELL_LINES = blocksOf('sh').flatMap(({ text, where }) =>
  text.split('\n').flatMap((line) => {
    const words = /^(?:npx|docker compose exec \w+) vessel-export ([^#]*)/.exec(line)?.[1];
    return words === undefined ? [] : [{ where, line, words: words.trim().split(/ +/) }];
  }),
);
