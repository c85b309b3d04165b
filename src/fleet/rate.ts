/** How fast a count grows, from what it was at several looks. */

interface RateOptions {
  /** A longer time would be about what is over. */
  readonly windowMs: number;
  /** A shorter time says little. */
  readonly minMs: number;
  /** Between samples that are kept. */
  readonly sampleMs?: number;
  /** Who looks no more for so long was away: what is done meanwhile is no rate of now. */
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
    /** `nowMs`: of a clock that never goes back. */
    add(nowMs: number, count: number): void {
      // Fewer than before: rows were dropped, receipts went, or another lake stands in the place of this one.
      if (last !== undefined && (nowMs - last.atMs > gapMs || count < last.count)) samples = [];
      last = { atMs: nowMs, count };
      const before = samples.at(-1);
      if (before === undefined || nowMs - before.atMs >= sampleMs) samples.push(last);
      samples = samples.filter(({ atMs }) => nowMs - atMs <= windowMs);
    },
    /** Over the window at the most; undefined while too little was seen. */
    get perSecond(): number | undefined {
      const [first] = samples;
      if (first === undefined || last === undefined || last.atMs - first.atMs < minMs) return undefined;
      return ((last.count - first.count) * 1_000) / (last.atMs - first.atMs);
    },
  };
}
