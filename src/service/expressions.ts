/**
 * Expressions: `<domain>/<expression>` of a POST body, or the path of a GET, as a predicate on series. `*`
 * stands for any characters within one level, so that a level `*` matches exactly one whole level; it never
 * reaches across a slash that separates levels.
 */
import type { Family } from '../model/index.ts';
import type { SeriesRecord } from './data/source.ts';
import type { Domain } from './domains.ts';
import { DOMAIN_NAMES, findDomain, foldLevels, ID_DOMAIN } from './domains.ts';
import { HttpError } from './http-error.ts';

/** What one expression selects. */
export interface Selector {
  readonly domain: Domain;
  /** Ids of which one is matched exactly: looked up instead of tried. Absent when `matches` must be asked. */
  readonly exactIds?: ReadonlySet<string>;
  matches(record: SeriesRecord): boolean;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_ALTERNATIVES = 1000;
const ALTERNATION = /\{([^{}]*)\}/;
/** Levels that an open-ended pattern leaves to chance. */
type Level = (text: string) => boolean;

/** Selector of one string of a POST body. Throws 400, or 404 for a domain that does not exist. */
export function parseQueryExpression(text: string): Selector {
  const slash = text.indexOf('/');
  if (slash <= 0)
    throw new HttpError(
      400,
      `got '${text.slice(0, 200)}', expected <domain>/<expression>, as flat/IMO9321483/*`,
    );
  const domain = requireDomain(text.slice(0, slash));
  const expression = text.slice(slash + 1);
  if (domain.name === ID_DOMAIN) return selectIds(domain, expression);
  return selectLevels(domain, plainLevels(domain, foldLevels(domain, expression.split('/'))));
}

/**
 * Selector of the path of a GET after `/<family>/`, still percent-encoded: levels are told apart before they
 * are decoded, so `%2F` stays inside its level. Throws 400 or 404.
 */
export function parsePath(family: Family, rawPath: string): Selector {
  const [name = '', ...levels] = rawPath.split('/').map(decodeLevel);
  const domain = requireDomain(name);
  if (levels.some((level) => level === ''))
    throw new HttpError(
      400,
      `a path cannot hold an empty level; ask for such ids with POST /${family}/query and a body like ["${domain.name}/<expression>"]`,
    );
  if (domain.name === ID_DOMAIN) return selectIds(domain, levels.join('/'));
  if (family === 'statistics') {
    if (domain.name === 'vis-3-8a') return selectVisParts(domain, levels);
    return selectLevels(
      { ...domain, openEnd: domain.openEnd || domain.name === 'flat' },
      foldLevels(domain, levels),
    );
  }
  return selectLevels(domain, plainLevels(domain, foldLevels(domain, levels)));
}

function requireDomain(name: string): Domain {
  const domain = findDomain(name);
  if (domain === undefined)
    throw new HttpError(404, `no domain '${name.slice(0, 80)}'; there are ${DOMAIN_NAMES.join(', ')}`);
  return domain;
}

function decodeLevel(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw new HttpError(400, `'${raw.slice(0, 80)}' in the path is not valid percent-encoding of UTF-8`);
  }
}

/** Without the human-readable names that a verbose id holds. */
function plainLevels(domain: Domain, levels: string[]): string[] {
  return domain.verbose ? levels.filter((level) => !level.startsWith('~')) : levels;
}

function selectIds(domain: Domain, text: string): Selector {
  const ids = new Set<string>();
  for (const part of text.split(',')) {
    const id = part.trim();
    if (!UUID.test(id))
      throw new HttpError(400, `got id '${id.slice(0, 80)}', expected one or more UUIDs separated by commas`);
    ids.add(id.toLowerCase());
  }
  return { domain, exactIds: ids, matches: (record) => ids.has(record.timeSeriesId) };
}

function selectLevels(domain: Domain, levels: readonly string[]): Selector {
  const wanted = domain.levels;
  if (wanted !== 'any' && (levels.length > wanted || (levels.length < wanted && !domain.openEnd)))
    throw new HttpError(
      400,
      `'${domain.name}/${levels.join('/').slice(0, 200)}' has ${levels.length} levels, expected ${domain.openEnd ? 'at most ' : ''}${wanted}`,
    );
  const alternatives = expandAlternatives(domain, levels);
  const whole = wanted === 'any' || levels.length === wanted;
  const exactIds =
    whole && !alternatives.flat().some((level) => level.includes('*'))
      ? new Set(alternatives.map((alternative) => alternative.join('/')))
      : undefined;
  const patterns = alternatives.map((alternative) => alternative.map(levelPattern));
  return {
    domain,
    ...(exactIds && { exactIds }),
    matches: (record) => {
      const found = levelsOf(record, domain);
      return found !== undefined && patterns.some((pattern) => matchesLevels(pattern, found, domain.openEnd));
    },
  };
}

