/**
 * `npm run generate`: write what the documentation says in the code's own words, between the markers of its pages, and
 * draw the picture of the demo. The test of the documentation fails where a page is not what this would write.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawDemo, sameButNumbers } from './picture.ts';
import { SECTIONS } from './sections.ts';

export const ROOT = join(import.meta.dirname, '../..');
export const PICTURE = join(ROOT, 'docs/images/demo.svg');

/** Every page that people read: those at the top, and those of docs/. */
export function pages(): string[] {
  const markdown = (folder: string) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .sort()
      .map((name) => join(folder, name));
  return [...markdown(ROOT), ...markdown(join(ROOT, 'docs'))];
}

const MARKED = /(<!-- begin ([a-z-]+): [^\n]*-->\n)[\s\S]*?(<!-- end \2 -->)/g;

/** A page with each of its marked sections written anew. Throws Error for a marker that names no section. */
export async function refreshPage(text: string): Promise<string> {
  let refreshed = text;
  for (const [whole, begin, name, end] of text.matchAll(MARKED)) {
    const section = SECTIONS[name!];
    if (section === undefined)
      throw new Error(`no section '${name}', expected one of ${Object.keys(SECTIONS).join(', ')}`);
    const content = await section();
    refreshed = refreshed.replace(whole, () => `${begin}\n${content}\n\n${end}`);
  }
  return refreshed;
}

async function main(): Promise<void> {
  for (const path of pages()) {
    const text = readFileSync(path, 'utf8');
    const refreshed = await refreshPage(text);
    if (refreshed !== text) writeFileSync(path, refreshed);
  }
  const drawn = await drawDemo();
  // Every day has other dates: only what else has changed is worth a new picture.
  const old = existsSync(PICTURE) ? readFileSync(PICTURE, 'utf8') : '';
  if (!sameButNumbers(drawn, old)) writeFileSync(PICTURE, drawn);
}

if (import.meta.main) await main();
