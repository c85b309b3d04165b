import type { Micros } from './time.ts';
import { dateToMicros, MICROS_PER_DAY, microsToIso } from './time.ts';

/** Half-open range of instants, `[fromMicros, toMicros)`. */
export interface TimeRange {
  readonly fromMicros: Micros;
  readonly toMicros: Micros;
}

/** The range of one UTC date. */
export function dayRange(date: string): TimeRange {
  const fromMicros = dateToMicros(date);
  return { fromMicros, toMicros: fromMicros + MICROS_PER_DAY };
}

/** `[2026-01-05T00:00:00.000000Z, 2026-01-06T00:00:00.000000Z)` */
export function formatRange(range: TimeRange): string {
  return `[${microsToIso(range.fromMicros)}, ${microsToIso(range.toMicros)})`;
}
