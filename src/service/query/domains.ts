/**
 * The naming domains: how an id of each splits into levels, and which have an expression syntax of their own.
 * A new domain is one entry here. Those that only the series' metadata name are in other-domains.ts.
 */
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

const DOMAINS: readonly Domain[] = [
  { name: ID_DOMAIN, namedIn: ID_DOMAIN, levels: 1, openEnd: false, verbose: false, braces: false },
  { name: 'jsmea', namedIn: 'jsmea', levels: 8, openEnd: true, verbose: false, braces: false },
  { name: 'flat', namedIn: 'flat', levels: 2, openEnd: false, verbose: false, braces: false },
  // As some services call their flat names.
  {
    ...{ name: 'raalabs', namedIn: 'raalabs', elseNamedIn: 'flat' },
    ...{ levels: 2, openEnd: false, verbose: false, braces: false },
  },
  { name: 'vis-3-8a', namedIn: 'vis-3-8a', levels: 'any', openEnd: false, verbose: true, braces: false },
  { name: 'maker', namedIn: 'maker', levels: 3, openEnd: false, verbose: false, braces: false },
  // Several names of `flat` in one expression: `{a,b}` stands for either.
  { name: 'parameters', namedIn: 'flat', levels: 2, openEnd: false, verbose: false, braces: true },
];

const BY_NAME: ReadonlyMap<string, Domain> = new Map(DOMAINS.map((domain) => [domain.name, domain]));
export const DOMAIN_NAMES: readonly string[] = DOMAINS.map((domain) => domain.name);

export function findDomain(name: string): Domain | undefined {
  return BY_NAME.get(name);
}

/** Levels of an id or expression of a domain, split at slashes: the last fixed level keeps further ones, jsmea has none. */
export function foldLevels({ name, levels }: Domain, parts: string[]): string[] {
  if (levels === 'any' || name === 'jsmea' || parts.length <= levels) return parts;
  return [...parts.slice(0, levels - 1), parts.slice(levels - 1).join('/')];
}
