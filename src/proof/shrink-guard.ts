/** The never-shrink guard: nothing published gives way to less, unless that is allowed. Pure. */
import { RefusedError } from '../errors.ts';
import type { VesselDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import type { DayTotals, SeriesChange } from './day-totals.ts';
import { findChanges, listChanges } from './day-totals.ts';

/** The changes by which a series loses readings. */
export function lossesAmong(changes: readonly SeriesChange[]): SeriesChange[] {
  return changes.filter(({ kind }) => kind === 'removed' || kind === 'vanished');
}

/** Readings of a day, or series of a metadata snapshot: in all, and by series where that is known. */
interface GuardedAmount {
  readonly total: number;
  readonly bySeries?: DayTotals | undefined;
  /** Names of the series, where they are known. */
  readonly names?: Readonly<Record<string, string | null>> | undefined;
}

interface Replacement {
  readonly day: VesselDay;
  readonly counted: 'readings' | 'series';
  readonly published: GuardedAmount;
  readonly candidate: GuardedAmount;
  /** Names of the series that are selected now. */
  readonly idOf?: ReadonlyMap<string, string | null>;
  /** False: other series were asked for then, and those that are not asked for now are not compared: who narrows `select` means it. */
  readonly sameSelect?: boolean;
  /** Digest of what the source counts, to be remembered with a refusal. */
  readonly totalsSha256?: string | undefined;
}

/** Throws RefusedError `would-shrink`, by series where the published ones are known, else by the total. */
export function guardAgainstShrinking(replacement: Replacement): void {
  const lost = describeLosses(replacement);
  if (lost === '') return;
  const { day, counted, totalsSha256 } = replacement;
  const what = counted === 'readings' ? 'day' : 'snapshot';
  throw new RefusedError(
    'would-shrink',
    `${formatVesselDay(day)}: refused to replace the published ${what} by one with fewer ${counted}: ${lost}. The published ${what} stays; if the source is right, run again with --allow-shrink`,
    totalsSha256,
  );
}

function describeLosses({ counted, published, candidate, idOf, sameSelect }: Replacement): string {
  if (published.bySeries === undefined || candidate.bySeries === undefined) {
    if (candidate.total >= published.total) return '';
    const why = counted === 'readings' ? ' (its detail object is missing or damaged)' : '';
    return `${published.total} published, ${candidate.total} now${why}`;
  }
  const changes = findChanges(
    { ours: published.bySeries, source: undefined },
    candidate.bySeries,
    'exact',
  ).filter(({ timeSeriesId }) => sameSelect === true || idOf?.has(timeSeriesId) !== false);
  return listChanges(lossesAmong(changes), (id) => `series ${idOf?.get(id) ?? published.names?.[id] ?? id}`);
}
