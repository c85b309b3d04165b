/** Instants in files of ours: `2026-01-05T00:00:00.000000Z`, or with three digits of a second. */
import type { Micros } from '../model/index.ts';

const SHAPE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})(\d{3})?Z$/;

/** Whole microseconds of such an instant; undefined for anything else. */
export function isoToMicros(text: string): Micros | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const millis = Date.parse(`${match[1]}.${match[2]}Z`);
  return Number.isNaN(millis) ? undefined : millis * 1_000 + Number(match[3] ?? 0);
}
