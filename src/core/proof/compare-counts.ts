/** Counts and times against counts and times: the proof of a day. Pure. */
import { DataError } from '../errors.ts';
import type { DayCounts, HourCount, Job, Micros, TimeSpan, VesselDay } from '../model/index.ts';
import { formatVesselDay, shortName, windowMicrosOf } from '../model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MILLI, microsToIso } from '../model/time.ts';
import { firstThree } from './day-totals.ts';

/** Fetched and counted disagree, or the statistics with themselves: it may be over when asked again. */
export class CountsDisagreeError extends DataError {
  /** `disagreement`: a clause that says what disagrees with what, with both. */
  constructor(day: VesselDay, disagreement: string) {
    super(
      'counts-disagree',
      `${formatVesselDay(day)}: ${disagreement}. Nothing was published; run again later, and if it stays, report this to the operator of the query service`,
    );
  }
}

/** One place where two counts differ, or where equal ones have other times. */
export interface Disagreement {
  readonly timeSeriesId: string;
  /** Hour of the UTC day, or null where whole days are compared. */
  readonly hour: number | null;
  readonly ours: number;
  readonly source: number;
  /** Where the counts agree: the first and last times, which do not. */
  readonly times?: { readonly ours: TimeSpan; readonly source: TimeSpan };
}

/** How finely what we hold can be told from what the source says. */
export interface Precision {
  /** `day` for what cannot be told by the hour: millisecond transport, windows longer than an hour. */
  readonly grain: 'hour' | 'day';
  /** So much may a time of ours be earlier than the source's: windows begin before their readings. */
  readonly earlyMicros: number;
  /** So much may it be later: whether milliseconds are cut or rounded is not promised. */
  readonly lateMicros: number;
}

interface CompareOptions {
  /** `exact`: equal; `at-least`: ours may be more, for sources whose statistics trail behind. */
  readonly policy: 'exact' | 'at-least';
  readonly precision: Precision;
}

export const TO_THE_MICROSECOND: Precision = { grain: 'hour', earlyMicros: 0, lateMicros: 0 };
const TO_THE_MILLISECOND: Precision = {
  grain: 'day',
  earlyMicros: MICROS_PER_MILLI - 1,
  lateMicros: MICROS_PER_MILLI - 1,
};

/** Hours can be compared where every row of ours lies in the same hour as the source's reading. */
export function precisionOf(job: Job): Precision {
  if (job.dataset === 'statistics') {
    const windowMicros = windowMicrosOf(job);
    const grain = MICROS_PER_HOUR % windowMicros === 0 ? 'hour' : 'day';
    return { grain, earlyMicros: windowMicros - 1, lateMicros: 0 };
  }
  return job.transport === 'parquet' ? TO_THE_MILLISECOND : TO_THE_MICROSECOND;
}

/** The same where the job's settings are not known: what holds for every transport and window. */
export function leastPrecision(dataset: Job['dataset']): Precision {
  if (dataset !== 'statistics') return TO_THE_MILLISECOND;
  return { grain: 'day', earlyMicros: MICROS_PER_DAY - 1, lateMicros: 0 };
}

/** Is a time of ours the source's, as far as it can be told? */
export function isSameTime(
  ours: Micros,
  source: Micros,
  { earlyMicros, lateMicros }: Omit<Precision, 'grain'>,
): boolean {
  return ours >= source - earlyMicros && ours <= source + lateMicros;
}

/** Every series and hour (or day) in which ours breaks the policy, in a fixed order. Empty: I1 holds. */
export function compareCounts(ours: DayCounts, source: DayCounts, options: CompareOptions): Disagreement[] {
  // Nearly every day: what is the same agrees under every policy, however finely it is told apart.
  if (ours.equals(source)) return [];
  const disagreements: Disagreement[] = [];
  const ids = new Set([...ours.ids(), ...source.ids()]);
  for (const timeSeriesId of [...ids].sort()) {
    for (const hour of options.precision.grain === 'hour' ? hoursOf(timeSeriesId, ours, source) : [null]) {
      const [a, b] = [countIn(ours, timeSeriesId, hour), countIn(source, timeSeriesId, hour)];
      const found = compareOne(a, b, options);
      if (found !== undefined) disagreements.push({ timeSeriesId, hour, ...found });
    }
  }
  return disagreements;
}

function hoursOf(timeSeriesId: string, ours: DayCounts, source: DayCounts): readonly number[] {
  const hours = new Set([...ours.hours(timeSeriesId), ...source.hours(timeSeriesId)]);
  return [...hours].sort((a, b) => a - b);
}

function compareOne(
  a: HourCount | undefined,
  b: HourCount | undefined,
  { policy, precision }: CompareOptions,
): Pick<Disagreement, 'ours' | 'source' | 'times'> | undefined {
  const [ours, source] = [a?.count ?? 0, b?.count ?? 0];
  if (policy === 'exact' ? ours !== source : ours < source) return { ours, source };
  if (a === undefined || b === undefined) return undefined;
  // Readings that the source does not count yet may lie before and after those that it does.
  const { earlyMicros, lateMicros } = ours > source ? ANY_TIME : precision;
  const sameFirst = isSameTime(a.firstMicros, b.firstMicros, { ...precision, earlyMicros });
  const sameLast = isSameTime(a.lastMicros, b.lastMicros, { ...precision, lateMicros });
  return sameFirst && sameLast ? undefined : { ours, source, times: { ours: spanOf(a), source: spanOf(b) } };
}

const ANY_TIME = { earlyMicros: Number.POSITIVE_INFINITY, lateMicros: Number.POSITIVE_INFINITY };
const spanOf = ({ firstMicros, lastMicros }: TimeSpan): TimeSpan => ({ firstMicros, lastMicros });

function countIn(counts: DayCounts, timeSeriesId: string, hour: number | null): HourCount | undefined {
  if (hour !== null) return counts.hour(timeSeriesId, hour);
  const span = counts.seriesSpan(timeSeriesId);
  return span && { count: counts.seriesTotal(timeSeriesId), ...span };
}

export function describeSpan({ firstMicros, lastMicros }: TimeSpan): string {
  return `${microsToIso(firstMicros)} to ${microsToIso(lastMicros)}`;
}

/** A sentence that names the first few disagreements and how many there are. */
export function describeDisagreements(
  disagreements: readonly Disagreement[],
  nameOf: (id: string) => string,
): string {
  return firstThree(disagreements, ({ timeSeriesId, hour, ours, source, times }) => {
    const when = hour === null ? 'the day' : `hour ${String(hour).padStart(2, '0')}`;
    const where = `series ${shortName(nameOf(timeSeriesId))} in ${when}`;
    if (times !== undefined)
      return `${where}: first and last reading ${describeSpan(times.ours)} as fetched, ${describeSpan(times.source)} as the source says`;
    return `${where}: ${ours} fetched, ${source} counted by the source`;
  });
}
