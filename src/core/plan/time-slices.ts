/** Which time slices a vessel-day is asked for in, a request each. Pure; the slices tile the day. */
import type { DayCounts, Job, TimeRange } from '../model/index.ts';
import { dayRange, MICROS_PER_HOUR, MICROS_PER_SECOND, windowMicrosOf } from '../model/index.ts';

/** Readings a time slice aims at: about 130 MB of NDJSON. The contract asks for few large requests. */
export const SLICE_TARGET_ROWS = 1_000_000;
/** Windows × series that a time slice of statistics is exported by: bounds the memory of one answer. */
export const EXPORT_TARGET_WINDOWS = 100_000;
const UNCOUNTED_SLICE_HOURS = 6;

/** Slices that tile `day`: whole hours up to `targetRows`, or equal pieces of one hour. Counts only choose boundaries; without any, time alone does. */
export function planTimeSlices(
  day: TimeRange,
  counts: Pick<DayCounts, 'hourTotal'> | undefined,
  targetRows: number,
): TimeRange[] {
  if (counts === undefined) return cutEvenly(day, 24 / UNCOUNTED_SLICE_HOURS);
  const slices: TimeRange[] = [];
  let fromMicros = day.fromMicros;
  let rows = 0;
  const close = (toMicros: number) => {
    if (toMicros > fromMicros) slices.push({ fromMicros, toMicros });
    fromMicros = toMicros;
    rows = 0;
  };
  for (let hour = 0; hour < 24; hour++) {
    const total = counts.hourTotal(hour);
    const hourFrom = day.fromMicros + hour * MICROS_PER_HOUR;
    if (rows > 0 && rows + total > targetRows) close(hourFrom);
    if (total > targetRows) {
      close(hourFrom);
      fromMicros = hourFrom + MICROS_PER_HOUR;
      const range = { fromMicros: hourFrom, toMicros: fromMicros };
      slices.push(...cutEvenly(range, Math.ceil(total / targetRows)));
      continue;
    }
    rows += total;
  }
  close(day.toMicros);
  return slices;
}

/** The part of time slices that lies at or after an instant: what is left after a resume. */
export function slicesFrom(slices: readonly TimeRange[], fromMicros: number): TimeRange[] {
  return slices
    .filter((slice) => slice.toMicros > fromMicros)
    .map((slice) => ({ fromMicros: Math.max(slice.fromMicros, fromMicros), toMicros: slice.toMicros }));
}

/** A time slice in two halves at a whole second (or step of another length), or undefined when it is too short to split. */
export function splitTimeSlice(
  { fromMicros, toMicros }: TimeRange,
  stepMicros: number = MICROS_PER_SECOND,
): [TimeRange, TimeRange] | undefined {
  const middle = (fromMicros + toMicros) / 2;
  const cut = Math.round(middle / stepMicros) * stepMicros;
  if (cut <= fromMicros || cut >= toMicros) return undefined;
  const before = { fromMicros, toMicros: cut };
  return [before, { fromMicros: cut, toMicros }];
}

/** A range in `pieces` of equal length, cut at whole seconds; fewer where a piece would be under a second. */
function cutEvenly(range: TimeRange, pieces: number): TimeRange[] {
  const seconds = Math.floor((range.toMicros - range.fromMicros) / MICROS_PER_SECOND);
  const count = Math.max(1, Math.min(pieces, seconds));
  const cutAt = (piece: number) =>
    piece === count
      ? range.toMicros
      : range.fromMicros + Math.floor((seconds * piece) / count) * MICROS_PER_SECOND;
  return Array.from({ length: count }, (_, piece) => ({
    fromMicros: cutAt(piece),
    toMicros: cutAt(piece + 1),
  }));
}

/** Time slices of whole windows of a statistics job that hold at most about `targetWindows` windows × series each. */
export function planWindowSlices(
  job: Job,
  date: string,
  seriesCount: number,
  targetWindows: number,
): TimeRange[] {
  const day = dayRange(date);
  const windows = Math.max(1, Math.floor(targetWindows / Math.max(1, seriesCount)));
  const stepMicros = windows * windowMicrosOf(job);
  const slices: TimeRange[] = [];
  for (let { fromMicros } = day; fromMicros < day.toMicros; fromMicros += stepMicros)
    slices.push({ fromMicros, toMicros: Math.min(day.toMicros, fromMicros + stepMicros) });
  return slices;
}
