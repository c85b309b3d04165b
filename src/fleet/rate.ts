/** How fast a count grows, computed from samples. */

interface RateOptions {
  /** A longer window would measure the past. */
  readonly windowMs: number;
  /** A shorter window is too noisy. */
  readonly minMs: number;
  /** Time between samples that are kept. */
  readonly sampleMs?: number;
  /** After a gap this long the samples begin anew: what was done meanwhile says nothing about the rate now. */
  readonly gapMs?: number;
}

/** Vessel-days end in bursts, and a scheduler looks every ten seconds. */
export const BACKFILL_RATE: RateOptions = {
  windowMs: 3_600_000,
  minMs: 60_000,
  sampleMs: 20_000,
  gapMs: 180_000,
};

export type Rate = ReturnType<typeof createRate>;

export function createRate({ windowMs, minMs, sampleMs = 0, gapMs = Infinity }: RateOptions) {
  let samples: { readonly atMs: number; readonly count: number }[] = [];
  let last: (typeof samples)[number] | undefined;
  return {
    /** `nowMs`: from a monotonic clock. */
    add(nowMs: number, count: number): void {
      // Fewer than before: rows were dropped, receipts went, or another lake stands in the place of this one.
      if (last !== undefined && (nowMs - last.atMs > gapMs || count < last.count)) samples = [];
      last = { atMs: nowMs, count };
      const before = samples.at(-1);
      if (before === undefined || nowMs - before.atMs >= sampleMs) samples.push(last);
      samples = samples.filter(({ atMs }) => nowMs - atMs <= windowMs);
    },
    /** Over at most the window; undefined while there are too few samples. */
    get perSecond(): number | undefined {
      const [first] = samples;
      if (first === undefined || last === undefined || last.atMs - first.atMs < minMs) return undefined;
      return ((last.count - first.count) * 1_000) / (last.atMs - first.atMs);
    },
  };
}
