/** Durations and windows in UTC on whole microseconds, and the parameters `window` and `window_edges`. */
import type { Micros, TimeRange } from '../../core/model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_MILLI, MICROS_PER_SECOND } from '../../core/model/time.ts';
import { badParameter } from '../http/http-error.ts';

const FIXED = {
  second: MICROS_PER_SECOND,
  minute: 60 * MICROS_PER_SECOND,
  hour: 3_600 * MICROS_PER_SECOND,
  day: MICROS_PER_DAY,
  week: 7 * MICROS_PER_DAY,
} as const;
const MONTHS = { month: 1, year: 12 } as const;
export type Unit = keyof typeof FIXED | keyof typeof MONTHS;

export interface Duration {
  readonly count: number;
  readonly unit: Unit;
}
export type Window = Duration | 'none';
type WindowEdges = 'whole' | 'partial';

/** First instant that no range reaches beyond. */
export const LATEST: Micros = Date.UTC(2200, 0, 1) * MICROS_PER_MILLI;
/** 1970-01-01 was a Thursday; weeks begin on Monday. */
const MONDAY_OFFSET = 4 * MICROS_PER_DAY;
const LITERAL = /^(\d{1,6})\s*([a-z]+)$/;
const UNITS: Readonly<Record<Unit, readonly string[]>> = {
  second: ['s', 'sec', 'secs', 'second', 'seconds'],
  minute: ['m', 'min', 'mins', 'minute', 'minutes'],
  hour: ['h', 'hour', 'hours'],
  day: ['d', 'day', 'days'],
  week: ['w', 'week', 'weeks'],
  month: ['mo', 'month', 'months'],
  year: ['y', 'year', 'years'],
};

function isMonths(unit: Unit): unit is keyof typeof MONTHS {
  return Object.hasOwn(MONTHS, unit);
}

/** `2026-03-31` less a month is `2026-02-28`: the day is cut to the month's last. */
export function addDuration(micros: Micros, { count, unit }: Duration, times = 1): Micros {
  if (!isMonths(unit)) return micros + FIXED[unit] * count * times;
  const from = monthOf(micros);
  const to = from + count * times * MONTHS[unit];
  const lastDay = monthMicros(to + 1) - MICROS_PER_DAY;
  return Math.min(monthMicros(to) + micros - monthMicros(from), lastDay + (micros % MICROS_PER_DAY));
}

/** Start of the window of an instant. Windows are counted from 1970-01-01 (weeks from a Monday), so one that divides a day begins at midnight. */
export function windowStart(micros: Micros, { count, unit }: Duration): Micros {
  if (isMonths(unit)) {
    const size = count * MONTHS[unit];
    return monthMicros(Math.floor(monthOf(micros) / size) * size);
  }
  const size = FIXED[unit] * count;
  const offset = unit === 'week' ? MONDAY_OFFSET : 0;
  return Math.floor((micros - offset) / size) * size + offset;
}

function monthOf(micros: Micros): number {
  const date = new Date(Math.floor(micros / MICROS_PER_MILLI));
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

function monthMicros(monthsSince1970: number): Micros {
  return Date.UTC(1970, monthsSince1970, 1) * MICROS_PER_MILLI;
}

/** `none`, or a number and a unit (`m` is minute, `month` is month). Throws 400. */
export function parseWindow(text: string): Window {
  const literal = text.trim().toLowerCase();
  if (literal === 'none') return 'none';
  const [, digits = '0', name = ''] = LITERAL.exec(literal) ?? [];
  const unit = (Object.keys(UNITS) as Unit[]).find((one) => UNITS[one].includes(name));
  const count = Number(digits);
  if (unit === undefined || count === 0)
    throw badParameter('window', text, "'none' or a number and a unit, as 1m, 2h, 2d, 1week, 1month, 1year");
  const window = { count, unit };
  // No window is longer than all the years that ranges may have.
  if (!(addDuration(windowStart(0, window), window) <= LATEST))
    throw badParameter('window', text, 'at most 200 years');
  return window;
}

/** What the windows cover: with `whole` edges no leading partial one, and a whole last one; else exactly the range. May be empty. */
export function windowedRange(range: TimeRange, window: Window, edges: WindowEdges): TimeRange {
  if (window === 'none' || edges === 'partial' || range.fromMicros >= range.toMicros) return range;
  const first = windowStart(range.fromMicros, window);
  const fromMicros = first === range.fromMicros ? first : addDuration(first, window);
  const toMicros = addDuration(windowStart(range.toMicros - 1, window), window);
  return { fromMicros: Math.min(fromMicros, toMicros), toMicros };
}

/** The window of an instant: `start` is what its answer carries, in `partial` mode not before the range. */
export function windowAt(micros: number, window: Window, range: TimeRange): { start: number; end: number } {
  if (window === 'none') return { start: range.fromMicros, end: Math.max(range.toMicros, micros + 1) };
  const start = windowStart(micros, window);
  return { start, end: addDuration(start, window) };
}
