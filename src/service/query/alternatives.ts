/** `{a,b}` in an expression stands for its alternatives, and may nest. A brace without a partner is a letter; spaces around alternatives are none. */
import { badRequest } from '../http/http-error.ts';

/** What one request may have: as many alternatives as expressions, since each costs what one does. */
const LIMITS = {
  'pairs of braces': 10_000,
  'alternatives in braces': 10_000,
  'letters of alternatives in braces': 256 * 1024,
};
type Counted = keyof typeof LIMITS;
const MAX_NESTING = 16;

/** Throws 400 where that many more are too many; the sum of all that was counted. */
type Count = (what: Counted, more: number) => number;

/** Texts and choices that follow each other; a choice is one of several such sequences. */
type Sequence = readonly (string | readonly Sequence[])[];

/** Every combination of alternatives of each expression of a request, written out as levels. Throws 400 when they are too many. */
export function expandAlternatives(expressions: readonly (readonly string[])[]): string[][][] {
  const spent = { 'pairs of braces': 0, 'alternatives in braces': 0, 'letters of alternatives in braces': 0 };
  return expressions.map((levels, at) => {
    const count: Count = (what, more) => {
      const found = spent[what] + more;
      if (found <= LIMITS[what]) return found;
      const where = `by expression ${number(at + 1)} of ${number(expressions.length)}`;
      throw badRequest(
        `this request has at least ${number(found)} ${what} ${where}; at most ${number(LIMITS[what])} in one request: split it, or use '*'`,
      );
    };
    const parsed = levels.map(parseChoices);
    const pairs = parsed.reduce((sum, level) => sum + level.pairs, 0);
    if (pairs === 0) return [[...levels]];
    spent['pairs of braces'] = count('pairs of braces', pairs);
    let combined: string[][] = [[]];
    for (const { sequence } of parsed) {
      const texts = textsOf(sequence, count);
      count('alternatives in braces', combined.length * texts.length);
      combined = combined.flatMap((before) => texts.map((text) => [...before, text]));
    }
    const letters = combined.reduce((sum, texts) => sum + lettersOf(texts), 0);
    spent['alternatives in braces'] = count('alternatives in braces', combined.length);
    spent['letters of alternatives in braces'] = count('letters of alternatives in braces', letters);
    return combined;
  });
}

function number(value: number): string {
  return value.toLocaleString('en');
}

function lettersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** Counted before they are made. */
function textsOf(sequence: Sequence, count: Count): string[] {
  let texts = [''];
  for (const part of sequence) {
    const choices =
      typeof part === 'string'
        ? [part]
        : part.flatMap((one) => textsOf(one, count)).map((text) => text.trim());
    count('alternatives in braces', texts.length * choices.length);
    const letters = lettersOf(texts) * choices.length + lettersOf(choices) * texts.length;
    count('letters of alternatives in braces', letters);
    texts = texts.flatMap((text) => choices.map((choice) => text + choice));
  }
  return texts;
}

/** A level as texts and choices. Throws 400 when braces nest too deep. */
function parseChoices(level: string): { readonly sequence: Sequence; readonly pairs: number } {
  // Texts at even places, what tells them apart at odd ones.
  const tokens = level.split(/([{},])/);
  const paired = pairedBraces(tokens);
  const open: { among: Sequence[]; sequence: (string | readonly Sequence[])[] }[] = [
    { among: [], sequence: [] },
  ];
  tokens.forEach((token, at) => {
    const inner = open.at(-1)!;
    if (token === '{' && paired.has(at)) {
      if (open.length > MAX_NESTING)
        throw badRequest(`braces nest more than ${MAX_NESTING} deep; write the expression flatter`);
      open.push({ among: [], sequence: [] });
    } else if (token === '}' && paired.has(at)) {
      open.pop();
      open.at(-1)!.sequence.push([...inner.among, inner.sequence]);
    } else if (token === ',' && open.length > 1) {
      inner.among.push(inner.sequence);
      inner.sequence = [];
    } else if (token !== '') inner.sequence.push(token);
  });
  return { sequence: open[0]!.sequence, pairs: paired.size / 2 };
}

/** Places of the braces that have a partner: a closing one's is the nearest open one before it. */
function pairedBraces(tokens: readonly string[]): ReadonlySet<number> {
  const paired = new Set<number>();
  const open: number[] = [];
  for (let at = 1; at < tokens.length; at += 2) {
    if (tokens[at] === '{') open.push(at);
    else if (tokens[at] === '}' && open.length > 0) paired.add(open.pop()!).add(at);
  }
  return paired;
}
