/** Which series an expression matches, in one domain. What is compared is counted over the whole request. */
import { compileLevel, isAny } from '../../core/model/level-pattern.ts';
import { badRequest } from '../http/http-error.ts';
import type { FirstLevel, NamingIndex } from './series-index.ts';

/** Comparisons of a level with a pattern, in one request: some 20 ms. */
const MIN_COMPARISONS = 500_000;
/** As many as one expression may need, however many series there are. */
const COMPARISONS_PER_SERIES = 5;
/** What a series costs that is only added. */
const ADD = 1 / 4;

export interface Pattern {
  /** The first level; a text stands for itself, undefined for any. */
  readonly first: string | ((text: string) => boolean) | undefined;
  /** Comparisons of one call of `tail`. */
  readonly cost: number;
  /** Do the levels behind the first match? */
  tail(levels: readonly string[], firstLevel: string): boolean;
}

/** Counts comparisons. Throws 400 when they are too many. */
type Spend = (comparisons: number) => void;

/** `series`: how many there are to be compared with. */
export function createComparisonsBudget(series: number): Spend {
  const allowed = Math.max(MIN_COMPARISONS, COMPARISONS_PER_SERIES * series);
  let spent = 0;
  return (comparisons) => {
    spent += comparisons;
    if (spent > allowed)
      throw badRequest(
        `to find what the expressions of this request match takes more than ${allowed.toLocaleString('en')} comparisons with ids; split the request, or name vessels instead of '*'`,
      );
  };
}

/** Ids whose levels match these; those behind the last are left to chance where the end is open. Throws 400. */
export function levelsPattern(levels: readonly string[], openEnd: boolean, spend: Spend): Pattern {
  spend(levels.length);
  const [first, ...rest] = levels;
  const tests = rest.map(compileLevel);
  return {
    first:
      first === undefined || isAny(first) ? undefined : first.includes('*') ? compileLevel(first) : first,
    cost: 1 + rest.filter((level) => level.includes('*') && !isAny(level)).length,
    tail: (found) =>
      (found.length === tests.length || (openEnd && found.length > tests.length)) &&
      tests.every((matches, at) => matches(found[at]!)),
  };
}

/** Positions of the series that a pattern matches. Throws 400 when that takes too long. */
export function* matchingSeries(
  { first, cost, tail }: Pattern,
  { firstLevels, tails }: NamingIndex,
  spend: Spend,
): Generator<number> {
  // Vessels share their tails: for any vessel each is compared once, whoever has it.
  if (first === undefined)
    for (const { levels, series } of tails) {
      spend(cost);
      if (!tail(levels, '')) continue;
      spend(series.length * ADD);
      yield* series;
    }
  for (const { text, series, tails: ofSeries } of firstLevelsOf(first, firstLevels, spend)) {
    spend(series.length * cost);
    for (const [at, { levels }] of ofSeries.entries()) if (tail(levels, text)) yield series[at]!;
  }
}

function* firstLevelsOf(
  first: Pattern['first'],
  firstLevels: NamingIndex['firstLevels'],
  spend: Spend,
): Generator<FirstLevel> {
  if (typeof first === 'string') {
    const only = firstLevels.get(first);
    if (only !== undefined) yield only;
  } else if (first !== undefined)
    for (const firstLevel of firstLevels.values()) {
      spend(1);
      if (first(firstLevel.text)) yield firstLevel;
    }
}

type Part = (found: readonly string[] | undefined) => boolean;

/** The series that a path's levels select. */
export function compileVisParts(levels: readonly string[]): Pattern {
  const wanted = partsOf(levels);
  const vessel = wanted.vessel === undefined ? () => true : compileLevel(wanted.vessel);
  const [primary, secondary, meta] = [part(wanted.primary), part(wanted.secondary), part(wanted.meta)];
  const noSecondary = wanted.secondary === undefined && wanted.meta !== undefined;
  return {
    first: (text) => vessel(text === 'sec' || text === 'meta' ? '' : text),
    cost: 1,
    tail: (tail, firstLevel) => {
      // Without a vessel before them, `sec` and `meta` are no first level but begin a part.
      const found = partsOf([firstLevel, ...tail]);
      return (
        !(noSecondary && found.secondary !== undefined) &&
        primary(found.primary) &&
        secondary(found.secondary) &&
        meta(found.meta)
      );
    },
  };
}

function part(wanted: readonly string[] | undefined): Part {
  if (wanted === undefined || wanted.length === 0) return () => true;
  const patterns = wanted.map(compileLevel);
  return (found) =>
    found?.length === patterns.length && patterns.every((matches, index) => matches(found[index]!));
}

function partsOf(levels: readonly string[]) {
  const metaAt = levels.indexOf('meta');
  const beforeMeta = metaAt < 0 ? levels : levels.slice(0, metaAt);
  const secAt = beforeMeta.indexOf('sec');
  return {
    vessel: beforeMeta[0] === 'sec' ? undefined : beforeMeta[0],
    primary: secAt < 0 ? beforeMeta.slice(1) : beforeMeta.slice(1, secAt),
    secondary: secAt < 0 ? undefined : beforeMeta.slice(secAt + 1),
    meta: metaAt < 0 ? undefined : levels.slice(metaAt + 1),
  };
}
