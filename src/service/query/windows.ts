/** The parameters `window` and `window_edges`: their grammar and what they make of a range. */
import type { TimeRange } from '../../core/model/index.ts';
import { badParameter } from '../http/http-error.ts';
import { type Duration, type Unit, windowEnd, windowStart } from './durations.ts';
import { LATEST } from './time-range.ts';

export type Window = Duration | 'none';
export type WindowEdges = 'whole' | 'partial';

const LITERAL = /^(\d{1,6})\s*([a-z]+)$/;
const UNITS: ReadonlyMap<string, Unit> = new Map([
  ...(['s', 'sec', 'secs', 'second', 'seconds'] as const).map((name) => [name, 'second'] as const),
  ...(['m', 'min', 'mins', 'minute', 'minutes'] as const).map((name) => [name, 'minute'] as const),
  ...(['h', 'hour', 'hours'] as const).map((name) => [name, 'hour'] as const),
  ...(['d', 'day', 'days'] as const).map((name) => [name, 'day'] as const),
  ...(['w', 'week', 'weeks'] as const).map((name) => [name, 'week'] as const),
  ...(['mo', 'month', 'months'] as const).map((name) => [name, 'month'] as const),
  ...(['y', 'year', 'years'] as const).map((name) => [name, 'year'] as const),
]);

/** `none`, or a number and a unit (`m` is minute, `month` is month). Throws 400. */
export function parseWindow(text: string): Window {
  const literal = text.trim().toLowerCase();
  if (literal === 'none') return 'none';
  const match = LITERAL.exec(literal);
  const unit = UNITS.get(match?.[2] ?? '');
  const count = Number(match?.[1] ?? 0);
  if (unit === undefined || count === 0)
    throw badParameter('window', text, "'none' or a number and a unit, as 1m, 2h, 2d, 1week, 1month, 1year");
  // No window is longer than all the years that ranges may have.
  if (!(windowEnd(windowStart(0, { count, unit }), { count, unit }) <= LATEST))
    throw badParameter('window', text, 'at most 200 years');
  return { count, unit };
}

/**
 * Range that the windows cover. `whole`: the leading partial window is dropped and the trailing one is whole;
 * `partial`, and the window `none`: exactly the range asked for. May be empty.
 */
export function windowedRange(range: TimeRange, window: Window, edges: WindowEdges): TimeRange {
  if (window === 'none' || edges === 'partial' || range.fromMicros >= range.toMicros) return range;
  const first = windowStart(range.fromMicros, window);
  const fromMicros = first === range.fromMicros ? first : windowEnd(first, window);
  const toMicros = windowEnd(windowStart(range.toMicros - 1, window), window);
  return { fromMicros: Math.min(fromMicros, toMicros), toMicros };
}

/** The window of an instant: `start` is what its answer carries, in `partial` mode not before the range. */
export function windowAt(micros: number, window: Window, range: TimeRange): { start: number; end: number } {
  if (window === 'none') return { start: range.fromMicros, end: Math.max(range.toMicros, micros + 1) };
  const start = windowStart(micros, window);
  return { start, end: windowEnd(start, window) };
}
