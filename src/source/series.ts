import { cleanForeignText, RetriableError, shortName } from '../core/errors.ts';
import {
  checkDigitHint,
  formatVesselDay,
  MAX_SERIES,
  type SeriesMetadata,
  vesselOf,
} from '../core/model/index.ts';
import { tooManySeries } from './answer-faults.ts';
import type { OtherSeries, ResolvedSeries, SourceContext } from './context.ts';
import type { MetadataElement } from './decode/metadata.ts';
import { askMetadata } from './metadata.ts';

/** UUIDs in one `id/…` expression: 1.9 kB, which also fits a URL, and services bound the length of an expression. */
const IDS_PER_EXPRESSION = 50;

export function expressionFor(expression: string, vessel: string): string {
  return expression.replaceAll('{vessel}', vessel);
}

/** Does it stand for any vessel with `*` in the place of `{vessel}`? Within a level that would mean more. */
export function canBeOfAll(expression: string): boolean {
  return expression.split('/').every((level) => level === '{vessel}' || !level.includes('{vessel}'));
}

export function idExpressions(ids: readonly string[]): string[] {
  const expressions: string[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_EXPRESSION)
    expressions.push(`id/${ids.slice(at, at + IDS_PER_EXPRESSION).join(',')}`);
  return expressions;
}

interface Selected {
  readonly expression: string;
  readonly written: string;
  readonly optional: boolean;
}

/** Ask metadata which series `select` means for the vessel. Throws RetriableError `no-series` (404 is never "empty") and `malformed-imo`. */
export async function resolveSeries(context: SourceContext): Promise<ResolvedSeries> {
  const { series: _, ...resolved } = await resolveSelection(context, selectOf(context), nameSeries);
  return resolved;
}

/** The same with all that metadata says of each series. Throws what is wrong with any of it too. */
export async function describeSeries(
  context: SourceContext,
): Promise<ResolvedSeries & { readonly metadata: readonly SeriesMetadata[] }> {
  const read = (element: MetadataElement) => element.series();
  const { series: metadata, ...resolved } = await resolveSelection(context, selectOf(context), read);
  return { ...resolved, metadata };
}

function selectOf({ job, day }: SourceContext): Selected[] {
  return job.select.map((written) => ({
    written,
    expression: expressionFor(written, day.vessel),
    optional: job.optional?.includes(written) === true,
  }));
}

/** What there is to know of a series where nothing but its readings is wanted. */
type NamedSeries = Pick<SeriesMetadata, 'id' | 'timeSeriesId' | 'vesselImo'>;

function nameSeries(element: MetadataElement, vesselImo: string | null): NamedSeries {
  return { id: element.id(), timeSeriesId: element.timeSeriesId(), vesselImo };
}

/** The series of these ids that there still are. Throws RetriableError `no-series` when there is none. */
export async function resolveSeriesOfIds(context: SourceContext, ids: readonly string[]) {
  const select = idExpressions(ids).map((written) => ({ expression: written, written, optional: true }));
  const { series: _, ...resolved } = await resolveSelection(context, select, nameSeries);
  return resolved;
}

