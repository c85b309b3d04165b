import type { SeriesRuns } from './row-group.ts';
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

function spanOfBoth(a: TimeSpan | undefined, { firstMicros, lastMicros }: TimeSpan): TimeSpan {
  if (a === undefined) return { firstMicros, lastMicros };
  return {
    firstMicros: Math.min(a.firstMicros, firstMicros),
    lastMicros: Math.max(a.lastMicros, lastMicros),
  };
}

function isSameHour(a: HourCount | undefined, b: HourCount | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.count === b.count && a.firstMicros === b.firstMicros && a.lastMicros === b.lastMicros;
}

/** Hours of a day: so many cells of a series are counts (0: no reading), then follow first times, then last times. */
const DAY_HOURS = 24;
const FIRSTS = DAY_HOURS;
const LASTS = 2 * DAY_HOURS;
const SERIES_CELLS = 3 * DAY_HOURS;
/** Series that there is room for at first, unless so many are expected; and the most of these. */
const FIRST_SERIES = 32;
const MAX_FIRST_SERIES = 512;

const isHourOfDay = (hour: number): boolean => hour >= 0 && hour < DAY_HOURS && Number.isInteger(hour);

/**
 * Counts per series (by time series id) and hour of one day: the currency of every proof. They lie in one array, for a
 * small vessel-day is little else, and with an object for each hour most of it would outlive collections of garbage.
 */
export class DayCounts {
  readonly dayFromMicros: Micros;
  /** Time series id → index of its first cell. */
  readonly #places = new Map<string, number>();
  #cells = new Float64Array(0);
  /**
   * By series and hour, as it came: what is not a number of readings in an hour of the day, and all that was added
   * after such. Only a damaged file has any.
   */
  #others: Map<string, Map<number, HourCount>> | undefined;
  #sortedIds: readonly string[] | undefined;
  readonly #firstSeries: number;
  /** The series that was looked for last, mostly that of the next look too. */
  #lastId = '';
  #lastPlace = -1;

  constructor(dayFromMicros: Micros, expectedSeries = FIRST_SERIES) {
    this.dayFromMicros = dayFromMicros;
    this.#firstSeries = Math.max(1, Math.min(expectedSeries, MAX_FIRST_SERIES));
  }

  /** Add `count` readings of a series between two instants of one hour: that in which the first one lies. */
  add(timeSeriesId: string, count: number, firstMicros: Micros, lastMicros: Micros): void {
    const hour = Math.floor((firstMicros - this.dayFromMicros) / MICROS_PER_HOUR);
    this.addHour(timeSeriesId, hour, count, firstMicros, lastMicros);
  }

  /** Add the runs of a row group. */
  addRuns({ ids, ranks, counts, firstMicros, lastMicros }: SeriesRuns): void {
    for (let run = 0; run < ranks.length; run++)
      this.add(ids[ranks[run]!]!, counts[run]!, firstMicros[run]!, lastMicros[run]!);
  }

  /** Add what is known of an hour, wherever its times lie. */
  addHour(timeSeriesId: string, hour: number, count: number, firstMicros: Micros, lastMicros: Micros): void {
    if (count === 0) return;
    const place = this.#placeToFill(timeSeriesId);
    const isUsual = isHourOfDay(hour) && count > 0 && Number.isFinite(count);
    if (!isUsual || !Number.isFinite(firstMicros) || !Number.isFinite(lastMicros) || this.#others) {
      this.#addOther(timeSeriesId, hour, { count, firstMicros, lastMicros });
      return;
    }
    const cells = this.#cells;
    const at = place + hour;
    const known = cells[at]!;
    cells[at] = known + count;
    if (known === 0 || firstMicros < cells[at + FIRSTS]!) cells[at + FIRSTS] = firstMicros;
    if (known === 0 || lastMicros > cells[at + LASTS]!) cells[at + LASTS] = lastMicros;
  }

