/** How the limits adapt to refusals, in one process and, said again in Lua (redis/lua), for all who share one. Pure; monotonic times. */

export const CONCURRENCY_LIMIT_RULES = {
  /** A 429 lowers the concurrency limit once in such a time. */
  coolDownMs: 5_000,
  /** The concurrency limit grows by one after each such time without a refusal. */
  recoverMs: 30_000,
  /** Longest time that a `Retry-After` holds everyone. */
  maxHoldMs: 300_000,
} as const;

export const RATE_LIMIT_RULES = {
  coolDownMs: 5_000,
  /** The rate limit grows by `growFactor` after each such time without a refusal. */
  recoverMs: 30_000,
  growFactor: 1.25,
  slowestPerMinute: 6,
  /** Too few requests were seen to tell a rate limit from them: begin no lower than this. */
  leastObservedPerMinute: 60,
  /** Younger observations say nothing of a whole minute. */
  leastObservedMs: 10_000,
  /** A rate limit that was never configured is forgotten once it has grown to so many times what it began with. */
  forgetFactor: 4,
} as const;

type Times<Rules> = { readonly [Name in keyof Rules]: number };

export interface ConcurrencyState {
  readonly current: number;
  /** When it was lowered, or has grown. */
  readonly changedMs: number;
  readonly loweredMs: number;
  /** Until then nobody may ask. */
  readonly heldUntilMs: number;
}

export function grownConcurrency<State extends Pick<ConcurrencyState, 'current' | 'changedMs'>>(
  state: State,
  limit: number,
  nowMs: number,
  recoverMs: number,
): State {
  if (state.current >= limit) return state;
  const steps = Math.floor((nowMs - state.changedMs) / recoverMs);
  const changedMs = state.changedMs + steps * recoverMs;
  return { ...state, current: Math.min(limit, state.current + steps), changedMs };
}

/** After a refusal. `isSlow`: one at a time is still too many, so that only a lower rate limit helps. */
export function refusedConcurrency(
  before: ConcurrencyState,
  limit: number,
  nowMs: number,
  retryAfterMs: number,
  { coolDownMs, recoverMs, maxHoldMs }: Times<typeof CONCURRENCY_LIMIT_RULES>,
): ConcurrencyState & { readonly isSlow: boolean } {
  const until = retryAfterMs > 0 ? nowMs + Math.min(retryAfterMs, maxHoldMs) : Number.NEGATIVE_INFINITY;
  const state = { ...before, heldUntilMs: Math.max(before.heldUntilMs, until), isSlow: false };
  if (nowMs - before.loweredMs < coolDownMs) return state;
  const { current } = grownConcurrency(state, limit, nowMs, recoverMs);
  const lowered = { ...state, changedMs: nowMs, loweredMs: nowMs };
  return current > 1
    ? { ...lowered, current: Math.floor(current / 2) }
    : { ...lowered, current, isSlow: true };
}

export interface RateState {
  readonly rate: number;
  /** Where none is configured: there is none any more once it has grown so far. */
  readonly forgetAt: number;
  readonly changedMs: number;
  readonly loweredMs: number;
}

type RateRules = Times<typeof RATE_LIMIT_RULES>;

export function grownRate<State extends Pick<RateState, 'rate' | 'forgetAt' | 'changedMs'>>(
  state: State,
  limit: number,
  nowMs: number,
  { recoverMs, growFactor }: Pick<RateRules, 'recoverMs' | 'growFactor'>,
): State {
  let { rate, changedMs } = state;
  while (rate < limit && nowMs - changedMs >= recoverMs) {
    changedMs += recoverMs;
    rate *= growFactor;
    if (limit === Infinity && rate >= state.forgetAt) rate = Infinity;
  }
  return { ...state, rate: Math.min(rate, limit), changedMs };
}

/** After a refusal that only a lower rate limit can cure. `observed`: requests per minute, where there was no limit. */
export function slowedRate(
  before: RateState,
  limit: number,
  nowMs: number,
  observed: () => number,
  rules: RateRules,
): RateState {
  if (nowMs - before.loweredMs < rules.coolDownMs) return before;
  const { rate: now } = grownRate(before, limit, nowMs, rules);
  const from = now === Infinity ? observed() : now;
  const rate = Math.max(Math.min(rules.slowestPerMinute, limit), from / 2);
  const isFirst = limit === Infinity && (now === Infinity || before.forgetAt === Infinity);
  const forgetAt = isFirst ? rate * rules.forgetFactor : before.forgetAt;
  return { rate, forgetAt, changedMs: nowMs, loweredMs: nowMs };
}
