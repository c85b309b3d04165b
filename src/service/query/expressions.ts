/** Expressions of a POST body, or the path of a GET, as what they select. `*` stands for any characters within one level, never across a slash. */
import type { Family } from '../../core/model/index.ts';
import { badRequest, HttpError } from '../http/http-error.ts';
import { DOMAIN_NAMES, type Domain, type FindDomain, findDomain, foldLevels, ID_DOMAIN } from './domains.ts';
import type { Pattern } from './series-matcher.ts';
import { compileVisParts } from './series-matcher.ts';

/** What one expression selects: ids, levels (with `*`, and the braces of `parameters`), or a pattern. */
export type Selector = { readonly domain: Domain } & (
  | { readonly ids: readonly string[] }
  | { readonly levels: readonly string[] }
  | { readonly pattern: Pattern }
);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Selector of one string of a POST body. Throws 400, or 404 for a domain that does not exist. */
export function parseQueryExpression(text: string, find: FindDomain = findDomain): Selector {
  const slash = text.indexOf('/');
  if (slash <= 0)
    throw badRequest(`got '${text.slice(0, 200)}', expected <domain>/<expression>, as flat/IMO9321483/*`);
  const domain = requireDomain(text.slice(0, slash), find);
  const expression = text.slice(slash + 1);
  if (domain.name === ID_DOMAIN) return selectIds(domain, expression);
  return selectLevels(domain, plainLevels(domain, foldLevels(domain, expression.split('/'))));
}

/** Selector of a path after `/<family>/`: levels are told apart before they are decoded, so `%2F` stays inside its level. Throws 400 or 404. */
export function parsePath(family: Family, rawPath: string, find: FindDomain = findDomain): Selector {
  const [name = '', ...levels] = rawPath.split('/').map(decodeLevel);
  const domain = requireDomain(name, find);
  if (levels.some((level) => level === ''))
    throw badRequest(
      `a path cannot hold an empty level; ask for such ids with POST /${family}/query and a body like ["${domain.name}/<expression>"]`,
    );
  if (domain.name === ID_DOMAIN) return selectIds(domain, levels.join('/'));
  if (family === 'statistics') {
    if (domain.name === 'vis-3-8a') return { domain, pattern: compileVisParts(levels) };
    return selectLevels(
      { ...domain, openEnd: domain.openEnd || domain.name === 'flat' },
      foldLevels(domain, levels),
    );
  }
  return selectLevels(domain, plainLevels(domain, foldLevels(domain, levels)));
}

function requireDomain(name: string, find: FindDomain): Domain {
  const domain = find(name);
  if (domain === undefined)
    throw new HttpError(404, `no domain '${name.slice(0, 80)}'; there are ${DOMAIN_NAMES.join(', ')}`);
  return domain;
}

function decodeLevel(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw badRequest(`'${raw.slice(0, 80)}' in the path is not valid percent-encoding of UTF-8`);
  }
}

/** Without the human-readable names that a verbose id holds. */
function plainLevels(domain: Domain, levels: string[]): string[] {
  return domain.verbose ? levels.filter((level) => !level.startsWith('~')) : levels;
}

function selectIds(domain: Domain, text: string): Selector {
  const ids = text.split(',').map((part) => {
    const id = part.trim();
    if (!UUID.test(id))
      throw badRequest(`got id '${id.slice(0, 80)}', expected one or more UUIDs separated by commas`);
    return id.toLowerCase();
  });
  return { domain, ids };
}

function selectLevels(domain: Domain, levels: readonly string[]): Selector {
  const wanted = domain.levels;
  if (wanted !== 'any' && (levels.length > wanted || (levels.length < wanted && !domain.openEnd)))
    throw badRequest(
      `'${domain.name}/${levels.join('/').slice(0, 200)}' has ${levels.length} levels, expected ${domain.openEnd ? 'at most ' : ''}${wanted}`,
    );
  return { domain, levels };
}
