/** Calendar arithmetic in UTC on whole microseconds: durations, units and the windows made of them. */
import type { Micros } from '../../core/model/index.ts';
import {
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_MILLI,
  MICROS_PER_SECOND,
} from '../../core/model/index.ts';

export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

export interface Duration {
  readonly count: number;
  readonly unit: Unit;
}

const FIXED: Readonly<Record<'second' | 'minute' | 'hour' | 'day' | 'week', number>> = {
  second: MICROS_PER_SECOND,
  minute: 60 * MICROS_PER_SECOND,
  hour: MICROS_PER_HOUR,
  day: MICROS_PER_DAY,
  week: 7 * MICROS_PER_DAY,
};
/** 1970-01-01 was a Thursday; weeks begin on Monday. */
const MONDAY_OFFSET = 4 * MICROS_PER_DAY;

/** `2026-03-31` less a month is `2026-02-28`: the day is cut to the month's last. */
export function addDuration(micros: Micros, duration: Duration, times: number): Micros {
  const { count, unit } = duration;
  if (unit !== 'month' && unit !== 'year') return micros + FIXED[unit] * count * times;
  const months = count * times * (unit === 'year' ? 12 : 1);
  const millis = Math.floor(micros / MICROS_PER_MILLI);
  const date = new Date(millis);
  const day = date.getUTCDate();
  const moved = new Date(millis);
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(day, lastDay));
  return moved.getTime() * MICROS_PER_MILLI + (micros - millis * MICROS_PER_MILLI);
}

/**
 * Start of the window that holds an instant. Windows are counted from 1970-01-01T00:00Z (weeks from a Monday,
 * months and years from January 1970), so a window that divides a day begins at midnight.
 */
export function windowStart(micros: Micros, window: Duration): Micros {
  const { count, unit } = window;
  if (unit === 'month' || unit === 'year') {
    const date = new Date(Math.floor(micros / MICROS_PER_MILLI));
    const size = count * (unit === 'year' ? 12 : 1);
    const month = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
    return monthMicros(Math.floor(month / size) * size);
  }
  const size = FIXED[unit] * count;
  const offset = unit === 'week' ? MONDAY_OFFSET : 0;
  return Math.floor((micros - offset) / size) * size + offset;
}

/** End of the window that begins at `start`. */
export function windowEnd(start: Micros, window: Duration): Micros {
  const { count, unit } = window;
  if (unit !== 'month' && unit !== 'year') return start + FIXED[unit] * count;
  const date = new Date(start / MICROS_PER_MILLI);
  const month = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
  return monthMicros(month + count * (unit === 'year' ? 12 : 1));
}

function monthMicros(monthsSince1970: number): Micros {
  return Date.UTC(1970, monthsSince1970, 1) * MICROS_PER_MILLI;
}
