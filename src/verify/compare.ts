/** Counts against counts: the proof of a day, and the guard that keeps a good day from a smaller one. */
import type { CountsJson, DayCounts, HourCount } from '../model/index.ts';

/** One place where two counts differ. */
export interface Disagreement {
  readonly timeSeriesId: string;
  /** Hour of the UTC day, or null where whole days are compared. */
  readonly hour: number | null;
  readonly ours: number;
  readonly source: number;
}

export interface CompareOptions {
  /** `exact`: equal; `at-least`: ours may be higher, for sources whose statistics trail behind. */
  readonly policy: 'exact' | 'at-least';
  /** `day` for what cannot be told by the hour: millisecond transport, windows longer than an hour. */
  readonly grain: 'hour' | 'day';
}

/** Every series and hour (or day) in which ours breaks the policy, in a fixed order. Empty: I1 holds. */
export function compareCounts(ours: DayCounts, source: DayCounts, options: CompareOptions): Disagreement[] {
  const found: Disagreement[] = [];
  const ids = new Set([...ours.bySeries.keys(), ...source.bySeries.keys()]);
  for (const timeSeriesId of [...ids].sort()) {
    for (const hour of options.grain === 'hour' ? HOURS : [null]) {
      const a = countOf(ours, timeSeriesId, hour);
      const b = countOf(source, timeSeriesId, hour);
      if (options.policy === 'exact' ? a !== b : a < b)
        found.push({ timeSeriesId, hour, ours: a, source: b });
    }
  }
  return found;
}

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

function countOf(counts: DayCounts, timeSeriesId: string, hour: number | null): number {
  if (hour === null) return counts.seriesTotal(timeSeriesId);
  return counts.bySeries.get(timeSeriesId)?.[hour]?.count ?? 0;
}

/** A sentence that names the first few disagreements and how many there are. */
export function describeDisagreements(
  found: readonly Disagreement[],
  nameOf: (id: string) => string,
): string {
  const shown = found.slice(0, 3).map(({ timeSeriesId, hour, ours, source }) => {
    const when = hour === null ? 'the day' : `hour ${String(hour).padStart(2, '0')}`;
    return `series ${nameOf(timeSeriesId)} in ${when}: ${ours} fetched, ${source} counted by the source`;
  });
  const more = found.length > shown.length ? `; and ${found.length - shown.length} more` : '';
  return shown.join('; ') + more;
}

/** A series that would have fewer readings than the published day has. */
export interface Shrinkage {
  readonly timeSeriesId: string;
  readonly published: number;
  readonly now: number;
}

/**
 * The never-shrink guard: the series of the published day that would lose readings. Series outside `selected`
 * are not compared: who narrows `select` means it.
 */
export function findShrinkage(
  published: CountsJson,
  candidate: DayCounts,
  selected: { has(timeSeriesId: string): boolean },
): Shrinkage[] {
  const found: Shrinkage[] = [];
  for (const [timeSeriesId, hours] of Object.entries(published)) {
    const before = hours.reduce((sum, [, count]) => sum + count, 0);
    const now = candidate.seriesTotal(timeSeriesId);
    if (selected.has(timeSeriesId) && now < before) found.push({ timeSeriesId, published: before, now });
  }
  return found;
}

/** A sentence that names the first few series that would shrink. */
export function describeShrinkage(found: readonly Shrinkage[], nameOf: (id: string) => string): string {
  const shown = found
    .slice(0, 3)
    .map((s) => `series ${nameOf(s.timeSeriesId)}: ${s.published} published, ${s.now} now`);
  const more = found.length > shown.length ? `; and ${found.length - shown.length} more` : '';
  return shown.join('; ') + more;
}

/**
 * Do counts over `[day, cursor)` equal what a checkpoint holds? Compared per series over the whole span: the
 * source was asked for exactly that span.
 */
export function sameTotals(ours: DayCounts, source: ReadonlyMap<string, number>): boolean {
  const ids = new Set([...ours.bySeries.keys(), ...source.keys()]);
  for (const id of ids) if (ours.seriesTotal(id) !== (source.get(id) ?? 0)) return false;
  return true;
}

/** Readings before `hour` is over, per hour of the day and over all series: what pages are planned from. */
export function hourTotals(counts: DayCounts): number[] {
  const totals = new Array<number>(24).fill(0);
  for (const hours of counts.bySeries.values()) {
    for (const [hour, known] of hours.entries())
      totals[hour]! += (known as HourCount | undefined)?.count ?? 0;
  }
  return totals;
}
