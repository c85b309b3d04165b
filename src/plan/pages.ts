/** Which pages a vessel-day is fetched in. Pure; counts only choose the boundaries, the pages tile the day. */
import type { TimeRange } from '../model/index.ts';
import { MICROS_PER_HOUR, MICROS_PER_SECOND } from '../model/index.ts';

/** Readings a page aims at: about 130 MB of NDJSON. The contract asks for few large requests. */
export const PAGE_TARGET_ROWS = 1_000_000;
/** Pages by time alone, where `verify: off` asks for no counts. */
const UNCOUNTED_PAGE_HOURS = 6;

/**
 * Pages `[from, to)` that tile `day`: whole hours merged until the next one would exceed `targetRows`, or one
 * hour cut into equal pieces at whole seconds.
 */
export function planPages(day: TimeRange, hourTotals: readonly number[], targetRows: number): TimeRange[] {
  const pages: TimeRange[] = [];
  let fromMicros = day.fromMicros;
  let rows = 0;
  const close = (toMicros: number) => {
    if (toMicros > fromMicros) pages.push({ fromMicros, toMicros });
    fromMicros = toMicros;
    rows = 0;
  };
  for (const [hour, total] of hourTotals.entries()) {
    const hourFrom = day.fromMicros + hour * MICROS_PER_HOUR;
    if (rows > 0 && rows + total > targetRows) close(hourFrom);
    if (total > targetRows) {
      close(hourFrom);
      const pieces = cutEvenly(
        { fromMicros: hourFrom, toMicros: hourFrom + MICROS_PER_HOUR },
        Math.ceil(total / targetRows),
      );
      pages.push(...pieces);
      fromMicros = hourFrom + MICROS_PER_HOUR;
      continue;
    }
    rows += total;
  }
  close(day.toMicros);
  return pages;
}

/** Pages for a day of which no counts are known. */
export function planUncountedPages(day: TimeRange): TimeRange[] {
  return cutEvenly(day, 24 / UNCOUNTED_PAGE_HOURS);
}

/** The part of pages that lies at or after an instant: what is left after a resume. */
export function pagesFrom(pages: readonly TimeRange[], fromMicros: number): TimeRange[] {
  return pages
    .filter((page) => page.toMicros > fromMicros)
    .map((page) => ({ fromMicros: Math.max(page.fromMicros, fromMicros), toMicros: page.toMicros }));
}

/** A page in two halves at a whole `unitMicros` since the epoch, or undefined when it is too short to split. */
export function splitPage(
  page: TimeRange,
  unitMicros = MICROS_PER_SECOND,
): [TimeRange, TimeRange] | undefined {
  const middle = (page.fromMicros + page.toMicros) / 2;
  const cut = Math.round(middle / unitMicros) * unitMicros;
  if (cut <= page.fromMicros || cut >= page.toMicros) return undefined;
  return [
    { fromMicros: page.fromMicros, toMicros: cut },
    { fromMicros: cut, toMicros: page.toMicros },
  ];
}

/** A range in `pieces` of equal length, cut at whole seconds; fewer where a piece would be under a second. */
export function cutEvenly(range: TimeRange, pieces: number): TimeRange[] {
  const seconds = Math.floor((range.toMicros - range.fromMicros) / MICROS_PER_SECOND);
  const count = Math.max(1, Math.min(pieces, seconds));
  const cuts: TimeRange[] = [];
  let fromMicros = range.fromMicros;
  for (let piece = 1; piece <= count; piece++) {
    const toMicros =
      piece === count
        ? range.toMicros
        : range.fromMicros + Math.floor((seconds * piece) / count) * MICROS_PER_SECOND;
    cuts.push({ fromMicros, toMicros });
    fromMicros = toMicros;
  }
  return cuts;
}

/**
 * Pages of whole statistics windows such that each holds at most about `targetResults` results
 * (windows × series). `windowMicros` divides the day.
 */
export function planWindowPages(
  day: TimeRange,
  windowMicros: number,
  seriesCount: number,
  targetResults: number,
): TimeRange[] {
  const windows = Math.max(1, Math.floor(targetResults / Math.max(1, seriesCount)));
  const pages: TimeRange[] = [];
  for (let fromMicros = day.fromMicros; fromMicros < day.toMicros; ) {
    const toMicros = Math.min(day.toMicros, fromMicros + windows * windowMicros);
    pages.push({ fromMicros, toMicros });
    fromMicros = toMicros;
  }
  return pages;
}
