/** The time range of a request: every form the contract lists, the defaults, and what may not be combined. */
import { instantMicros, type Micros, type TimeRange } from '../../core/model/index.ts';
import { MICROS_PER_HOUR, MICROS_PER_MILLI, MICROS_PER_SECOND } from '../../core/model/time.ts';
import { badParameter, badRequest } from '../http/http-error.ts';
import { addDuration, type Duration, LATEST, type Unit, type Window, windowStart } from './windows.ts';

/** Parameters of one form belong together; two forms in one request conflict. */
const FORMS = [
  ['from', 'to'],
  ['from_epoch', 'to_epoch'],
  ['since'],
  ['last'],
  ['year', 'month', 'day'],
] as const;
type TimeName = (typeof FORMS)[number][number];
type TimeParameters = { readonly [name in TimeName]?: string | undefined };
const EARLIEST: Micros = 0;
const RELATIVE = /^(\d{1,6})\s*(minute|hour|day|month)s?$/i;

/** Range of a request; undefined when it names none. `to` alone begins an hour before, `from` alone ends now. Throws 400. */
export function parseTimeRange(parameters: TimeParameters, nowMicros: Micros): TimeRange | undefined {
  const used = FORMS.map((names) => given(parameters, names)).filter((names) => names !== undefined);
  if (used.length === 0) return undefined;
  if (used.length > 1)
    throw badRequest(
      `conflicting time parameters: ${used.map((names) => names.join(' and ')).join(', ')}; use one form`,
    );
  const range = rangeOf(parameters, nowMicros);
  // Written so that NaN, from a duration beyond all dates, is refused too.
  if (!(range.fromMicros >= EARLIEST && range.toMicros <= LATEST))
    throw badRequest('the time range leaves the years 1970 to 2199');
  if (range.fromMicros > range.toMicros)
    throw badRequest('the time range ends before it begins; check the order of its two ends');
  return range;
}

/** Those of the names that are given; undefined where none is. */
function given(parameters: TimeParameters, names: readonly TimeName[]): TimeName[] | undefined {
  const found = names.filter((name) => parameters[name] !== undefined);
  return found.length > 0 ? found : undefined;
}

/** Measurements without a time range use the last hour up to now. */
export function lastHour(nowMicros: Micros): TimeRange {
  return { fromMicros: nowMicros - MICROS_PER_HOUR, toMicros: nowMicros };
}

/** The last full window before now: what statistics answer without a time range (`none`: the last hour). */
export function lastFullWindow(window: Window, nowMicros: Micros): TimeRange {
  if (window === 'none') return lastHour(nowMicros);
  const toMicros = windowStart(nowMicros, window);
  return { fromMicros: windowStart(toMicros - 1, window), toMicros };
}

function rangeOf(parameters: TimeParameters, nowMicros: Micros): TimeRange {
  const { since, last } = parameters;
  const ends = (from: Micros | undefined, to = nowMicros): TimeRange => ({
    fromMicros: from ?? to - MICROS_PER_HOUR,
    toMicros: to,
  });
  const micros = (name: TimeName, parse: typeof parseEpoch) => {
    const text = parameters[name];
    return text === undefined ? undefined : parse(name, text);
  };
  if (given(parameters, FORMS[0])) return ends(micros('from', parseDateTime), micros('to', parseDateTime));
  if (given(parameters, FORMS[1]))
    return ends(micros('from_epoch', parseEpoch), micros('to_epoch', parseEpoch));
  if (since !== undefined) return ends(addDuration(nowMicros, parseRelative('since', since), -1));
  if (last !== undefined) {
    const duration = parseRelative('last', last);
    const toMicros = windowStart(nowMicros, { count: 1, unit: duration.unit });
    return { fromMicros: addDuration(toMicros, duration, -1), toMicros };
  }
  return calendarRange(parameters);
}

function calendarRange({ year, month, day }: TimeParameters): TimeRange {
  if (year === undefined) throw badRequest(`'month' and 'day' need 'year' beside them`);
  if (day !== undefined && month === undefined) throw badRequest(`'day' needs 'month' beside it`);
  const yearNumber = parseInteger('year', year, 1970, 2199);
  const monthNumber = month === undefined ? 1 : parseInteger('month', month, 1, 12);
  const lastDay = new Date(Date.UTC(yearNumber, monthNumber, 0)).getUTCDate();
  const dayNumber = day === undefined ? 1 : parseInteger('day', day, 1, lastDay);
  const unit: Unit = day !== undefined ? 'day' : month !== undefined ? 'month' : 'year';
  const fromMicros = Date.UTC(yearNumber, monthNumber - 1, dayNumber) * MICROS_PER_MILLI;
  return { fromMicros, toMicros: addDuration(fromMicros, { count: 1, unit }) };
}

function parseInteger(name: string, text: string, low: number, high: number): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= low && value <= high))
    throw badParameter(name, text, `a whole number from ${low} to ${high}`);
  return value;
}

function parseEpoch(name: string, text: string): Micros {
  if (!/^\d{1,11}$/.test(text)) throw badParameter(name, text, 'whole seconds since 1970-01-01T00:00Z');
  return Number(text) * MICROS_PER_SECOND;
}

function parseRelative(name: string, text: string): Duration {
  const match = RELATIVE.exec(text.trim());
  if (!match || Number(match[1]) === 0)
    throw badParameter(
      name,
      text,
      "a number and a unit of minute(s), hour(s), day(s), month(s), as '6hours'",
    );
  return { count: Number(match[1]), unit: match[2]!.toLowerCase() as Unit };
}

/** ISO 8601: a date, or a time to the minute, second or microsecond, in UTC or with an offset. A space before it is an unescaped plus. */
function parseDateTime(name: string, text: string): Micros {
  const timed = text.trim().replace(/^\d{4}-\d\d-\d\d$/, '$&T00:00');
  const plus = timed.replace(/(:[\d.,]+) (?=\d\d:?\d\d$)/, '$1+');
  const micros = instantMicros(/[Tt ].*([Zz]|[-+][\d:]+)$/.test(plus) ? plus : `${plus}Z`);
  if (typeof micros === 'number') return micros;
  throw badParameter(name, text, 'an ISO 8601 date-time such as 2026-01-05T00:00:00.000000Z');
}
