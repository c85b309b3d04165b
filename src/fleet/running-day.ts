/** A vessel-day under way, as others are told of it: what it does, and its rows of those that the source counted. */
import type { Clock, VesselDay } from '../core/model/index.ts';
import type { DayEvent } from '../export/events.ts';
import type { DayStep, RunningFacts } from '../redis/fleet-shapes.ts';

export interface RunningDay {
  onEvent(event: Extract<DayEvent, { readonly kind: 'day-step' | 'day-rows' }>): void;
  /** What it does at a moment of the clock that never goes back; its rate is that since the moments before. */
  describe(nowMs: number): RunningFacts;
}

/** Of the rows. */
const RATE_WINDOW_MS = 10_000;

/** What comes after each step of an export. */
const STEP_AFTER: ReadonlyMap<string, DayStep> = new Map([
  ['claimed', 'counting'],
  ['counted', 'fetching'],
  ['fetched', 'proving'],
  ['verified', 'sealing'],
  ['sealed', 'publishing'],
  ['completed', 'committing'],
]);

/** `kind`: why it is exported, such as `nightly` or `run`. */
export function createRunningDay({ job, vessel, date }: VesselDay, kind: string, clock: Clock): RunningDay {
  const startedMs = clock.monotonicMs();
  let step: DayStep = 'claiming';
  let rows: number | null = null;
  let rowsKnown: number | null = null;
  let samples: { readonly atMs: number; readonly rows: number }[] = [];

  function rateAt(nowMs: number): number | null {
    if (rows === null) return null;
    samples = [...samples, { atMs: nowMs, rows }].filter(({ atMs }) => nowMs - atMs <= RATE_WINDOW_MS);
    const first = samples[0]!;
    const seconds = (nowMs - first.atMs) / 1_000;
    return seconds < 1 ? null : Math.max(0, Math.round((rows - first.rows) / seconds));
  }

  return {
    onEvent(event) {
      if (event.kind === 'day-step') step = STEP_AFTER.get(event.step) ?? step;
      else [rows, rowsKnown] = [event.rows, event.rowsKnown ?? null];
    },
    describe(nowMs) {
      const rate = rateAt(nowMs);
      return {
        ...{ job, vessel, date, kind, forMs: Math.round(nowMs - startedMs), rows, rowsKnown, step },
        // Of a day whose rows have all come the rate says nothing any more.
        rowsPerSecond: step === 'fetching' ? rate : null,
      };
    },
  };
}

/** How fast a backfill goes, from how far it was at each look of the scheduler. */

/** Vessel-days end in bursts: a shorter time says little, a longer one is about what is over. */
const WINDOW_MS = 3_600_000;
const MIN_MS = 60_000;
/** Between samples that are kept. */
const SAMPLE_MS = 20_000;
/** Who looks no more for so long was paused, or led no more: what is done meanwhile is no rate of now. */
const GAP_MS = 180_000;

interface Sample {
  readonly atMs: number;
  readonly done: number;
}

export interface BackfillRate {
  /** `nowMs`: of a clock that never goes back. */
  add(nowMs: number, done: number): void;
  /** Vessel-days an hour over the last hour at the most; undefined while too little was seen. */
  readonly perHour: number | undefined;
}

export function createBackfillRate(): BackfillRate {
  let samples: Sample[] = [];
  let last: Sample | undefined;
  return {
    add(nowMs, done) {
      // Fewer than before: its receipts went, or another lake stands in the place of this one.
      if (last !== undefined && (nowMs - last.atMs > GAP_MS || done < last.done)) samples = [];
      last = { atMs: nowMs, done };
      const before = samples.at(-1);
      if (before === undefined || nowMs - before.atMs >= SAMPLE_MS) samples.push(last);
      samples = samples.filter(({ atMs }) => nowMs - atMs <= WINDOW_MS);
    },
    get perHour() {
      const [first] = samples;
      if (first === undefined || last === undefined || last.atMs - first.atMs < MIN_MS) return undefined;
      return ((last.done - first.done) * 3_600_000) / (last.atMs - first.atMs);
    },
  };
}