/** `read`: takes of a series, whose vessel has this number, what is wanted. */
async function resolveSelection<S extends NamedSeries>(
  context: SourceContext,
  select: readonly Selected[],
  read: (element: MetadataElement, vesselImo: string | null) => S,
): Promise<ResolvedSeries & { readonly series: readonly S[] }> {
  const { vessel } = context.day;
  const bySeries = new Map<string, S>();
  const unmatched: string[] = [];
  let plain = true;
  const others = new Map<string, OtherSeries>();
  const [ids, otherIds] = [new Set<string>(), new Set<string>()];
  const isAnothers = (owner: string | undefined) => owner !== undefined && owner !== vessel;
  const count = ({ timeSeriesId, vesselImo }: NamedSeries) => {
    const counted = isAnothers(ownerOf(context, vesselImo)) ? otherIds : ids;
    if (counted.add(timeSeriesId).size > MAX_SERIES) throw tooManySeries();
  };
  /** Of another vessel nothing is read but its number, and what it is called where the expression names this one. */
  const keepOf = (selected: Selected) => (element: MetadataElement) => {
    const imo = element.vesselImo();
    const isOther = isAnothers(ownerOf(context, imo));
    if (isOther && !selected.expression.includes(vessel)) return undefined;
    const series = isOther ? (nameSeries(element, imo) as S) : read(element, imo);
    count(series);
    return series;
  };
  for (const selected of select) {
    const { listed, kept } = await askSelected(context, selected, keepOf(selected));
    if (listed === 0) unmatched.push(selected.written);
    if (listed === 0 || kept.length < listed) plain = false;
    for (const series of kept) {
      const { timeSeriesId, id } = series;
      const owner = ownerOf(context, series.vesselImo);
      if (owner === undefined) leaveOut(context, selected, series);
      else if (isAnothers(owner)) others.set(timeSeriesId, { timeSeriesId, id, vessel: owner });
      // Overlapping expressions must not fetch a series twice: whether the service merges them is not promised.
      if (owner !== vessel || bySeries.has(timeSeriesId)) plain = false;
      else bySeries.set(timeSeriesId, series);
    }
  }
  const expressions = select.map(({ expression }) => expression);
  const [other] = others.values();
  const instead = other && `: metadata say that '${shortName(other.id)}' is of ${other.vessel}`;
  if (bySeries.size === 0)
    throw noSeries(context, expressions, `matches no series of the vessel${instead ?? ''}`);
  const series = [...bySeries.values()];
  const idOf = new Map(series.map(({ timeSeriesId, id }) => [timeSeriesId, id]));
  const asked = plain ? expressions : idExpressions([...idOf.keys()]);
  return { series, idOf, expressions: asked, unmatched, others: [...others.values()] };
}

async function askSelected<T>(
  context: SourceContext,
  { expression, optional }: Selected,
  keep: (element: MetadataElement) => T | undefined,
) {
  try {
    return await askMetadata(context, expression, keep, optional ? 'take' : 'throw');
  } catch (error) {
    if (!(error instanceof RetriableError && error.code === 'nothing-found')) throw error;
    throw noSeries(context, [expression], `matches no series (${error.message})`);
  }
}

function noSeries({ job, day }: SourceContext, expressions: readonly string[], found: string) {
  const named = expressions.map((one) => `'${shortName(one)}'`).join(', ');
  const hint = checkDigitHint(day.vessel);
  const advice = `check 'select' in ${job.path ?? `job '${job.name}'`}, the vessel's number${hint && ` (${hint.slice(2)})`}, the tenant in QUERY_BASE_URL, and what the credentials may read; if some vessels have no such series, set 'optional: true' for the expression`;
  return new RetriableError('no-series', `${formatVesselDay(day)}: ${named} ${found}; ${advice}`);
}

/** Series without a vessel belong to whoever selects them. Undefined: what metadata say is no number. */
function ownerOf({ day }: SourceContext, vesselImo: string | null): string | undefined {
  return vesselImo === null ? day.vessel : vesselOf(vesselImo);
}

/** Of what is no number nobody knows whose it is: another's, unless the expression names the vessel. */
function leaveOut(
  { day, log }: SourceContext,
  { expression }: Selected,
  { vesselImo, id }: NamedSeries,
): void {
  const message = `${formatVesselDay(day)}: found '${cleanForeignText(vesselImo ?? '', [], 60)}' as the IMO number of series '${cleanForeignText(id, [], 100)}', expected seven digits; report it to the operator of the query service`;
  if (expression.includes(day.vessel)) throw new RetriableError('malformed-imo', message);
  log.warn({ code: 'malformed-imo' }, `left out as another vessel's: ${message}`);
}

export type SeriesCache = (context: SourceContext) => Promise<ResolvedSeries>;

/** Vessels whose series are remembered. Days come by vessel, so that few are enough. */
const REMEMBERED_VESSELS = 8;

/** A vessel's series are the same for all its days: asked once, while its days are at work. */
export function createSeriesCache(): SeriesCache {
  const known = new Map<string, Promise<ResolvedSeries>>();
  return (context) => {
    const key = `${context.day.job}/${context.day.vessel}`;
    const asked = known.get(key) ?? resolveSeries(context);
    if (!known.has(key)) asked.catch(() => known.delete(key));
    known.set(key, asked);
    const [oldest] = known.keys();
    if (known.size > REMEMBERED_VESSELS && oldest !== undefined) known.delete(oldest);
    return asked;
  };
}
