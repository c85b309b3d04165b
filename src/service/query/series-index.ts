/**
 * The series by their names, so that an expression looks only at those that it can match. An id is its first level (the vessel) and its tail, which
 * vessels of a kind share: what is found out about a tail holds for all series that have it.
 */
import type { SeriesRecord } from '../data/source.ts';
import { DOMAIN_NAMES, type Domain, findDomain, findOtherDomains, foldLevels, ID_DOMAIN } from './domains.ts';

/** What follows the first level. Series are named by their position. */
interface Tail {
  readonly levels: readonly string[];
  /** All series whose id ends so. */
  readonly series: number[];
}

/** Series whose ids have the same first level; `tails[i]` is that of `series[i]`. */
export interface FirstLevel {
  readonly text: string;
  readonly series: number[];
  readonly tails: Tail[];
}

export interface NamingIndex {
  /** Id by position; undefined for a series without one. */
  readonly ids: readonly (string | undefined)[];
  /** Positions of the series with this id. */
  withId(id: string): readonly number[];
  readonly firstLevels: ReadonlyMap<string, FirstLevel>;
  readonly tails: readonly Tail[];
}

export type SeriesIndex = ReturnType<typeof createIndex>;

const known = new WeakMap<readonly SeriesRecord[], SeriesIndex>();

/** Index of a list of series that does not change; made when it is first asked for. */
export function indexSeries(series: readonly SeriesRecord[]): SeriesIndex {
  let index = known.get(series);
  if (index === undefined) {
    index = createIndex(series);
    known.set(series, index);
  }
  return index;
}

/** Make the index of all domains now, so that no request has to wait for it. */
export function prepareIndex(series: readonly SeriesRecord[]): SeriesIndex {
  const index = indexSeries(series);
  for (const name of DOMAIN_NAMES) index.in(findDomain(name)!);
  for (const domain of index.otherDomains.all) index.in(domain);
  return index;
}

function createIndex(series: readonly SeriesRecord[]) {
  const byDomain = new Map<string, NamingIndex>();
  const codes = new Map<string, number>();
  const vesselCodes = Uint32Array.from(series, ({ vessel }) => {
    const code = codes.get(vessel) ?? codes.size;
    codes.set(vessel, code);
    return code;
  });
  /** Names in the domain that a domain's series are named in. */
  function namingIn(domain: Domain): NamingIndex {
    const { namedIn, elseNamedIn } = domain;
    let naming = byDomain.get(namedIn);
    if (naming === undefined) {
      const isOwn = elseNamedIn === undefined || series.some(({ names }) => names.has(namedIn));
      const named = findDomain(isOwn ? namedIn : elseNamedIn) ?? domain;
      naming = isOwn ? createNaming(series, named) : namingIn(named);
      byDomain.set(namedIn, naming);
    }
    return naming;
  }
  return {
    series,
    /** Every vessel once, and the place of each series' vessel among them. */
    vessels: [...codes.keys()],
    vesselCodes,
    /** Those that only the metadata of these series name. */
    otherDomains: findOtherDomains(series),
    in: namingIn,
  };
}

function createNaming(series: readonly SeriesRecord[], domain: Domain): NamingIndex {
  if (domain.name === ID_DOMAIN) return createIdIndex(series);
  const ids = series.map(({ names }) => names.get(domain.name));
  const firstLevels = new Map<string, FirstLevel>();
  const tails = new Map<string | undefined, Tail>();
  ids.forEach((id, position) => {
    if (id === undefined) return;
    const [text, rest] = splitId(id);
    let tail = tails.get(rest);
    if (tail === undefined) {
      tail = { levels: foldLevels(domain, id.split('/')).slice(1), series: [] };
      tails.set(rest, tail);
    }
    let firstLevel = firstLevels.get(text);
    if (firstLevel === undefined) {
      firstLevel = { text, series: [], tails: [] };
      firstLevels.set(text, firstLevel);
    }
    tail.series.push(position);
    firstLevel.series.push(position);
    firstLevel.tails.push(tail);
  });
  function withId(id: string): readonly number[] {
    const [text, rest] = splitId(id);
    const [firstLevel, tail] = [firstLevels.get(text), tails.get(rest)];
    if (firstLevel === undefined || tail === undefined) return [];
    if (tail.series.length <= firstLevel.series.length)
      return tail.series.filter((position) => ids[position] === id);
    return firstLevel.series.filter((_, at) => firstLevel.tails[at] === tail);
  }
  return { ids, withId, firstLevels, tails: [...tails.values()] };
}

/** Of unique ids of one level, which are asked for as they are. */
function createIdIndex(series: readonly SeriesRecord[]): NamingIndex {
  const ids = series.map(({ timeSeriesId }) => timeSeriesId);
  const positions = new Map(ids.map((id, position) => [id, position]));
  const withId = (id: string) => {
    const position = positions.get(id);
    return position === undefined ? [] : [position];
  };
  return { ids, withId, firstLevels: new Map(), tails: [] };
}

function splitId(id: string): [firstLevel: string, rest: string | undefined] {
  const slash = id.indexOf('/');
  return slash < 0 ? [id, undefined] : [id.slice(0, slash), id.slice(slash + 1)];
}
