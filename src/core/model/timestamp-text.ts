/** The one reader of timestamps in texts: any that ISO 8601 allows. In bytes timestamp-reader.ts reads the contract's shape. */
import { MICROS_PER_DAY, MICROS_PER_MILLI, MICROS_PER_SECOND, type Micros } from './time.ts';

export const FIRST_YEAR = 1970;
/** The years in which whole microseconds are exact in a number, as the model says. */
export const LAST_YEAR = 2199;
const LAST_MICROS = Date.UTC(LAST_YEAR + 1) * MICROS_PER_MILLI - 1;

const ISO_SHAPE =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)$/;
const EXPECTED = `a date-time YYYY-MM-DDTHH:MM:SS.ffffffZ between ${FIRST_YEAR} and ${LAST_YEAR}`;

export function isWithinYears(micros: Micros): boolean {
  return micros >= 0 && micros <= LAST_MICROS;
}

interface TimestampFault {
  readonly code: 'bad-timestamp' | 'timestamp-too-fine';
  readonly expected: string;
}

/** Micros of an ISO 8601 date-time with a zone. A fault is `timestamp-too-fine` (more than six fractional digits that count) or else `bad-timestamp`. */
export function timestampMicros(text: string): Micros | TimestampFault {
  const micros = instantMicros(text);
  return typeof micros !== 'number' || isWithinYears(micros)
    ? micros
    : { code: 'bad-timestamp', expected: EXPECTED };
}

/** As `timestampMicros`; undefined for what is none. */
export function parseTimestamp(text: string): Micros | undefined {
  const micros = timestampMicros(text);
  return typeof micros === 'number' ? micros : undefined;
}

/** An instant of a file of the lake: milliseconds, where it is written in the very way of a Date, else its text. */
export type Moment = number | string;

export function toMoment(text: string): Moment {
  const millis = Date.parse(text);
  return Number.isInteger(millis) && momentText(millis) === text ? millis : text;
}

export function momentText(moment: Moment): string {
  return typeof moment === 'number' ? new Date(moment).toISOString() : moment;
}

/** As `timestampMicros`, in any year: ends of ranges may lie just beyond. */
export function instantMicros(text: string): Micros | TimestampFault {
  const match = ISO_SHAPE.exec(text);
  if (!match) return { code: 'bad-timestamp', expected: `${EXPECTED}, with a zone` };
  const part = (at: number) => Number(match[at] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  if (second === 60)
    return { code: 'bad-timestamp', expected: 'seconds from 00 to 59, for leap seconds have no place' };
  const days = daysOfDate(year, month, day);
  const [offsetHours, offsetMinutes] = [part(10), part(11)];
  if (Number.isNaN(days) || hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59)
    return { code: 'bad-timestamp', expected: `${EXPECTED} that exists` };
  const fraction = match[7] ?? '';
  if (/[1-9]/.test(fraction.slice(6)))
    return { code: 'timestamp-too-fine', expected: 'at most six fractional digits' };
  const offset = (offsetHours * 60 + offsetMinutes) * (match[9] === '-' ? -60 : 60);
  const seconds = hour * 3600 + minute * 60 + second - offset;
  return days * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** Days since the epoch of a date of the Gregorian calendar, or NaN when there is no such date. */
export function daysOfDate(year: number, month: number, day: number): number {
  // `Date.UTC` takes the years 0 to 99 for those of the last century, so a setter is used.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? (date.getTime() * MICROS_PER_MILLI) / MICROS_PER_DAY : Number.NaN;
}
