/**
 * Many expressions against many series at once. The expressions of a domain become one tree of levels, so that what
 * they have in common is compared once, and each series learns of the first expression that matches it. What is
 * compared is counted over the whole request.
 */

import type { Glob } from '../../core/model/level-pattern.ts';
import { compileGlob, isAny } from '../../core/model/level-pattern.ts';
import { HttpError } from '../http/http-error.ts';
import type { FirstLevel, NamingIndex, Tail } from './series-index.ts';

/** Comparisons of a level with a piece of a pattern, in one request: some 20 ms. */
const MIN_COMPARISONS = 500_000;
/** As many as one expression may need, however many series there are. */
const COMPARISONS_PER_SERIES = 5;
/** What costs less: going down a level, and a series that is only added. */
const DOWN = 1 / 2;
const ADD = 1 / 4;
/** And more: a level of an expression that no other has had. */
const NEW_LEVEL = 5;
/** Of all series: up to so many matches are few. */
const FEW = 1 / 32;
const NONE = Number.POSITIVE_INFINITY;

/** A level that expressions have in common, and those that go on behind it. */
interface PatternNode {
  exact: Map<string, PatternNode> | undefined;
  any: PatternNode | undefined;
  globs: Map<string, { readonly glob: Glob; readonly next: PatternNode }> | undefined;
  /** Position of the first expression that ends here. */
  ends: number;
  /** Position of the first that ends here and leaves the levels behind it to chance. */
  stops: number;
}

/** What decides on series where patterns of levels cannot. */
export interface SeriesTest {
  firstLevel(text: string): boolean;
  tail(firstLevel: string, tail: readonly string[]): boolean;
  /** True: behind this first level `tail` says the same as behind any other of which this is true. */
  isSameForAll(firstLevel: string): boolean;
}

/** What one request may compare. */
export class ComparisonsBudget {
  readonly #allowed: number;
  #spent = 0;

  /** @param series How many there are to be compared with. */
  constructor(series: number) {
    this.#allowed = Math.max(MIN_COMPARISONS, COMPARISONS_PER_SERIES * series);
  }

  /** Throws 400 when they are too many. */
  spend(comparisons: number): void {
    this.#spent += comparisons;
    if (this.#spent > this.#allowed)
      throw new HttpError(
        400,
        `to find what the expressions of this request match takes more than ${this.#allowed.toLocaleString('en')} comparisons with ids; split the request, or name vessels instead of '*'`,
      );
  }
}

/**
 * For each series the position of the first expression that matches it. Few matches are kept one by one, so that a
 * request for one vessel costs the same in any fleet; many are kept as a table of all series.
 */
export class FirstMatches {
  readonly #few = new Map<number, number>();
  readonly #series: number;
  readonly #mostFew: number;
  /** Position + 1 by series, 0: none; once there are many. */
  #many: Uint32Array | undefined;

  constructor(series: number) {
    this.#series = series;
    this.#mostFew = series * FEW;
  }

