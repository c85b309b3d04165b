/**
 * The one reader of timestamps in texts: in the contract's own shape, fast, and in any that ISO 8601 allows. In bytes
 * timestamp-reader.ts has the contract's shape.
 */
import { MICROS_PER_DAY, MICROS_PER_MILLI, MICROS_PER_SECOND, type Micros } from './time.ts';

const ZERO = 0x30;
const DASH = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const UPPER_T = 0x54;
const UPPER_Z = 0x5a;

const SECONDS_PER_DAY = 86_400;
const DAYS_BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
export const FIRST_YEAR = 1970;
/** The years in which whole microseconds are exact in a number, as the model says. */
export const LAST_YEAR = 2199;
const LAST_MICROS = daysSinceEpoch(LAST_YEAR + 1, 1, 1) * MICROS_PER_DAY - 1;

const ISO_SHAPE =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)$/;
const EXPECTED = `a date-time YYYY-MM-DDTHH:MM:SS.ffffffZ between ${FIRST_YEAR} and ${LAST_YEAR}`;

/** Is this an instant of the years 1970 to 2199? */
export function isWithinYears(micros: Micros): boolean {
  return micros >= 0 && micros <= LAST_MICROS;
}

/** Why a text is no timestamp. */
interface TimestampFault {
  readonly code: 'bad-timestamp' | 'timestamp-too-fine';
  readonly expected: string;
}

/**
 * Micros of an ISO 8601 date-time with a zone (`Z` or an offset) and at most six fractional digits, further ones being
 * zero. A fault is `timestamp-too-fine`, or `bad-timestamp` for everything else: another shape, no zone, a date that
 * does not exist, a leap second, a year outside 1970 to 2199.
 */
export function timestampMicros(text: string): Micros | TimestampFault {
  const plain = plainMicros(text);
  if (!Number.isNaN(plain)) return plain;
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

export const PLAIN_LENGTH = 'YYYY-MM-DDTHH:MM:SS.ffffffZ'.length;

/** As a Date says it, and so the files of a lake. */
const MILLIS_LENGTH = 'YYYY-MM-DDTHH:MM:SS.fffZ'.length;

/**
 * Micros of a text in exactly the shape that the contract promises, or with three digits, or NaN: answers and ledgers
 * hold millions of them.
 */
function plainMicros(text: string): Micros {
  const isMillis = text.length === MILLIS_LENGTH;
  if (text.length !== PLAIN_LENGTH && !isMillis) return Number.NaN;
  const last = text.length - 1;
  const isPunctuated =
    text.charCodeAt(4) === DASH &&
    text.charCodeAt(7) === DASH &&
    text.charCodeAt(10) === UPPER_T &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON &&
    text.charCodeAt(19) === DOT &&
    text.charCodeAt(last) === UPPER_Z;
  const [hour, minute, second] = [digitsOf(text, 11, 13), digitsOf(text, 14, 16), digitsOf(text, 17, 19)];
  if (!isPunctuated || !(hour <= 23) || !(minute <= 59) || !(second <= 59)) return Number.NaN;
  const days = daysOfDate(digitsOf(text, 0, 4), digitsOf(text, 5, 7), digitsOf(text, 8, 10));
  const seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
  const micros = seconds * MICROS_PER_SECOND + digitsOf(text, 20, last) * (isMillis ? MICROS_PER_MILLI : 1);
  return isWithinYears(micros) ? micros : Number.NaN;
}

/** Milliseconds of a text that is written in the very way of a Date, `YYYY-MM-DDTHH:MM:SS.fffZ`; NaN for any other. */
function dateTextMillis(text: string): number {
  return text.length === MILLIS_LENGTH ? plainMicros(text) / MICROS_PER_MILLI : Number.NaN;
}

/** An instant of a file of the lake: milliseconds, where it is written in the very way of a Date, else its text. */
export type Moment = number | string;

export function toMoment(text: string): Moment {
  // Whoever wrote the file.
  if (typeof text !== 'string') return text;
  const millis = dateTextMillis(text);
  return Number.isNaN(millis) ? text : millis;
}

/** The text that it was made of. */
export function momentText(moment: Moment): string {
  return typeof moment === 'number' ? dateText(moment) : moment;
}

const padded = (count: number, digits: number) =>
  Array.from({ length: count }, (_, at) => String(at).padStart(digits, '0'));
const TWO_DIGITS = padded(60, 2);
const THREE_DIGITS = padded(1_000, 3);
/** The date that was written last, mostly that of the next too. */
let lastDay = 0;
let lastDate = '1970-01-01';

/** As a Date says it, in a fifth of the time; whole milliseconds of the years 1970 to 2199. */
function dateText(millis: number): string {
  const seconds = Math.floor(millis / 1_000);
  const day = Math.floor(seconds / SECONDS_PER_DAY);
  if (day !== lastDay) {
    lastDate = new Date(millis).toISOString().slice(0, 'YYYY-MM-DD'.length);
    lastDay = day;
  }
  const second = seconds - day * SECONDS_PER_DAY;
  const minute = Math.floor(second / 60);
  const hour = Math.floor(minute / 60);
  const time = `${TWO_DIGITS[hour]}:${TWO_DIGITS[minute - hour * 60]}:${TWO_DIGITS[second - minute * 60]}`;
  return `${lastDate}T${time}.${THREE_DIGITS[millis - seconds * 1_000]}Z`;
}

/** The number in `[from, to)`, or NaN where there are other characters than digits. */
function digitsOf(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** As `timestampMicros`, in any year: ends of ranges may lie just beyond. */
export function instantMicros(text: string): Micros | TimestampFault {
  const match = ISO_SHAPE.exec(text);
  if (!match) return { code: 'bad-timestamp', expected: `${EXPECTED}, with a zone` };
  const [year, month, day, hour, minute] = match.slice(1, 6).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const second = Number(match[6] ?? 0);
  if (second === 60)
    return { code: 'bad-timestamp', expected: 'seconds from 00 to 59, for leap seconds have no place' };
  const days = daysOfDate(year, month, day);
  const offsetHours = Number(match[10] ?? 0);
  const offsetMinutes = Number(match[11] ?? 0);
  if (Number.isNaN(days) || hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59)
    return { code: 'bad-timestamp', expected: `${EXPECTED} that exists` };
  const fraction = match[7] ?? '';
  if (/[1-9]/.test(fraction.slice(6)))
    return { code: 'timestamp-too-fine', expected: 'at most six fractional digits' };
  const offset = (offsetHours * 60 + offsetMinutes) * (match[9] === '-' ? -60 : 60);
  const seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
  return seconds * MICROS_PER_SECOND + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** Days since the epoch of a date of the Gregorian calendar, or NaN when there is no such date. */
export function daysOfDate(year: number, month: number, day: number): number {
  if (!(month >= 1 && month <= 12 && day >= 1)) return Number.NaN;
  const monthDays = month === 12 ? 31 : daysSinceEpoch(year, month + 1, 1) - daysSinceEpoch(year, month, 1);
  return day <= monthDays ? daysSinceEpoch(year, month, day) : Number.NaN;
}

function daysSinceEpoch(year: number, month: number, day: number): number {
  const leapDays = (before: number) =>
    Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const yearDays = (year - 1970) * 365 + leapDays(year - 1) - leapDays(1969);
  return yearDays + DAYS_BEFORE_MONTH[month - 1]! + (isLeap && month > 2 ? 1 : 0) + day - 1;
}
