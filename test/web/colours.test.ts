/** The page's colours: states that people with any kind of colour vision tell apart, and text that stands out. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { WRONG_STATES } from '../../src/audit/status/cells.ts';
import { CELL_LETTERS } from '../../src/web/answers.ts';

type Rgb = readonly [number, number, number];

/** Colours of each theme by name: `--state-failed` → linear RGB. */
function themes(): Readonly<Record<'light' | 'dark', ReadonlyMap<string, Rgb>>> {
  const css = readFileSync('src/web/page/app.css', 'utf8');
  const tokensIn = (selector: string) => {
    const body = css.slice(css.indexOf(`${selector} {`)).split('}', 1)[0]!;
    const colours = [...body.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)];
    return new Map(colours.map(([, name, hex]) => [name!, linear(hex!)] as const));
  };
  return { light: tokensIn(':root'), dark: tokensIn(':root[data-theme="dark"]') };
}

function linear(hex: string): Rgb {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

/** Machado, Oliveira and Fernandes, 2009: what people without one kind of cones see, severity 1. */
const VISION: Readonly<Record<string, readonly [Rgb, Rgb, Rgb]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(colour: Rgb, matrix: readonly [Rgb, Rgb, Rgb]): Rgb {
  return times(matrix, colour).map((value) => Math.min(1, Math.max(0, value))) as unknown as Rgb;
}

function times(matrix: readonly [Rgb, Rgb, Rgb], [x, y, z]: Rgb): Rgb {
  return matrix.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Rgb;
}

/** OKLab, in which distances are about what people see: 2 can just be told apart side by side, with lightness 0 to 100. */
function lab(colour: Rgb): Rgb {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    colour,
  ).map(Math.cbrt) as unknown as Rgb;
  return times(
    [
      [21.04542553, 79.3617785, -0.40720468],
      [197.79984951, -242.8592205, 45.05937099],
      [2.59040371, 78.27717662, -80.8675766],
    ],
    cones,
  );
}

function distance(a: Rgb, b: Rgb): number {
  const [p, q] = [lab(a), lab(b)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

test('the measure is right: white and black are 100 apart, red and green near for who lacks a kind of cones', () => {
  const [white, black] = [linear('#ffffff'), linear('#000000')];
  expect(distance(white, black)).toBeCloseTo(100, 3);
  const apart = (vision: string) =>
    distance(seen(linear('#b05000'), VISION[vision]!), seen(linear('#6d7a00'), VISION[vision]!));
  expect(apart('normal')).toBeGreaterThan(13);
  expect(apart('deuteranopia')).toBeLessThan(6);
});

test('what people are told of states is of all of them, and no two are told alike', async () => {
  const module = await import(new URL('../../src/web/page/parts/states.js', import.meta.url).href);
  const rows = module.STATES as readonly Readonly<
    Record<'state' | 'letter' | 'word' | 'meaning' | 'colour', string> & { isWrong?: true }
  >[];
  expect(Object.fromEntries(rows.map(({ state, letter }) => [state, letter]))).toEqual(CELL_LETTERS);
  for (const key of ['word', 'meaning', 'colour'] as const)
    expect(new Set(rows.map((row) => row[key])).size, key).toBe(rows.length);
  expect(rows.map(({ state, colour }) => [colour, `--state-${state}`]).filter(([a, b]) => a !== b)).toEqual(
    [],
  );
  const wrong = rows.filter(({ isWrong }) => isWrong).map(({ state }) => state);
  expect(wrong.sort()).toEqual([...WRONG_STATES].sort());
  expect(module.BY_LETTER.get('f')).toBe(module.BY_STATE.get('failed'));
});

test.for(Object.keys(VISION))('every two states differ in both themes: %s', (vision) => {
  const near: string[] = [];
  for (const [theme, colours] of Object.entries(themes())) {
    const states = Object.keys(CELL_LETTERS).map((state) => `--state-${state}`);
    expect(states.filter((name) => !colours.has(name))).toEqual([]);
    for (const [at, name] of states.entries()) {
      for (const other of states.slice(0, at)) {
        const [a, b] = [name, other].map((each) => seen(colours.get(each)!, VISION[vision]!)) as [Rgb, Rgb];
        if (distance(a, b) < 11.5) near.push(`${theme}: ${name} and ${other} ${distance(a, b).toFixed(1)}`);
      }
    }
  }
  expect(near).toEqual([]);
});

test('text stands out from what it stands on (WCAG AA)', () => {
  const luminance = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const contrast = (a: Rgb, b: Rgb) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
    return (high + 0.05) / (low + 0.05);
  };
  expect(contrast(linear('#ffffff'), linear('#000000'))).toBeCloseTo(21, 5);
  const pairs = [
    ...['--text', '--muted', '--accent', '--fault'].flatMap((text) => [
      [text, '--page'],
      [text, '--raised'],
    ]),
    ['--text', '--line'],
    ['--on-accent', '--accent'],
  ] as [string, string][];
  for (const [theme, colours] of Object.entries(themes())) {
    for (const [text, ground] of pairs)
      expect(
        contrast(colours.get(text)!, colours.get(ground)!),
        `${theme}: ${text} on ${ground}`,
      ).toBeGreaterThan(4.5);
    // What shows where the focus is.
    for (const ground of ['--page', '--raised'])
      expect(contrast(colours.get('--focus')!, colours.get(ground)!), theme).toBeGreaterThan(3);
  }
});
