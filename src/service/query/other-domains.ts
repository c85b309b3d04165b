/**
 * The domains that the contract does not list, and that some series has an id in: `*` is one level, and an id has as
 * many levels as it has.
 */
import type { SeriesRecord } from '../data/source.ts';
import { type Domain, findDomain } from './domains.ts';

/** A lake may have been written by anybody, and each domain takes an index over all series. */
const MAX_DOMAINS = 32;

export class OtherDomains {
  /** Those with the most series: all of them, unless there are more than MAX_DOMAINS. */
  readonly all: readonly Domain[];
  /** How many more there are, which cannot be asked for. */
  readonly left: number;
  readonly #byName: ReadonlyMap<string, { readonly domain: Domain; readonly vessels: ReadonlySet<string> }>;

  constructor(series: readonly SeriesRecord[]) {
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
    this.#byName = new Map(
      largest
        .slice(0, MAX_DOMAINS)
        .map(([name, { vessels }]) => [name, { domain: domainNamed(name), vessels }]),
    );
    this.left = found.size - this.#byName.size;
    this.all = [...this.#byName.values()].map(({ domain }) => domain);
  }

  /** Undefined too where all that it names is other people's: its name may tell who they are. */
  find(name: string, mayRead: (vessel: string) => boolean): Domain | undefined {
    const found = this.#byName.get(name);
    if (found === undefined) return undefined;
    for (const vessel of found.vessels) if (mayRead(vessel)) return found.domain;
    return undefined;
  }
}

function domainNamed(name: string): Domain {
  return { name, namedIn: name, levels: 'any', openEnd: false, verbose: false, braces: false };
}
