/** The never-shrink guard: nothing published gives way to less, unless that is allowed. Pure. */
import { RefusedError } from '../errors.ts';
import { formatVesselDay, shortName, type VesselDay } from '../model/index.ts';
import { type DayTotals, findChanges, firstThree, listChanges, type SeriesChange } from './day-totals.ts';

export function lossesAmong(changes: readonly SeriesChange[]): SeriesChange[] {
  return changes.filter(({ kind }) => kind === 'removed' || kind === 'vanished');
}

/** Readings of a day, or series of a metadata snapshot: in all, and by series where that is known. */
interface GuardedAmount {
  readonly total: number;
  /** Each series of a snapshot counts once. */
  readonly bySeries?: DayTotals | undefined;
  readonly names?: Readonly<Record<string, string | null>> | undefined;
}

/** What `select` has become since. `accepted`: series may go that it does not mean any more, those `notMeant`. */
export type SelectChange =
  | { readonly select: 'same' | 'changed' }
  | { readonly select: 'accepted'; readonly notMeant: ReadonlySet<string> };

interface Replacement {
  readonly day: VesselDay;
  readonly counted: 'readings' | 'series';
  readonly published: GuardedAmount;
  readonly candidate: GuardedAmount;
  readonly idOf: ReadonlyMap<string, string | null>;
  readonly change: SelectChange;
  /** Digest of what the source counts, to be remembered with a refusal. */
  readonly totalsSha256?: string | undefined;
}

/** Throws RefusedError `would-shrink`: by series where they are known, whatever `select` has become; else by the total. */
export function guardAgainstShrinking(replacement: Replacement): void {
  const lost = describeLosses(replacement);
  if (lost === '') return;
  const { day, counted, totalsSha256 } = replacement;
  const what = counted === 'readings' ? 'day' : 'snapshot';
  throw new RefusedError(
    'would-shrink',
    `${formatVesselDay(day)}: refused to replace the published ${what} by one with fewer ${counted}: ${lost}; if the source is right, run again with --allow-shrink`,
    totalsSha256,
  );
}

function describeLosses({ day, counted, published, candidate, idOf, change }: Replacement): string {
  const [what, where] = counted === 'readings' ? ['day', 'detail'] : ['snapshot', 'object'];
  const stays = `The published ${what} stays`;
  const isChanged = change.select !== 'same';
  if (published.bySeries === undefined || candidate.bySeries === undefined) {
    if (published.total === 0 || (candidate.total >= published.total && !isChanged)) return '';
    const since = isChanged
      ? ", and 'select' has changed since: it is unknown which series it would lose"
      : '';
    return `${published.total} published, ${candidate.total} now (its ${where} object is missing or damaged${since}). ${stays}`;
  }
  const mayGo: ReadonlySet<string> = change.select === 'accepted' ? change.notMeant : new Set();
  const changes = findChanges({ ours: published.bySeries, source: undefined }, candidate.bySeries, 'exact');
  const losses = lossesAmong(changes).filter(({ timeSeriesId }) => !mayGo.has(timeSeriesId));
  if (losses.length === 0) return '';
  const nameOf = (id: string) => idOf.get(id) ?? published.names?.[id] ?? id;
  const readings = losses.reduce((sum, loss) => sum + loss.published - loss.now, 0);
  const lost =
    counted === 'readings'
      ? `${losses.length} series would lose ${readings} reading${readings === 1 ? '' : 's'}: ${listChanges(losses, nameOf)}`
      : `${losses.length} series would be lost: ${firstThree(losses, ({ timeSeriesId: id }) => shortName(nameOf(id)))}`;
  if (!isChanged || losses.every(({ timeSeriesId }) => idOf.has(timeSeriesId))) return `${lost}. ${stays}`;
  const said =
    change.select === 'accepted'
      ? "The loss of series that 'select' no longer covers is accepted, but it still covers these, or that is unknown"
      : `'select' has changed since: if the series that it no longer covers may go, 'vessel-export accept ${day.job}' accepts that once for the job`;
  return `${lost}. ${stays}. ${said}`;
}