  add(series: number, position: number): void {
    const known = this.of(series);
    if (known !== undefined && known <= position) return;
    if (this.#many !== undefined) this.#many[series] = position + 1;
    else if (this.#few.set(series, position).size > this.#mostFew) this.#toMany();
  }

  /** Undefined where nothing matches. */
  of(series: number): number | undefined {
    if (this.#many === undefined) return this.#few.get(series);
    const known = this.#many[series]!;
    return known === 0 ? undefined : known - 1;
  }

  /** The series to ask `of` about, ascending: those that match, or all where they are many. */
  candidates(): ArrayLike<number> {
    if (this.#many === undefined) return Uint32Array.from(this.#few.keys()).sort();
    const all = new Uint32Array(this.#series);
    for (let at = 0; at < all.length; at++) all[at] = at;
    return all;
  }

  #toMany(): void {
    this.#many = new Uint32Array(this.#series);
    for (const [series, position] of this.#few) this.#many[series] = position + 1;
    this.#few.clear();
  }
}

/** The expressions of one request in one domain. */
export class SeriesMatcher {
  readonly #index: NamingIndex;
  readonly #budget: ComparisonsBudget;
  readonly #ids = new Map<string, number>();
  readonly #root = createNode();
  readonly #tests: { readonly test: SeriesTest; readonly position: number }[] = [];

  constructor(index: NamingIndex, budget: ComparisonsBudget) {
    this.#index = index;
    this.#budget = budget;
  }

  /** Series whose id is exactly this. */
  addId(id: string, position: number): void {
    const known = this.#ids.get(id);
    if (known === undefined || position < known) this.#ids.set(id, position);
  }

  /** Series whose levels match; those behind the last are left to chance where the end is open. Throws 400. */
  addLevels(levels: readonly string[], openEnd: boolean, position: number): void {
    let node = this.#root;
    for (const level of levels) node = knownChild(node, level) ?? this.#newChild(node, level);
    if (openEnd) node.stops = Math.min(node.stops, position);
    else node.ends = Math.min(node.ends, position);
  }

  /** Series that pass a test. */
  addTest(test: SeriesTest, position: number): void {
    this.#tests.push({ test, position });
  }

  /** Add what matches. Throws 400 when it takes too long. */
  findAll(found: FirstMatches): void {
    for (const [id, position] of this.#ids)
      for (const series of this.#index.withId(id)) found.add(series, position);
    this.#findByTails(found);
    this.#findByFirstLevels(found);
    this.#findByTests(found);
  }

  /** Expressions of any vessel: each tail is compared once, whoever has it. */
  #findByTails(found: FirstMatches): void {
    const { any, stops } = this.#root;
    if (any === undefined && stops === NONE) return;
    for (const tail of this.#index.tails) {
      const position = Math.min(stops, any === undefined ? NONE : this.#firstOf(any, tail.levels, 0));
      if (position === NONE) continue;
      this.#budget.spend(tail.series.length * ADD);
      for (const series of tail.series) found.add(series, position);
    }
  }

  #findByFirstLevels(found: FirstMatches): void {
    const { exact, globs } = this.#root;
    const { firstLevels } = this.#index;
    for (const [text, next] of exact ?? []) {
      const firstLevel = firstLevels.get(text);
      if (firstLevel !== undefined)
        this.#findIn(firstLevel, found, (tail) => this.#firstOf(next, tail.levels, 0));
    }
    for (const { glob, next } of globs?.values() ?? []) {
      const firstOf = remembered((tail) => this.#firstOf(next, tail.levels, 0));
      for (const firstLevel of firstLevels.values()) {
        this.#budget.spend(glob.cost);
        if (glob.matches(firstLevel.text)) this.#findIn(firstLevel, found, firstOf);
      }
    }
  }

  #findByTests(found: FirstMatches): void {
    for (const { test, position } of this.#tests) {
      const firstOf = (firstLevel: string) => (tail: Tail) => {
        this.#budget.spend(tail.levels.length);
        return test.tail(firstLevel, tail.levels) ? position : NONE;
      };
      const sameForAll = remembered(firstOf(''));
      for (const firstLevel of this.#index.firstLevels.values()) {
        const { text } = firstLevel;
        this.#budget.spend(1);
        if (test.firstLevel(text))
          this.#findIn(firstLevel, found, test.isSameForAll(text) ? sameForAll : firstOf(text));
      }
    }
  }

  #newChild(node: PatternNode, level: string): PatternNode {
    this.#budget.spend(NEW_LEVEL);
    const next = createNode();
    if (isAny(level)) node.any = next;
    else if (level.includes('*')) {
      node.globs ??= new Map();
      node.globs.set(level, { glob: compileGlob(level), next });
    } else {
      node.exact ??= new Map();
      node.exact.set(level, next);
    }
    return next;
  }

  #findIn({ series, tails }: FirstLevel, found: FirstMatches, firstOf: (tail: Tail) => number): void {
    this.#budget.spend(series.length);
    tails.forEach((tail, at) => {
      const position = firstOf(tail);
      if (position !== NONE) found.add(series[at]!, position);
    });
  }

  /** Position of the first expression behind a node that matches the levels from `at` on. */
  #firstOf(node: PatternNode, levels: readonly string[], at: number): number {
    this.#budget.spend(DOWN);
    if (at === levels.length) return Math.min(node.ends, node.stops);
    const text = levels[at]!;
    let first = node.stops;
    const exact = node.exact?.get(text);
    if (exact !== undefined) first = Math.min(first, this.#firstOf(exact, levels, at + 1));
    if (node.any !== undefined) first = Math.min(first, this.#firstOf(node.any, levels, at + 1));
    for (const { glob, next } of node.globs?.values() ?? []) {
      this.#budget.spend(glob.cost);
      if (glob.matches(text)) first = Math.min(first, this.#firstOf(next, levels, at + 1));
    }
    return first;
  }
}

function remembered(firstOf: (tail: Tail) => number): (tail: Tail) => number {
  const known = new Map<Tail, number>();
  return (tail) => {
    let position = known.get(tail);
    if (position === undefined) {
      position = firstOf(tail);
      known.set(tail, position);
    }
    return position;
  };
}

function createNode(): PatternNode {
  return { exact: undefined, any: undefined, globs: undefined, ends: NONE, stops: NONE };
}

function knownChild(node: PatternNode, level: string): PatternNode | undefined {
  return isAny(level) ? node.any : (node.exact?.get(level) ?? node.globs?.get(level)?.next);
}
