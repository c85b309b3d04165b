/**
 * `{a,b}` in an expression: each stands for its alternatives, and may nest. A brace without a partner is a letter
 * like any other. Spaces around an alternative do not count.
 */
import { HttpError } from '../http/http-error.ts';

/** Alternatives of one request, as many as expressions, since each costs what one does; and pairs of braces. */
const MAX_ALTERNATIVES = 10_000;
/** Letters of all alternatives of one request, written out; a pair of braces counts as one. */
const MAX_ALTERNATIVE_CHARS = 256 * 1024;
const MAX_NESTING = 16;

/** Texts and choices that follow each other; a choice is one of several such sequences. */
type Sequence = readonly (string | Choice)[];
interface Choice {
  readonly among: readonly Sequence[];
}

/**
 * Every combination of alternatives of each expression of a request, written out as levels. They are counted before
 * any is made. Throws 400 when they are too many.
 */
export function expandAlternatives(expressions: readonly (readonly string[])[]): string[][][] {
  let [pairs, alternatives, chars] = [0, 0, 0];
  const parsed = expressions.map((levels, at) => {
    const sequences = levels.map(parseChoices);
    const size = sizeOf(sequences.flat());
    if (size.pairs === 0) return sequences;
    pairs += size.pairs;
    alternatives += size.count;
    chars += size.chars;
    const where = `by expression ${number(at + 1)} of ${number(expressions.length)}`;
    refuseBeyond(pairs, MAX_ALTERNATIVES, 'pairs of braces', where);
    refuseBeyond(alternatives, MAX_ALTERNATIVES, 'alternatives in braces', where);
    refuseBeyond(chars, MAX_ALTERNATIVE_CHARS, 'letters of alternatives in braces', where);
    return sequences;
  });
  return parsed.map(combinations);
}

function refuseBeyond(counted: number, allowed: number, what: string, where: string): void {
  if (counted <= allowed) return;
  const found = counted < 1e15 ? number(counted) : 'more than 10^15';
  throw new HttpError(
    400,
    `this request has ${found} ${what} ${where}; at most ${number(allowed)} in one request: split it, or use '*'`,
  );
}

function number(value: number): string {
  return value.toLocaleString('en');
}

function combinations(levels: readonly Sequence[]): string[][] {
  let combined: string[][] = [[]];
  for (const level of levels) {
    const texts = textsOf(level);
    combined = combined.flatMap((before) => texts.map((text) => [...before, text]));
  }
  return combined;
}

/** A level as texts and choices. Throws 400 when braces nest too deep. */
function parseChoices(level: string): Sequence {
  if (!level.includes('{')) return [level];
  // Texts at even places, what tells them apart at odd ones.
  const tokens = level.split(/([{},])/);
  const paired = pairedBraces(tokens);
  const open: { among: Sequence[]; sequence: (string | Choice)[] }[] = [{ among: [], sequence: [] }];
  tokens.forEach((token, at) => {
    const inner = open.at(-1)!;
    if (token === '{' && paired.has(at)) {
      if (open.length > MAX_NESTING)
        throw new HttpError(400, `braces nest more than ${MAX_NESTING} deep; write the expression flatter`);
      open.push({ among: [], sequence: [] });
    } else if (token === '}' && paired.has(at)) {
      open.pop();
      open.at(-1)!.sequence.push({ among: [...inner.among, inner.sequence] });
    } else if (token === ',' && open.length > 1) {
      inner.among.push(inner.sequence);
      inner.sequence = [];
    } else if (token !== '') inner.sequence.push(token);
  });
  return open[0]!.sequence;
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

/** How many texts a sequence stands for, their letters together, and the pairs of braces that say so. */
function sizeOf(sequence: Sequence): { count: number; chars: number; pairs: number } {
  let [count, chars, pairs] = [1, 0, 0];
  for (const part of sequence) {
    if (typeof part === 'string') {
      chars += count * part.length;
      continue;
    }
    let [choices, choiceChars] = [0, 0];
    for (const size of part.among.map(sizeOf)) {
      choices += size.count;
      choiceChars += size.chars + size.count;
      pairs += size.pairs;
    }
    chars = chars * choices + choiceChars * count;
    count *= choices;
    pairs += 1;
  }
  return { count, chars, pairs };
}

function textsOf(sequence: Sequence): string[] {
  let texts = [''];
  for (const part of sequence) {
    if (typeof part === 'string') texts = texts.map((text) => text + part);
    else {
      const choices = part.among.flatMap(textsOf).map((text) => text.trim());
      texts = texts.flatMap((text) => choices.map((choice) => text + choice));
    }
  }
  return texts;
}
