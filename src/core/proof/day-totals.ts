/** A day's readings of each series in three numbers: what reconcile compares, without hours. Pure. */
import { hash } from 'node:crypto';
import { type CountsJson, type DayCounts, shortName } from '../model/index.ts';

export interface SeriesTotal {
  readonly count: number;
  /** Microseconds since the day began; undefined where the source did not say. */
  readonly firstMicros: number | undefined;
  readonly lastMicros: number | undefined;
}

/** By time series id; only series with readings. */
export type DayTotals = ReadonlyMap<string, SeriesTotal>;

/** Totals of a day's counts per hour, as they lie in its detail. */
export function seriesTotals(counts: CountsJson): DayTotals {
  const totals = new Map<string, SeriesTotal>();
  for (const [id, hours] of Object.entries(counts)) {
    let [count, firstMicros, lastMicros] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const [, readings, first, last] of hours) {
      count += readings;
      firstMicros = Math.min(firstMicros, first);
      lastMicros = Math.max(lastMicros, last);
    }
    if (count > 0) totals.set(id, { count, firstMicros, lastMicros });
  }
  return totals;
}

export function totalsOf(counts: DayCounts): DayTotals {
  const { dayFromMicros } = counts;
  const totals = new Map<string, SeriesTotal>();
  for (const id of counts.ids()) {
    const count = counts.seriesTotal(id);
    const span = counts.seriesSpan(id)!;
    const [firstMicros, lastMicros] = [span.firstMicros - dayFromMicros, span.lastMicros - dayFromMicros];
    if (count > 0) totals.set(id, { count, firstMicros, lastMicros });
  }
  return totals;
}

/** Readings that a published day is known to have: as the source counted them, where it was asked. */
export function publishedReadings({ source, rows }: { rows: number; source: { rows: number } | null }) {
  return source?.rows ?? rows;
}

export function totalReadings(totals: DayTotals): number {
  let readings = 0;
  for (const { count } of totals.values()) readings += count;
  return readings;
}

/** SHA-256 (hex) of a line `"id" count first last` for each series, in the order of their ids; `-` for no time. */
export function totalsDigest(totals: DayTotals): string {
  const lines = [...totals.keys()].sort().map((id) => {
    const { count, firstMicros = '-', lastMicros = '-' } = totals.get(id)!;
    return `${JSON.stringify(id)} ${count} ${firstMicros} ${lastMicros}\n`;
  });
  return hash('sha256', lines.join(''));
}

export function countsDigest(counts: DayCounts): string {
  return totalsDigest(totalsOf(counts));
}

/** `appeared`: the series had no reading when published; `vanished`: it has none now; `shifted`: another first or last time. */
type ChangeKind = 'added' | 'appeared' | 'removed' | 'vanished' | 'shifted';

export interface SeriesChange {
  readonly timeSeriesId: string;
  readonly kind: ChangeKind;
  readonly published: number;
  readonly now: number;
}

export interface PublishedTotals {
  readonly ours: DayTotals;
  /** What the source said then; undefined where it was not asked. */
  readonly source: DayTotals | undefined;
}

/**
 * The series whose readings changed since the day was published, in a fixed order. `at-least`, for sources whose statistics trail behind: what we have
 * more than they count is no loss as long as they count no less than they did.
 */
export function findChanges(
  published: PublishedTotals,
  now: DayTotals,
  policy: 'exact' | 'at-least',
): SeriesChange[] {
  const changes: SeriesChange[] = [];
  const then = published.source ?? published.ours;
  for (const id of [...new Set([...then.keys(), ...published.ours.keys(), ...now.keys()])].sort()) {
    const before = then.get(id);
    const least = before?.count ?? 0;
    const most = policy === 'exact' ? least : Math.max(least, published.ours.get(id)?.count ?? 0);
    const count = now.get(id)?.count ?? 0;
    const change = (kind: ChangeKind, was: number) =>
      changes.push({ timeSeriesId: id, kind, published: was, now: count });
    if (count > most) change(most === 0 ? 'appeared' : 'added', most);
    else if (count < least) change(count === 0 ? 'vanished' : 'removed', least);
    // Times of our own rows are no measure: Parquet transport has cut them to milliseconds.
    else if (policy === 'exact' && published.source !== undefined && isShifted(before, now.get(id)))
      change('shifted', least);
  }
  return changes;
}

function isShifted(before: SeriesTotal | undefined, now: SeriesTotal | undefined): boolean {
  const differs = (a: number | undefined, b: number | undefined) =>
    a !== undefined && b !== undefined && a !== b;
  return differs(before?.firstMicros, now?.firstMicros) || differs(before?.lastMicros, now?.lastMicros);
}

/** `300 readings added to 2 series; 12 removed from 1 series`, and the first few series by name. */
export function describeChanges(changes: readonly SeriesChange[], nameOf: (timeSeriesId: string) => string) {
  const sum = (kinds: readonly ChangeKind[]) => {
    const some = changes.filter(({ kind }) => kinds.includes(kind));
    return { series: some.length, readings: some.reduce((n, c) => n + Math.abs(c.now - c.published), 0) };
  };
  const added = sum(['added', 'appeared']);
  const removed = sum(['removed', 'vanished']);
  const shifted = sum(['shifted']);
  const moved = added.readings === removed.readings && added.readings > 0;
  const parts = [
    moved ? `${added.readings} readings moved between series` : '',
    !moved && added.series > 0 ? `${added.readings} readings added to ${added.series} series` : '',
    !moved && removed.series > 0 ? `${removed.readings} removed from ${removed.series} series` : '',
    shifted.series > 0 ? `another first or last time in ${shifted.series} series` : '',
  ].filter((part) => part !== '');
  return `${parts.join(', ')} (${listChanges(changes, nameOf)})`;
}

export function listChanges(changes: readonly SeriesChange[], nameOf: (timeSeriesId: string) => string) {
  return firstThree(
    changes,
    (c) => `${shortName(nameOf(c.timeSeriesId))}: ${c.published} published, ${c.now} now`,
  );
}

/** The first three things in words, and how many more there are. */
export function firstThree<T>(things: readonly T[], say: (thing: T) => string): string {
  const more = things.length > 3 ? [`and ${things.length - 3} more`] : [];
  return [...things.slice(0, 3).map(say), ...more].join('; ');
}
