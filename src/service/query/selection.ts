/** From selectors to the series of an answer, each once, with the id under which it is answered. */
import type { SeriesRecord } from '../data/source.ts';
import { HttpError } from '../http/http-error.ts';
import type { Work } from '../turns.ts';
import { STEPS_PER_LOOK } from '../turns.ts';
import { expandAlternatives } from './alternatives.ts';
import type { Domain } from './domains.ts';
import type { Selector } from './expressions.ts';
import type { SeriesIndex } from './series-index.ts';
import { indexSeries } from './series-index.ts';
import { ComparisonsBudget, FirstMatches, SeriesMatcher } from './series-matcher.ts';

export interface SelectedSeries {
  readonly record: SeriesRecord;
  /** Id in the queried domain, or in `output_domain`. */
  readonly id: string;
  /** The domain of `id`. */
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
 * The union of what the selectors match among the series the client may read, by ascending time series id.
 * The id is in the domain of the first selector that matches, or in the output domain; a series without a name
 * there is left out. Throws 404 when nothing matches, 400 for selectors that stand for too much.
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
  const candidates = first.candidates();
  let matched = 0;
  let naming: { readonly domain: Domain; readonly ids: readonly (string | undefined)[] } | undefined;
  for (let step = 0; step < candidates.length; step++) {
    if (step % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    const at = candidates[step]!;
    const position = first.of(at);
    if (position === undefined) continue;
    const vessel = index.vesselCodes[at]!;
    readable[vessel] ??= options.mayRead(index.vessels[vessel]!);
    if (!readable[vessel]) continue;
    if (++matched > MAX_SERIES)
      throw new HttpError(
        400,
        `the expressions of this request match more than ${MAX_SERIES.toLocaleString('en')} series; split it, as by vessel`,
      );
    const domain = options.outputDomain ?? selectors[position]!.domain;
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
function firstMatches(index: SeriesIndex, selectors: readonly Selector[]): FirstMatches {
  const expanded = expandAlternatives(
    selectors.map((selector) => ('levels' in selector && selector.domain.braces ? selector.levels : [])),
  );
  const comparisons = new ComparisonsBudget(index.series.length);
  const matchers = new Map<string, SeriesMatcher>();
  selectors.forEach((selector, position) => {
    const { domain } = selector;
    let matcher = matchers.get(domain.namedIn);
    if (matcher === undefined) {
      matcher = new SeriesMatcher(index.in(domain), comparisons);
      matchers.set(domain.namedIn, matcher);
    }
    if ('ids' in selector) for (const id of selector.ids) matcher.addId(id, position);
    else if ('test' in selector) matcher.addTest(selector.test, position);
    else
      for (const levels of domain.braces ? expanded[position]! : [selector.levels])
        addLevels(matcher, domain, levels, position);
  });
  const first = new FirstMatches(index.series.length);
  for (const matcher of matchers.values()) matcher.findAll(first);
  return first;
}

/** A whole id without `*` is looked up. */
function addLevels(
  matcher: SeriesMatcher,
  domain: Domain,
  levels: readonly string[],
  position: number,
): void {
  const isWhole = domain.levels === 'any' || levels.length === domain.levels;
  // Of nothing but verbose names no level is left, which is another thing than an empty one.
  if (isWhole && levels.length > 0 && !levels.some((level) => level.includes('*')))
    matcher.addId(levels.join('/'), position);
  else matcher.addLevels(levels, domain.openEnd, position);
}