const knownLevels = new WeakMap<SeriesRecord, Map<string, string[]>>();

/** Levels of a series' id in a domain; undefined when it has none. Split once per series. */
function levelsOf(record: SeriesRecord, domain: Domain): string[] | undefined {
  const id = record.names.get(domain.namedIn);
  if (id === undefined) return undefined;
  let perDomain = knownLevels.get(record);
  if (perDomain === undefined) {
    perDomain = new Map();
    knownLevels.set(record, perDomain);
  }
  let levels = perDomain.get(domain.namedIn);
  if (levels === undefined) {
    levels = foldLevels(domain, id.split('/'));
    perDomain.set(domain.namedIn, levels);
  }
  return levels;
}

function matchesLevels(pattern: readonly Level[], found: readonly string[], openEnd: boolean): boolean {
  if (openEnd ? found.length < pattern.length : found.length !== pattern.length) return false;
  return pattern.every((level, index) => level(found[index]!));
}

/**
 * `/statistics/vis-3-8a/{imo_number}/{primary}/sec/{secondary}/meta/{metadata}`, all four optional: a part that
 * the path stops before, or names without levels (`sec/meta/…`), matches anything; a path with `meta` but
 * without `sec` matches series without a secondary item.
 */
function selectVisParts(domain: Domain, levels: readonly string[]): Selector {
  const wanted = visParts(levels);
  const part = (given: readonly string[] | undefined): Level[] | undefined =>
    given === undefined || given.length === 0 ? undefined : given.map(levelPattern);
  const vessel = wanted.vessel === undefined ? undefined : levelPattern(wanted.vessel);
  const [primary, secondary, meta] = [part(wanted.primary), part(wanted.secondary), part(wanted.meta)];
  const noSecondary = wanted.secondary === undefined && wanted.meta !== undefined;
  const agrees = (pattern: Level[] | undefined, found: readonly string[] | undefined) =>
    pattern === undefined || (found !== undefined && matchesLevels(pattern, found, false));
  return {
    domain,
    matches: (record) => {
      const id = record.names.get(domain.namedIn);
      if (id === undefined) return false;
      const found = visParts(id.split('/'));
      if (vessel !== undefined && !vessel(found.vessel ?? '')) return false;
      if (noSecondary && found.secondary !== undefined) return false;
      return agrees(primary, found.primary) && agrees(secondary, found.secondary) && agrees(meta, found.meta);
    },
  };
}

function visParts(levels: readonly string[]) {
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

/** One level as a predicate. */
function levelPattern(pattern: string): Level {
  if (pattern === '*') return () => true;
  if (!pattern.includes('*')) return (text) => text === pattern;
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop()!;
  // Found greedily from the left: no backtracking, so no expression is slow.
  return (text) => {
    if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length)
      return false;
    let at = head.length;
    const end = text.length - tail.length;
    for (const piece of rest) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}

/** `parameters` only: each `{a,b}` becomes one of its alternatives, every combination once. */
function expandAlternatives(domain: Domain, levels: readonly string[]): string[][] {
  if (domain.name !== 'parameters') return [[...levels]];
  let expanded: string[][] = [[]];
  for (const level of levels) {
    const choices = expandLevel(level);
    expanded = expanded.flatMap((before) => choices.map((choice) => [...before, choice]));
    if (expanded.length > MAX_ALTERNATIVES)
      throw new HttpError(400, `the expression has more than ${MAX_ALTERNATIVES} alternatives; split it`);
  }
  return expanded;
}

function expandLevel(level: string): string[] {
  const done: string[] = [];
  const open = [level];
  while (open.length > 0) {
    const text = open.pop()!;
    const match = ALTERNATION.exec(text);
    if (!match) done.push(text);
    else
      for (const choice of match[1]!.split(','))
        open.push(text.slice(0, match.index) + choice.trim() + text.slice(match.index + match[0].length));
    if (done.length + open.length > MAX_ALTERNATIVES)
      throw new HttpError(400, `the expression has more than ${MAX_ALTERNATIVES} alternatives; split it`);
  }
  return done;
}
