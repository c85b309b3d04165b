import type { SeriesRuns } from './row-group.ts';
import { MICROS_PER_HOUR, type Micros } from './time.ts';

/** From the first reading to the last, both included. */
export interface TimeSpan {
  firstMicros: Micros;
  lastMicros: Micros;
}

export interface HourCount extends TimeSpan {
  count: number;
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
  readonly #firstSeries: number;

  constructor(dayFromMicros: Micros, expectedSeries = FIRST_SERIES) {
    this.dayFromMicros = dayFromMicros;
    this.#firstSeries = Math.max(1, Math.min(expectedSeries, MAX_FIRST_SERIES));
  }

  /** Add `count` readings of a series between two instants of one hour: that in which the first one lies. */
  add(timeSeriesId: string, count: number, firstMicros: Micros, lastMicros: Micros): void {
    const hour = Math.floor((firstMicros - this.dayFromMicros) / MICROS_PER_HOUR);
    this.addHour(timeSeriesId, hour, count, firstMicros, lastMicros);
  }

  addRuns({ ids, ranks, counts, firstMicros, lastMicros }: SeriesRuns): void {
    for (let run = 0; run < ranks.length; run++)
      this.add(ids[ranks[run]!]!, counts[run]!, firstMicros[run]!, lastMicros[run]!);
  }

  /** Add what is known of an hour, wherever its times lie. Throws RangeError for no hour of a day. */
  addHour(timeSeriesId: string, hour: number, count: number, firstMicros: Micros, lastMicros: Micros): void {
    if (count === 0) return;
    if (!isHourOfDay(hour)) throw new RangeError(`got hour ${hour}, expected one of a day`);
    const at = this.#placeToFill(timeSeriesId) + hour;
    const cells = this.#cells;
    const known = cells[at]!;
    cells[at] = known + count;
    if (known === 0 || firstMicros < cells[at + FIRSTS]!) cells[at + FIRSTS] = firstMicros;
    if (known === 0 || lastMicros > cells[at + LASTS]!) cells[at + LASTS] = lastMicros;
  }

  #placeToFill(timeSeriesId: string): number {
    const known = this.#placeOf(timeSeriesId);
    if (known >= 0) return known;
    const place = this.#places.size * SERIES_CELLS;
    if (place === this.#cells.length) {
      const wider = new Float64Array(Math.max(2 * place, this.#firstSeries * SERIES_CELLS));
      wider.set(this.#cells);
      this.#cells = wider;
    }
    this.#places.set(timeSeriesId, place);
    return place;
  }

  ids(): Iterable<string> {
    return this.#places.keys();
  }

  /** Where the cells of a series begin; -1: it has no reading. */
  #placeOf(timeSeriesId: string): number {
    return this.#places.get(timeSeriesId) ?? -1;
  }

  hour(timeSeriesId: string, hour: number): HourCount | undefined {
    if (!this.hasHour(timeSeriesId, hour)) return undefined;
    const at = this.#placeOf(timeSeriesId) + hour;
    const cells = this.#cells;
    return { count: cells[at]!, firstMicros: cells[at + FIRSTS]!, lastMicros: cells[at + LASTS]! };
  }

  hasHour(timeSeriesId: string, hour: number): boolean {
    const place = this.#placeOf(timeSeriesId);
    return place >= 0 && isHourOfDay(hour) && this.#cells[place + hour] !== 0;
  }

  /** Hours in which the series has readings, ascending. */
  hours(timeSeriesId: string): number[] {
    const place = this.#placeOf(timeSeriesId);
    const hours: number[] = [];
    for (let hour = 0; place >= 0 && hour < DAY_HOURS; hour++)
      if (this.#cells[place + hour] !== 0) hours.push(hour);
    return hours;
  }

  hourTotal(hour: number): number {
    let total = 0;
    const end = this.#places.size * SERIES_CELLS;
    if (isHourOfDay(hour)) for (let at = hour; at < end; at += SERIES_CELLS) total += this.#cells[at]!;
    return total;
  }

  seriesTotal(timeSeriesId: string): number {
    let total = 0;
    const place = this.#placeOf(timeSeriesId);
    for (let hour = 0; place >= 0 && hour < DAY_HOURS; hour++) total += this.#cells[place + hour]!;
    return total;
  }

  /** First and last reading of one series, or undefined where it has none. */
  seriesSpan(timeSeriesId: string): TimeSpan | undefined {
    const place = this.#placeOf(timeSeriesId);
    return place < 0 ? undefined : this.#spanOfCells(place, place + SERIES_CELLS);
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

  total(): number {
    let total = 0;
    const cells = this.#cells;
    const end = this.#places.size * SERIES_CELLS;
    for (let place = 0; place < end; place += SERIES_CELLS)
      for (let at = place; at < place + DAY_HOURS; at++) total += cells[at]!;
    return total;
  }

  /** Series with at least one reading. */
  seriesCount(): number {
    return this.#places.size;
  }

  span(): TimeSpan | undefined {
    return this.#spanOfCells(0, this.#places.size * SERIES_CELLS);
  }

  equals(other: DayCounts): boolean {
    if (other === this) return true;
    const ids = [...this.#places.keys()];
    return other.#places.size === ids.length && ids.every((id) => this.#hasCellsOf(other, id));
  }

  #hasCellsOf(other: DayCounts, id: string): boolean {
    const [ours, theirs] = [this.#cells, other.#cells];
    const [from, to] = [this.#placeOf(id), other.#placeOf(id)];
    if (to < 0) return false;
    // Cells of no reading are 0, times too.
    for (let cell = 0; cell < SERIES_CELLS; cell++) if (ours[from + cell] !== theirs[to + cell]) return false;
    return true;
  }

  /** A plain value for JSON, in a fixed order; instants as microseconds of the day. */
  toJson(): CountsJson {
    const rows = (id: string): CountsJson[string] =>
      this.hours(id).map((hour) => {
        const { count, firstMicros, lastMicros } = this.hour(id, hour)!;
        return [hour, count, firstMicros - this.dayFromMicros, lastMicros - this.dayFromMicros];
      });
    // Not by assignment: a series may be called `__proto__`.
    return Object.fromEntries([...this.ids()].sort().map((id) => [id, rows(id)]));
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
