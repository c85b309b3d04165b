/** From selectors to the series of an answer, each once, with the id under which it is answered. */
import type { SeriesRecord } from '../data/source.ts';
import { badRequest, HttpError } from '../http/http-error.ts';
import { STEPS_PER_LOOK, type Work } from '../turns.ts';
import { expandAlternatives } from './alternatives.ts';
import type { Domain } from './domains.ts';
import type { Selector } from './expressions.ts';
import { indexSeries, type SeriesIndex } from './series-index.ts';
import { createComparisonsBudget, levelsPattern, matchingSeries, type Pattern } from './series-matcher.ts';

export interface SelectedSeries {
  readonly record: SeriesRecord;
  /** Id in the queried domain, or in `output_domain`. */
  readonly id: string;
  readonly domain: string;
}

interface SelectionOptions {
  readonly outputDomain: Domain | undefined;
  readonly verbose: boolean;
  readonly mayRead: (vessel: string) => boolean;
}

/** Series of one request; one series' readings are another limit's concern. */
const MAX_SERIES = 250_000;

/**
 * What the selectors match among the series the client may read, by ascending time series id; ids are in the domain of the first that matches, or in
 * the output domain, and a series without one is left out. Throws 404 when nothing matches, 400 for selectors that stand for too much.
 */
export async function selectSeries(
  all: readonly SeriesRecord[],
  selectors: readonly Selector[],
  options: SelectionOptions,
  work: Work,
): Promise<SelectedSeries[]> {
  const index = indexSeries(all);
  const first = firstMatches(index, selectors);
  const selected: SelectedSeries[] = [];
  /** By vessel, once it is known. */
  const readable: (boolean | undefined)[] = new Array(index.vessels.length);
  let matched = 0;
  let naming: { readonly domain: Domain; readonly ids: readonly (string | undefined)[] } | undefined;
  for (const [step, at] of Uint32Array.from(first.keys()).sort().entries()) {
    if (step % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    const vessel = index.vesselCodes[at]!;
    readable[vessel] ??= options.mayRead(index.vessels[vessel]!);
    if (!readable[vessel]) continue;
    if (++matched > MAX_SERIES)
      throw badRequest(
        `the expressions of this request match more than ${MAX_SERIES.toLocaleString('en')} series; split it, as by vessel`,
      );
    const domain = options.outputDomain ?? selectors[first.get(at)!]!.domain;
    if (naming?.domain !== domain) naming = { domain, ids: index.in(domain).ids };
    const plainId = naming.ids[at];
    const id = options.verbose ? (all[at]!.verboseNames.get(domain.namedIn) ?? plainId) : plainId;
    if (id !== undefined) selected.push({ record: all[at]!, id, domain: domain.name });
  }
  if (matched === 0)
    throw new HttpError(404, 'no time series matches that this client may read; look for ids with /metadata');
  return selected;
}

/** For each series the first selector that matches. What may be compared is counted over all of them. */
function firstMatches(index: SeriesIndex, selectors: readonly Selector[]): Map<number, number> {
  const expanded = expandAlternatives(
    selectors.map((selector) => ('levels' in selector && selector.domain.braces ? selector.levels : [])),
  );
  const spend = createComparisonsBudget(index.series.length);
  const first = new Map<number, number>();
  for (const [position, selector] of selectors.entries()) {
    const { domain } = selector;
    const naming = index.in(domain);
    const add = (found: Iterable<number>) => {
      for (const series of found) if (!first.has(series)) first.set(series, position);
    };
    const addPattern = (pattern: Pattern) => add(matchingSeries(pattern, naming, spend));
    if ('ids' in selector) for (const id of selector.ids) add(naming.withId(id));
    else if ('pattern' in selector) addPattern(selector.pattern);
    // A whole id without `*` is looked up. Of nothing but verbose names no level is left, which matches nothing.
    else
      for (const levels of domain.braces ? expanded[position]! : [selector.levels])
        if (isWhole(domain, levels)) add(naming.withId(levels.join('/')));
        else if (levels.length > 0 || domain.openEnd)
          addPattern(levelsPattern(levels, domain.openEnd, spend));
  }
  return first;
}

function isWhole(domain: Domain, levels: readonly string[]): boolean {
  const hasAll = domain.levels === 'any' ? levels.length > 0 : levels.length === domain.levels;
  return hasAll && !levels.some((level) => level.includes('*'));
}