  #placeToFill(timeSeriesId: string): number {
    const known = this.placeOf(timeSeriesId);
    if (known >= 0) return known;
    const place = this.#places.size * SERIES_CELLS;
    if (place === this.#cells.length) {
      const wider = new Float64Array(Math.max(2 * place, this.#firstSeries * SERIES_CELLS));
      wider.set(this.#cells);
      this.#cells = wider;
    }
    this.#places.set(timeSeriesId, place);
    this.#sortedIds = undefined;
    return place;
  }

  #addOther(timeSeriesId: string, hour: number, added: HourCount): void {
    const known = this.hour(timeSeriesId, hour);
    const place = this.placeOf(timeSeriesId);
    if (isHourOfDay(hour)) for (const part of [0, FIRSTS, LASTS]) this.#cells[place + part + hour] = 0;
    this.#others ??= new Map();
    const hours = this.#others.get(timeSeriesId) ?? new Map<number, HourCount>();
    this.#others.set(timeSeriesId, hours);
    hours.set(
      hour,
      known === undefined ? added : { count: known.count + added.count, ...spanOfBoth(known, added) },
    );
  }

  /** The series that have readings. */
  ids(): Iterable<string> {
    return this.#places.keys();
  }

  /** The same in a fixed order. */
  sortedIds(): readonly string[] {
    this.#sortedIds ??= [...this.#places.keys()].sort();
    return this.#sortedIds;
  }

  /** Does every count lie in an hour of the day? Then `cells` hold all of them. */
  get isUsual(): boolean {
    return this.#others === undefined;
  }

  /** The cells of all series: see DAY_HOURS. */
  get cells(): Float64Array {
    return this.#cells;
  }

  /** Where the cells of a series begin; -1: it has no reading. */
  placeOf(timeSeriesId: string): number {
    if (timeSeriesId === this.#lastId && this.#lastPlace >= 0) return this.#lastPlace;
    const place = this.#places.get(timeSeriesId);
    if (place === undefined) return -1;
    this.#lastId = timeSeriesId;
    this.#lastPlace = place;
    return place;
  }

  /** What is known of one series in one hour; undefined where it has no reading. */
  hour(timeSeriesId: string, hour: number): HourCount | undefined {
    const place = this.placeOf(timeSeriesId);
    if (place < 0) return undefined;
    const at = place + hour;
    const cells = this.#cells;
    if (isHourOfDay(hour) && cells[at] !== 0)
      return { count: cells[at]!, firstMicros: cells[at + FIRSTS]!, lastMicros: cells[at + LASTS]! };
    return this.#others?.get(timeSeriesId)?.get(hour);
  }

  /** Has the series a reading in the hour? */
  hasHour(timeSeriesId: string, hour: number): boolean {
    const place = this.placeOf(timeSeriesId);
    if (place < 0) return false;
    if (isHourOfDay(hour) && this.#cells[place + hour] !== 0) return true;
    return this.#others?.get(timeSeriesId)?.has(hour) === true;
  }

  /** Hours in which the series has readings, ascending. */
  hours(timeSeriesId: string): number[] {
    const place = this.placeOf(timeSeriesId);
    const hours: number[] = [];
    for (let hour = 0; place >= 0 && hour < DAY_HOURS; hour++)
      if (this.#cells[place + hour] !== 0) hours.push(hour);
    const others = this.#others?.get(timeSeriesId);
    return others === undefined ? hours : [...hours, ...others.keys()].sort((a, b) => a - b);
  }

  /** Readings of one hour over all series. */
  hourTotal(hour: number): number {
    let total = 0;
    const end = this.#places.size * SERIES_CELLS;
    if (isHourOfDay(hour)) for (let at = hour; at < end; at += SERIES_CELLS) total += this.#cells[at]!;
    for (const hours of this.#others?.values() ?? []) total += hours.get(hour)?.count ?? 0;
    return total;
  }

  /** Readings of one series over the day. */
  seriesTotal(timeSeriesId: string): number {
    let total = 0;
    const place = this.placeOf(timeSeriesId);
    for (let hour = 0; place >= 0 && hour < DAY_HOURS; hour++) total += this.#cells[place + hour]!;
    for (const { count } of this.#others?.get(timeSeriesId)?.values() ?? []) total += count;
    return total;
  }

  /** First and last reading of one series, or undefined where it has none. */
  seriesSpan(timeSeriesId: string): TimeSpan | undefined {
    const place = this.placeOf(timeSeriesId);
    let span = place < 0 ? undefined : this.#spanOfCells(place, place + SERIES_CELLS);
    for (const hour of this.#others?.get(timeSeriesId)?.values() ?? []) span = spanOfBoth(span, hour);
    return span;
  }

  #spanOfCells(from: number, to: number): TimeSpan | undefined {
    const cells = this.#cells;
    let firstMicros = Number.POSITIVE_INFINITY;
    let lastMicros = Number.NEGATIVE_INFINITY;
    for (let place = from; place < to; place += SERIES_CELLS)
      for (let at = place; at < place + DAY_HOURS; at++) {
        if (cells[at] === 0) continue;
        if (cells[at + FIRSTS]! < firstMicros) firstMicros = cells[at + FIRSTS]!;
        if (cells[at + LASTS]! > lastMicros) lastMicros = cells[at + LASTS]!;
      }
    return firstMicros === Number.POSITIVE_INFINITY ? undefined : { firstMicros, lastMicros };
  }

  /** Readings of the day. */
  total(): number {
    let total = 0;
    const cells = this.#cells;
    const end = this.#places.size * SERIES_CELLS;
    for (let place = 0; place < end; place += SERIES_CELLS)
      for (let at = place; at < place + DAY_HOURS; at++) total += cells[at]!;
    for (const hours of this.#others?.values() ?? []) for (const { count } of hours.values()) total += count;
    return total;
  }

  /** Series with at least one reading. */
  seriesCount(): number {
    return this.#places.size;
  }

  /** Earliest and latest reading, or undefined for an empty day. */
  span(): TimeSpan | undefined {
    let span = this.#spanOfCells(0, this.#places.size * SERIES_CELLS);
    for (const hours of this.#others?.values() ?? [])
      for (const hour of hours.values()) span = spanOfBoth(span, hour);
    return span;
  }

  /** The same counts and times in the same hours. */
  equals(other: DayCounts): boolean {
    if (other === this) return true;
    if (other.#places.size !== this.#places.size) return false;
    const isEqual = this.isUsual && other.isUsual ? this.#hasCellsOf : this.#hasHoursOf;
    for (const id of this.#places.keys())
      if (other.placeOf(id) < 0 || !isEqual.call(this, other, id)) return false;
    return true;
  }

  #hasCellsOf(other: DayCounts, id: string): boolean {
    const [ours, theirs] = [this.#cells, other.#cells];
    const [from, to] = [this.placeOf(id), other.placeOf(id)];
    // Cells of no reading are 0, times too.
    for (let cell = 0; cell < SERIES_CELLS; cell++) if (ours[from + cell] !== theirs[to + cell]) return false;
    return true;
  }

  #hasHoursOf(other: DayCounts, id: string): boolean {
    const hours = this.hours(id);
    return (
      hours.length === other.hours(id).length &&
      hours.every((hour) => isSameHour(this.hour(id, hour), other.hour(id, hour)))
    );
  }

  /** A plain value for JSON, in a fixed order; instants as microseconds of the day. */
  toJson(): CountsJson {
    const rows = (id: string): CountsJson[string] =>
      this.hours(id).map((hour) => {
        const { count, firstMicros, lastMicros } = this.hour(id, hour)!;
        return [hour, count, firstMicros - this.dayFromMicros, lastMicros - this.dayFromMicros];
      });
    // Not by assignment: a series may be called `__proto__`.
    return Object.fromEntries(this.sortedIds().map((id) => [id, rows(id)]));
  }

  static fromJson(dayFromMicros: Micros, json: CountsJson, expectedSeries?: number): DayCounts {
    const counts = new DayCounts(dayFromMicros, expectedSeries);
    for (const [id, rows] of Object.entries(json))
      for (const [hour, count, first, last] of rows)
        counts.addHour(id, hour, count, dayFromMicros + first, dayFromMicros + last);
    return counts;
  }
}

/** Time series id → rows of `[hour, count, first, last]`, the instants as microseconds since the day began. */
export type CountsJson = Readonly<Record<string, readonly (readonly [number, number, number, number])[]>>;
