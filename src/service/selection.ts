/** From selectors to the series of an answer, each once, with the id under which it is answered. */
import type { SeriesRecord } from './data/source.ts';
import type { Domain } from './domains.ts';
import type { Selector } from './expressions.ts';
import { HttpError } from './http-error.ts';
import type { Work } from './turns.ts';
import { STEPS_PER_LOOK } from './turns.ts';

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

/** Expressions with wildcards in one request: each is tried on every series. */
const MAX_WILDCARD_EXPRESSIONS = 500;

/**
 * The union of what the selectors match among the series the client may read, by ascending time series id.
 * The id is in the domain of the first selector that matches, or in the output domain; a series without a name
 * there is left out. Throws 404 when nothing matches, 400 for too many wildcards.
 */
export async function selectSeries(
  all: readonly SeriesRecord[],
  selectors: readonly Selector[],
  options: SelectionOptions,
  work: Work,
): Promise<SelectedSeries[]> {
  const find = firstMatch(selectors);
  const selected: SelectedSeries[] = [];
  let matched = 0;
  for (const [index, record] of all.entries()) {
    if (index % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    if (!options.mayRead(record.vessel)) continue;
    const selector = find(record);
    if (selector === undefined) continue;
    matched++;
    const domain = options.outputDomain ?? selector.domain;
    const id = answerId(record, domain, options.verbose);
    if (id !== undefined) selected.push({ record, id, domain: domain.name });
  }
  if (matched === 0)
    throw new HttpError(404, 'no time series matches that this client may read; look for ids with /metadata');
  return selected;
}

/** The first selector that matches a series: exact ids are looked up, only wildcards are tried one by one. */
function firstMatch(selectors: readonly Selector[]): (record: SeriesRecord) => Selector | undefined {
  const byExactId = new Map<string, Map<string, number>>();
  const tried: number[] = [];
  selectors.forEach(({ domain, exactIds }, index) => {
    if (exactIds === undefined) tried.push(index);
    const ids = byExactId.get(domain.namedIn) ?? new Map<string, number>();
    byExactId.set(domain.namedIn, ids);
    for (const id of exactIds ?? []) if (!ids.has(id)) ids.set(id, index);
  });
  if (tried.length > MAX_WILDCARD_EXPRESSIONS)
    throw new HttpError(
      400,
      `${tried.length} expressions with wildcards in one request; at most ${MAX_WILDCARD_EXPRESSIONS}`,
    );
  return (record) => {
    let first = tried.find((index) => selectors[index]!.matches(record)) ?? selectors.length;
    for (const [domain, ids] of byExactId)
      first = Math.min(first, ids.get(record.names.get(domain) ?? '') ?? selectors.length);
    return selectors[first];
  };
}

function answerId(record: SeriesRecord, domain: Domain, verbose: boolean): string | undefined {
  const id = record.names.get(domain.namedIn);
  return verbose ? (record.verboseNames.get(domain.namedIn) ?? id) : id;
}
