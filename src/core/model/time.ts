/** Whole microseconds since 1970-01-01T00:00:00Z. */
export type Micros = number;

export const MICROS_PER_MILLI = 1_000;
export const MICROS_PER_SECOND = 1_000_000;
export const MICROS_PER_HOUR = 3_600 * MICROS_PER_SECOND;
export const MICROS_PER_DAY = 24 * MICROS_PER_HOUR;

/** Delays before a vessel-day whose source said something odd is looked at again; after the last its word counts. */
export const LOOK_AGAIN_DELAYS_MS: readonly number[] = [300_000, 1_800_000, 7_200_000];

const DATE_SHAPE = /^(\d{4})-(\d{2})-(\d{2})$/;

/** True for a real UTC calendar date `YYYY-MM-DD` between 1970 and 2199. */
export function isDate(text: string): boolean {
  const match = DATE_SHAPE.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year < 1970 || year > 2199 || month < 1 || month > 12 || day < 1) return false;
  // Every month has so many; the others are looked up.
  return day <= 28 || new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
}

/** First microsecond of a UTC date `YYYY-MM-DD`. Throws RangeError on anything else. */
export function dateToMicros(date: string): Micros {
  if (!isDate(date))
    throw new RangeError(`got '${date}', expected a UTC date YYYY-MM-DD between 1970 and 2199`);
  return Date.parse(`${date}T00:00:00Z`) * MICROS_PER_MILLI;
}

export function microsToDate(micros: Micros): string {
  return new Date(Math.floor(micros / MICROS_PER_MILLI)).toISOString().slice(0, 10);
}

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ`, the contract's shape of a timestamp. */
export function microsToIso(micros: Micros): string {
  const millis = Math.floor(micros / MICROS_PER_MILLI);
  const rest = micros - millis * MICROS_PER_MILLI;
  return `${new Date(millis).toISOString().slice(0, 23)}${String(rest).padStart(3, '0')}Z`;
}

export function addDays(date: string, days: number): string {
  return microsToDate(dateToMicros(date) + days * MICROS_PER_DAY);
}

export function datesBetween(from: string, to: string): string[] {
  const dates: string[] = [];
  for (let date = from; date < to; date = addDays(date, 1)) dates.push(date);
  return dates;
}

/** Half-open range of instants, `[fromMicros, toMicros)`. */
export interface TimeRange {
  readonly fromMicros: Micros;
  readonly toMicros: Micros;
}

export function dayRange(date: string): TimeRange {
  const fromMicros = dateToMicros(date);
  return { fromMicros, toMicros: fromMicros + MICROS_PER_DAY };
}

/** `[2026-01-05T00:00:00.000000Z, 2026-01-06T00:00:00.000000Z)` */
export function formatRange(range: TimeRange): string {
  return `[${microsToIso(range.fromMicros)}, ${microsToIso(range.toMicros)})`;
}

export function isWithin(range: TimeRange, micros: Micros): boolean {
  return micros >= range.fromMicros && micros < range.toMicros;
}
