/** What holds for everything that runs in a browser, whoever wrote it. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const PAGE = 'src/web/page';
const files = readdirSync(PAGE, { recursive: true, encoding: 'utf8' });
const modules = files.filter((name) => name.endsWith('.js'));
const textOf = (name: string) => readFileSync(join(PAGE, name), 'utf8');
/** Without comments. */
const codeOf = (name: string) => textOf(name).replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, '');
const importsOf = (name: string) =>
  [...codeOf(name).matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g)].map((match) => match[1]!);

/** Ways by which text could become an element, a script or a style; and who may go them. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  'text is set as text, never as markup':
    /\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|DOMParser|srcdoc)\b|document\.write/,
  'nothing is run that came as text': /\beval\s*\(|\bnew Function\b|\bset(?:Timeout|Interval)\(\s*['"`]/,
  'no style is an attribute': /setAttribute\(\s*['"]style|\bstyle:\s*['"`]|\bcssText\b/,
  'nothing of other hosts is named': /['"`](?:https?:|wss?:)?\/\/[\w.]/,
  'other windows and frames are left alone':
    /\bwindow\.open\((?![^;]*'noopener')|\bpostMessage\b|['"]iframe['"]|\.opener\b/,
  'nothing is written to a console': /\bconsole\.\w+\(/,
  'no default exports': /^export default/m,
};

test('there are modules to look at', () => {
  expect(modules).toEqual(expect.arrayContaining(['app.js', 'api.js', 'router.js', 'parts/dom.js']));
});

test.for(Object.entries(FORBIDDEN))('%s', ([, way]) => {
  expect(modules.filter((name) => way.test(codeOf(name)))).toEqual([]);
});

test('each rule finds what it forbids, and leaves what only looks like it', () => {
  const examples = [
    ...['element.innerHTML = name', "document.write('x')", "setTimeout('go()')", "h('p', { style: 'x' })"],
    ...["fetch('https://example.com')", 'import("//cdn.example/x.js")', "window.open('/')", 'console.log(1)'],
    'export default 1',
  ];
  const found = examples.map((text) => Object.values(FORBIDDEN).some((way) => way.test(text)));
  expect(found).toEqual(examples.map(() => true));
  const fine = "const text = a // b; setTimeout(() => fill(x), 5); h('a', { href: '/x' }); open(dialog)";
  expect(Object.values(FORBIDDEN).some((way) => way.test(fine))).toBe(false);
});

test('modules import each other, and the libraries that are served to them', () => {
  const wrong = modules.flatMap((name) =>
    importsOf(name)
      .filter((path) => !/^\/vendor\/(?:uplot|hyparquet|fzstd)\/[\w./-]+\.m?js$/.test(path))
      .filter((path) => {
        const target = normalize(join(dirname(name), path));
        return !path.startsWith('.') || !modules.includes(target);
      })
      .map((path) => `${name} → ${path}`),
  );
  expect(wrong).toEqual([]);
});

test('what a module exports is used by another, or by a test', () => {
  const tests = ['test/web', 'test/browser'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  );
  const unused = modules.flatMap((name) => {
    const exported = [...codeOf(name).matchAll(/^export (?:async )?(?:function\*?|const|class)\s+(\w+)/gm)];
    return exported
      .map((match) => match[1]!)
      .filter((word) => {
        const shape = new RegExp(`\\b${word}\\b`);
        const isUsed = modules.some((other) => other !== name && shape.test(codeOf(other)));
        return !isUsed && !tests.some((text) => shape.test(text));
      })
      .map((word) => `${name}: ${word}`);
  });
  expect(unused).toEqual([]);
});

test('every module is checked by the compiler, and says so in an editor', () => {
  expect(modules.filter((name) => !textOf(name).startsWith('// @ts-check\n'))).toEqual([]);
});

test('the document and the styles have nothing inline and nothing of elsewhere', () => {
  const html = textOf('index.html');
  expect(html).not.toMatch(/\son\w+=|\sstyle=|<style|<base|javascript:/i);
  const scripts = [...html.matchAll(/<script([^>]*)>([^<]*)/g)];
  expect(scripts.map(([, attributes, body]) => [/src="\/page\//.test(attributes!), body])).toEqual([
    [true, ''],
    [true, ''],
  ]);
  const addresses = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1]!);
  expect(addresses.filter((address) => !/^(?:\/page\/|#)/.test(address))).toEqual([]);
  for (const name of files.filter((each) => each.endsWith('.css'))) {
    const css = textOf(name).replace(/\/\*[\s\S]*?\*\//g, '');
    expect(css, name).not.toMatch(/@import|https?:|expression\(/);
    for (const [, address] of css.matchAll(/url\(([^)]*)\)/g)) expect(address, name).toMatch(/^["']?data:/);
  }
});
