/** The naming domains: how ids split into levels, and which have a syntax of their own. Others than the contract's are those that metadata name. */
import type { SeriesRecord } from '../data/source.ts';

export interface Domain {
  readonly name: string;
  /** Domain in which the series carry the name that expressions match and answers show. */
  readonly namedIn: string;
  /** Where no series has a name there: the domain whose names these are, under another name. */
  readonly elseNamedIn?: string;
  /** Levels of an id: a number when fixed (the last level keeps further slashes), else as many as it has. */
  readonly levels: number | 'any';
  /** True: an expression may stop early, and what is left out matches anything. */
  readonly openEnd: boolean;
  /** True: levels that begin with `~` are human-readable names, and expressions may leave them in. */
  readonly verbose: boolean;
  /** True: `{a,b}` in an expression stands for either. */
  readonly braces: boolean;
}

export const ID_DOMAIN = 'id';

const domain = (name: string, levels: Domain['levels'], more: Partial<Domain> = {}): Domain => ({
  ...{ name, namedIn: name, levels, openEnd: false, verbose: false, braces: false },
  ...more,
});
const DOMAINS: readonly Domain[] = [
  domain(ID_DOMAIN, 1),
  domain('jsmea', 8, { openEnd: true }),
  domain('flat', 2),
  // As some services call their flat names.
  domain('raalabs', 2, { elseNamedIn: 'flat' }),
  domain('vis-3-8a', 'any', { verbose: true }),
  domain('maker', 3),
  // Several names of `flat` in one expression.
  domain('parameters', 2, { namedIn: 'flat', braces: true }),
];

const BY_NAME: ReadonlyMap<string, Domain> = new Map(DOMAINS.map((one) => [one.name, one]));
export const DOMAIN_NAMES: readonly string[] = [...BY_NAME.keys()];

/** Domain of a name; undefined for one that does not exist, or of which the client may read nothing. */
export type FindDomain = (name: string) => Domain | undefined;

export const findDomain: FindDomain = (name) => BY_NAME.get(name);

/** Levels of an id or expression of a domain, split at slashes: the last fixed level keeps further ones, jsmea has none. */
export function foldLevels({ name, levels }: Domain, parts: string[]): string[] {
  if (levels === 'any' || name === 'jsmea' || parts.length <= levels) return parts;
  return [...parts.slice(0, levels - 1), parts.slice(levels - 1).join('/')];
}

/** A lake may have been written by anybody, and each domain takes an index over all series. */
const MAX_OTHER_DOMAINS = 32;

/** The domains that the contract does not list, and that some series has an id in. */
export function findOtherDomains(series: readonly SeriesRecord[]) {
  const found = new Map<string, { count: number; readonly vessels: Set<string> }>();
  for (const { names, vessel } of series) {
    for (const name of names.keys()) {
      // With a slash in its name, or without a name, no expression reaches it.
      if (findDomain(name) !== undefined || name === '' || name.includes('/')) continue;
      const of = found.get(name) ?? { count: 0, vessels: new Set() };
      found.set(name, of);
      of.count += 1;
      of.vessels.add(vessel);
    }
  }
  const largest = [...found].sort(([a, one], [b, other]) => other.count - one.count || (a < b ? -1 : 1));
  const all = largest.slice(0, MAX_OTHER_DOMAINS).map(([name]) => domain(name, 'any'));
  return {
    /** Those with the most series: all of them, unless there are more than MAX_OTHER_DOMAINS. */
    all: all as readonly Domain[],
    /** How many more there are, which cannot be asked for. */
    left: found.size - all.length,
    /** Undefined too where all that it names is other people's: its name may tell who they are. */
    find(name: string, mayRead: (vessel: string) => boolean): Domain | undefined {
      const known = all.find((one) => one.name === name);
      return known && [...found.get(name)!.vessels].some(mayRead) ? known : undefined;
    },
  };
}
