/** Pages of Markdown, as far as the documentation uses it. Pure. */

/** A fenced block, and the page's line on which it begins. */
export interface CodeBlock {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm;

export function codeBlocks(page: string): CodeBlock[] {
  return [...page.matchAll(FENCED)].map((match) => ({
    language: match[1]!,
    text: match[2]!,
    line: page.slice(0, match.index).split('\n').length,
  }));
}

/** The page without what stands in fenced blocks. */
export function proseOf(page: string): string {
  return page.replace(FENCED, '');
}

/** The headings of a page, without their marks. */
export function headings(page: string): string[] {
  return [...proseOf(page).matchAll(/^#{1,6} (.+)$/gm)].map((match) => match[1]!);
}

/** The anchor that a heading has on GitHub. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** What stands below a heading, up to the next one of its rank or above. Throws Error where there is none. */
export function sectionOf(page: string, heading: string): string {
  // A comment in a block of shell or YAML is no heading.
  const lines = page.replace(FENCED, (block) => block.replace(/^#/gm, ' #')).split('\n');
  const begin = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (begin < 0) throw new Error(`no heading '${heading}'`);
  const rank = lines[begin]!.indexOf(' ');
  const length = lines.slice(begin + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= rank);
  return lines.slice(begin + 1, length < 0 ? undefined : begin + 1 + length).join('\n');
}

/** The cells of the first table in a text, its head left out. */
export function tableRows(text: string): string[][] {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => /^\|(-+\|)+$/.test(line));
  const rows: string[][] = [];
  for (const line of begin < 0 ? [] : lines.slice(begin + 1)) {
    if (!line.startsWith('|')) break;
    rows.push(
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

/** The texts between backticks, outside of fenced blocks. */
export function codeSpans(text: string): string[] {
  return [...proseOf(text).matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
}

/** Targets of links and pictures, outside of fenced blocks. */
export function linkTargets(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
}
