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
