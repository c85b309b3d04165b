import type { Micros } from './time.ts';
import { MICROS_PER_HOUR } from './time.ts';

/** From the first reading to the last, both included. */
export interface TimeSpan {
  firstMicros: Micros;
  lastMicros: Micros;
}

/** What is known of one series in one hour (or window) of a day. */
export interface HourCount extends TimeSpan {
  count: number;
}

function spanOfBoth(a: TimeSpan | undefined, b: TimeSpan | undefined): TimeSpan | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    firstMicros: Math.min(a.firstMicros, b.firstMicros),
    lastMicros: Math.max(a.lastMicros, b.lastMicros),
  };
}

function isSameHour(a: HourCount | undefined, b: HourCount | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.count === b.count && a.firstMicros === b.firstMicros && a.lastMicros === b.lastMicros;
}

/** Readings of one series within one UTC hour (statistics: the sum of the `count` column of its windows). */
export interface SeriesRun {
  readonly timeSeriesId: string;
  readonly count: number;
  readonly firstMicros: Micros;
  readonly lastMicros: Micros;
}

/** Counts per series (by time series id) and hour of one day: the currency of every proof. */
export class DayCounts {
  readonly dayFromMicros: Micros;
  readonly bySeries = new Map<string, (HourCount | undefined)[]>();

  constructor(dayFromMicros: Micros) {
    this.dayFromMicros = dayFromMicros;
  }

  /** Add `count` readings of a series between two instants of one hour: that in which the first one lies. */
  add(timeSeriesId: string, count: number, firstMicros: Micros, lastMicros: Micros): void {
    const hour = Math.floor((firstMicros - this.dayFromMicros) / MICROS_PER_HOUR);
    this.addHour(timeSeriesId, hour, { count, firstMicros, lastMicros });
  }

  /** Add what is known of an hour, wherever its times lie. */
  addHour(timeSeriesId: string, hour: number, { count, firstMicros, lastMicros }: HourCount): void {
    if (count === 0) return;
    let hours = this.bySeries.get(timeSeriesId);
    if (hours === undefined) {
      hours = new Array(24).fill(undefined);
      this.bySeries.set(timeSeriesId, hours);
    }
    const known = hours[hour];
    if (known === undefined) {
      hours[hour] = { count, firstMicros, lastMicros };
      return;
    }
    known.count += count;
    known.firstMicros = Math.min(known.firstMicros, firstMicros);
    known.lastMicros = Math.max(known.lastMicros, lastMicros);
  }

  /** What is known of one series in one hour; undefined where it has no reading. */
  hour(timeSeriesId: string, hour: number): HourCount | undefined {
    return this.bySeries.get(timeSeriesId)?.[hour];
  }

  /** Readings of one hour over all series. */
  hourTotal(hour: number): number {
    let total = 0;
    for (const hours of this.bySeries.values()) total += hours[hour]?.count ?? 0;
    return total;
  }

  /** Readings of one series over the day. */
  seriesTotal(timeSeriesId: string): number {
    let total = 0;
    for (const hour of this.bySeries.get(timeSeriesId) ?? []) total += hour?.count ?? 0;
    return total;
  }

  /** First and last reading of one series, or undefined where it has none. */
  seriesSpan(timeSeriesId: string): TimeSpan | undefined {
    let span: TimeSpan | undefined;
    for (const hour of this.bySeries.get(timeSeriesId) ?? []) {
      if (hour === undefined) continue;
      span ??= { firstMicros: hour.firstMicros, lastMicros: hour.lastMicros };
      if (hour.firstMicros < span.firstMicros) span.firstMicros = hour.firstMicros;
      if (hour.lastMicros > span.lastMicros) span.lastMicros = hour.lastMicros;
    }
    return span;
  }

  /** Readings of the day. */
  total(): number {
    let total = 0;
    for (const hours of this.bySeries.values())
      for (let hour = 0; hour < hours.length; hour++) total += hours[hour]?.count ?? 0;
    return total;
  }

  /** Series with at least one reading. */
  seriesCount(): number {
    return this.bySeries.size;
  }

  /** Earliest and latest reading, or undefined for an empty day. */
  span(): TimeSpan | undefined {
    let span: TimeSpan | undefined;
    for (const id of this.bySeries.keys()) span = spanOfBoth(span, this.seriesSpan(id));
    return span;
  }

  /** The same counts and times in the same hours. */
  equals({ bySeries }: DayCounts): boolean {
    if (bySeries === this.bySeries) return true;
    if (bySeries.size !== this.bySeries.size) return false;
    for (const [id, hours] of this.bySeries) {
      const others = bySeries.get(id);
      if (others?.length !== hours.length) return false;
      for (let hour = 0; hour < hours.length; hour++)
        if (!isSameHour(hours[hour], others[hour])) return false;
    }
    return true;
  }

  /** A plain value for JSON, in a fixed order; instants as microseconds of the day. */
  toJson(): CountsJson {
    const json: Record<string, [number, number, number, number][]> = {};
    for (const id of [...this.bySeries.keys()].sort()) {
      const rows: [number, number, number, number][] = [];
      const hours = this.bySeries.get(id)!;
      for (let hour = 0; hour < hours.length; hour++) {
        const known = hours[hour];
        if (known === undefined) continue;
        const { count, firstMicros, lastMicros } = known;
        rows.push([hour, count, firstMicros - this.dayFromMicros, lastMicros - this.dayFromMicros]);
      }
      json[id] = rows;
    }
    return json;
  }

  static fromJson(dayFromMicros: Micros, json: CountsJson): DayCounts {
    const counts = new DayCounts(dayFromMicros);
    for (const [id, rows] of Object.entries(json)) {
      for (const [hour, count, first, last] of rows) {
        const times = { firstMicros: dayFromMicros + first, lastMicros: dayFromMicros + last };
        counts.addHour(id, hour, { count, ...times });
      }
    }
    return counts;
  }
}

/** Time series id → rows of `[hour, count, first, last]`, the instants as microseconds since the day began. */
export type CountsJson = Readonly<Record<string, readonly (readonly [number, number, number, number])[]>>;
