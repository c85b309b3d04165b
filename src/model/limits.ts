/** How the cap and the pace of requests adapt; the same for those of one process and those shared by many. */

export const CAP_RULES = {
  /** A 429 lowers the cap once in such a time. */
  coolDownMs: 5_000,
  /** The cap grows by one after each such time without a refusal. */
  recoverMs: 30_000,
  /** Longest time that a `Retry-After` holds everyone. */
  maxHoldMs: 300_000,
} as const;

export const PACE_RULES = {
  coolDownMs: 5_000,
  /** The pace grows by `growFactor` after each such time without a refusal. */
  recoverMs: 30_000,
  growFactor: 1.25,
  slowestPerMinute: 6,
  /** Too few requests were seen to tell a pace from them: begin no lower than this. */
  leastObservedPerMinute: 60,
  /** Younger observations say nothing of a whole minute. */
  leastObservedMs: 10_000,
  /** A pace that was never configured is forgotten once it has grown to so many times what it began with. */
  forgetFactor: 4,
} as const;
