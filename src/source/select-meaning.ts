/** Does a job's `select` still mean a series that it does not yield? Names tell; of whom they do not is none that may go. */
import { DataError, HttpStatusError, stopsAll } from '../core/errors.ts';
import { FLAT_DOMAINS } from '../core/model/index.ts';
import type { SourceContext } from './context.ts';
import { type MetadataElement, namesByDomain } from './decode/metadata.ts';
import { askMetadata } from './metadata.ts';
import { expressionFor, idExpressions } from './series.ts';

const ID = 'id';
/** Its syntax is not known: whatever there is may be meant. */
const ANY = 'parameters';

/** Series that were selected: time series id → name in the domain of the first expression that matched. */
export interface SelectedBefore {
  readonly names: ReadonlyMap<string, string | null>;
  /** The `select` of then, where it is known. */
  readonly select?: readonly string[] | undefined;
}

/** Series that `select` certainly does not mean any more: by their names of then, where all expressions are of one domain, else by their names now. */
export async function notMeantNow(
  context: SourceContext,
  before: SelectedBefore,
): Promise<ReadonlySet<string>> {
  const meanings = context.job.select.map((written) => meaningOf(expressionFor(written, context.day.vessel)));
  const notMeant = new Set<string>();
  if (meanings.some(({ domain }) => domain === ANY)) return notMeant;
  const isById = meanings.every(({ domain }) => domain === ID);
  const domains = new Set([...meanings, ...(before.select ?? []).map(meaningOf)].map(({ domain }) => domain));
  domains.delete(ID);
  const isOneDomain = before.select !== undefined && domains.size === 1;
  const unknown: string[] = [];
  for (const [id, name] of before.names) {
    if (meanings.some(({ domain, pattern }) => domain === ID && listsId(pattern, id))) continue;
    const isNamed = isOneDomain && name !== null && name !== id;
    if (!isById && !isNamed) unknown.push(id);
    else if (isById || !meanings.some(({ pattern }) => mayMatch(pattern, name!))) notMeant.add(id);
  }
  for (const { id, names } of await askNames(context, unknown)) {
    const name = before.names.get(id);
    // It has been renamed since: the name of then counts in whatever domain it was.
    const isRenamed = name != null && name !== id && ![...names.values()].includes(name);
    const isMeant = meanings.some(
      ({ domain, pattern }) =>
        mayMatch(pattern, names.get(domain)) || (isRenamed && domain !== ID && mayMatch(pattern, name)),
    );
    if (!isMeant) notMeant.add(id);
  }
  return notMeant;
}

/** What the source calls those of the series that it lists, by domain; of others it has no answer. */
async function askNames(context: SourceContext, ids: readonly string[]) {
  const found: { readonly id: string; readonly names: ReadonlyMap<string, string> }[] = [];
  const keep = (element: MetadataElement) => {
    const { timeSeriesId: id, domainsJson } = element.series();
    const named = [...namesByDomain(domainsJson)].map(
      ([domain, name]) => [commonName(domain), name] as const,
    );
    return { id, names: new Map(named) };
  };
  for (const expression of idExpressions(ids))
    try {
      found.push(...(await askMetadata(context, expression, keep, 'take')).kept);
    } catch (error) {
      const isNoAnswer = error instanceof DataError || (error instanceof HttpStatusError && !stopsAll(error));
      if (!isNoAnswer) throw error;
    }
  return found;
}

function meaningOf(expression: string): { readonly domain: string; readonly pattern: string } {
  const slash = expression.indexOf('/');
  return { domain: commonName(expression.slice(0, slash)), pattern: expression.slice(slash + 1) };
}

/** Some services have another name for flat names. */
function commonName(domain: string): string {
  return (FLAT_DOMAINS as readonly string[]).includes(domain) ? FLAT_DOMAINS[0] : domain;
}

function listsId(pattern: string, id: string): boolean {
  return pattern.split(',').some((one) => one.trim().toLowerCase() === id.toLowerCase());
}

/** As loosely as any domain reads its expressions. Found greedily from the left, so that none is slow. */
function mayMatch(pattern: string, name: string | undefined): boolean {
  if (name === undefined) return false;
  const [head = '', ...rest] = plainLevels(pattern).split('*');
  const whole = plainLevels(name);
  if (!whole.startsWith(head)) return false;
  let at = head.length;
  for (const piece of rest) {
    const found = whole.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return true;
}

/** Without empty levels at the end, and without what a verbose id says for people. */
function plainLevels(text: string): string {
  const levels = text.split('/').filter((level) => !level.startsWith('~'));
  return `${levels.slice(0, levels.findLastIndex((level) => level !== '') + 1).join('/')}/`;
}
