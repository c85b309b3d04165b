import type { SeriesRuns } from './row-group.ts';
import { MICROS_PER_HOUR, type Micros } from './time.ts';

/** From the first reading to the last, both included. */
export interface TimeSpan {
  firstMicros: Micros;
  lastMicros: Micros;
}

/** What is known of one series in one hour (or window) of a day. */
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

/** Counts per series and hour of one day: the currency of every proof. They lie in one array: of a small vessel-day, objects for hours would be most. */
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
    const known = this.#places.get(timeSeriesId);
    if (known !== undefined) return known;
    const place = this.#end;
    if (place === this.#cells.length) {
      const wider = new Float64Array(Math.max(2 * place, this.#firstSeries * SERIES_CELLS));
      wider.set(this.#cells);
      this.#cells = wider;
    }
    this.#places.set(timeSeriesId, place);
    return place;
  }

  /** Behind the cells of the last series. */
  get #end(): number {
    return this.#places.size * SERIES_CELLS;
  }

  ids(): Iterable<string> {
    return this.#places.keys();
  }

  /** Undefined where the series has no reading in the hour. */
  hour(timeSeriesId: string, hour: number): HourCount | undefined {
    if (!this.hasHour(timeSeriesId, hour)) return undefined;
    const at = this.#places.get(timeSeriesId)! + hour;
    const cells = this.#cells;
    return { count: cells[at]!, firstMicros: cells[at + FIRSTS]!, lastMicros: cells[at + LASTS]! };
  }

  hasHour(timeSeriesId: string, hour: number): boolean {
    const place = this.#places.get(timeSeriesId);
    return place !== undefined && isHourOfDay(hour) && this.#cells[place + hour] !== 0;
  }

  hours(timeSeriesId: string): number[] {
    const hours: number[] = [];
    for (let hour = 0; hour < DAY_HOURS; hour++) if (this.hasHour(timeSeriesId, hour)) hours.push(hour);
    return hours;
  }

  hourTotal(hour: number): number {
    let total = 0;
    if (isHourOfDay(hour)) for (let at = hour; at < this.#end; at += SERIES_CELLS) total += this.#cells[at]!;
    return total;
  }

  seriesTotal(timeSeriesId: string): number {
    const place = this.#places.get(timeSeriesId);
    return place === undefined ? 0 : this.#totalOf(place, place + SERIES_CELLS);
  }

  total(): number {
    return this.#totalOf(0, this.#end);
  }

  #totalOf(from: number, to: number): number {
    let total = 0;
    for (let place = from; place < to; place += SERIES_CELLS)
      for (let at = place; at < place + DAY_HOURS; at++) total += this.#cells[at]!;
    return total;
  }

  seriesSpan(timeSeriesId: string): TimeSpan | undefined {
    const place = this.#places.get(timeSeriesId);
    return place === undefined ? undefined : this.#spanOf(place, place + SERIES_CELLS);
  }

  span(): TimeSpan | undefined {
    return this.#spanOf(0, this.#end);
  }

  #spanOf(from: number, to: number): TimeSpan | undefined {
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

  seriesCount(): number {
    return this.#places.size;
  }

  equals(other: DayCounts): boolean {
    if (other === this) return true;
    if (other.#places.size !== this.#places.size) return false;
    for (const [id, from] of this.#places) {
      const to = other.#places.get(id);
      if (to === undefined) return false;
      // Cells of no reading are 0, times too.
      for (let cell = 0; cell < SERIES_CELLS; cell++)
        if (this.#cells[from + cell] !== other.#cells[to + cell]) return false;
    }
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
