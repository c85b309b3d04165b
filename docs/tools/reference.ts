/** The reference of the module: what `src/index.ts` exports, as its source and docstrings say it. TypeDoc knows no TypeScript 7. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SRC = join(import.meta.dirname, '../../src');
const INDEX = join(SRC, 'index.ts');

interface Exported {
  readonly name: string;
  /** The file that declares it. */
  readonly path: string;
}

/** Functions, classes, then types, each with its docstring and declaration. Throws Error for a name without either. */
export function apiReference(): string {
  const found = exportsOf(INDEX).map(declared);
  const sections = [
    ['Functions', found.filter(({ code }) => /^(?:async )?function|^const/.test(code))],
    ['Errors', found.filter(({ code }) => /^(?:abstract )?class/.test(code))],
    ['Types', found.filter(({ code }) => /^(?:interface|type)/.test(code))],
  ] as const;
  return sections
    .map(([title, entries]) => `## ${title}\n\n${entries.map(entryText).join('\n\n')}`)
    .join('\n\n');
}

function entryText({ name, path, doc, code }: Declared): string {
  const place = relative(dirname(SRC), path);
  return `### ${name}\n\n${doc}\n\n\`\`\`ts\n${code}\n\`\`\`\n\nDeclared in [\`${place}\`](../${place}).`;
}

/** What a file exports under its own names, from wherever. */
function exportsOf(path: string): Exported[] {
  const text = readFileSync(path, 'utf8');
  const passedOn = [...text.matchAll(/^export (?:type )?\{([^}]+)\} from '([^']+)';/gm)].flatMap((match) =>
    match[1]!
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean)
      .map((name) => {
        const found = origin(name, join(dirname(path), match[2]!));
        if (found === undefined)
          throw new Error(`index.ts: '${name}' is declared nowhere below '${match[2]}'`);
        return found;
      }),
  );
  const own = [...text.matchAll(/^export (?:async )?(?:function|interface|type|class|const) (\w+)/gm)];
  return [...own.map((match) => ({ name: match[1]!, path })), ...passedOn];
}

/** Where a name is declared, through files that pass it on. */
function origin(name: string, path: string): Exported | undefined {
  const text = readFileSync(path, 'utf8');
  if (declarationOf(name, text) !== undefined) return { name, path };
  for (const [, names, from] of text.matchAll(/^export (?:type )?(?:\{([^}]+)\}|\*) from '([^']+)';/gm)) {
    if (names !== undefined && !names.split(',').some((one) => one.trim() === name)) continue;
    const found = origin(name, join(dirname(path), from!));
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Declared extends Exported {
  readonly doc: string;
  readonly code: string;
}

function declared({ name, path }: Exported): Declared {
  const text = readFileSync(path, 'utf8');
  const match = declarationOf(name, text)!;
  const doc = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n$/.exec(text.slice(0, match.index))?.[1];
  if (doc === undefined)
    throw new Error(`${relative(SRC, path)}: '${name}' is exported and has no docstring`);
  return { name, path, doc: docText(doc), code: declarationText(text.slice(match.index)) };
}

function declarationOf(name: string, text: string): RegExpExecArray | undefined {
  const shape = `^export (?:abstract )?(?:async )?(?:function|interface|type|class|const) ${name}\\b`;
  return new RegExp(shape, 'm').exec(text) ?? undefined;
}

function docText(doc: string): string {
  return doc.replace(/^[ \t]*\* ?/gm, '').trim();
}

/** Of a function or class what its users see of it; of a type the whole. */
function declarationText(text: string): string {
  const code = text.replace(/^export /, '');
  if (/^(?:async )?function/.test(code)) return `${/^[\s\S]*?\)(?:: [^\n]*?)?(?= \{\n)/.exec(code)![0]};`;
  if (/^(?:abstract )?class/.test(code)) return `${/^[^{]*/.exec(code)![0].trim()} { … }`;
  if (/^interface/.test(code)) return /^[\s\S]*?(?:\{\}|^\})$/m.exec(code)![0];
  if (/^const/.test(code)) return `${/^const \w+(?:: [^=]+)?/.exec(code)![0].trim()};`;
  return /^[\s\S]*?;$/m.exec(code)![0];
}
