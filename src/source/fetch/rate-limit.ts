import { createWaitingLine } from '../../core/concurrency.ts';
import { grownRate, RATE_LIMIT_RULES, type RateState, slowedRate } from '../../core/model/limit-rules.ts';
import type { Clock, RateLimit } from '../../core/model/ports.ts';
import type { Send } from './exchange.ts';

/** The times default to `RATE_LIMIT_RULES`. */
interface RateLimitOptions {
  readonly clock: Clock;
  /** Requests per minute; undefined for no limit of our own. */
  readonly perMinute?: number | undefined;
  readonly coolDownMs?: number;
  readonly recoverMs?: number;
}

const MINUTE_MS = 60_000;

/** The rate limit of one process. rate-limiter-flexible has fixed windows and the machine's timers, and a waiting call cannot be cancelled. */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { clock, perMinute: limit = Infinity, ...rules } = { ...RATE_LIMIT_RULES, ...options };
  const startedMs = clock.monotonicMs();
  const recent: number[] = [];
  let state: RateState = { rate: limit, forgetAt: Infinity, changedMs: -Infinity, loweredMs: -Infinity };
  let lastTurnMs = -Infinity;
  let sleeping: AbortController | undefined;
  const line = createWaitingLine(() => {
    if (line.length === 0) sleeping?.abort();
  });

  const observedPerMinute = (nowMs: number): number => {
    while (recent.length > 0 && recent[0]! <= nowMs - MINUTE_MS) recent.shift();
    const spanMs = Math.min(MINUTE_MS, Math.max(rules.leastObservedMs, nowMs - startedMs));
    return Math.max(rules.leastObservedPerMinute, (recent.length * MINUTE_MS) / spanMs);
  };

  const rateAt = (nowMs: number): number => {
    state = grownRate(state, limit, nowMs, rules);
    return state.rate;
  };

  const takeTurn = (nowMs: number): void => {
    lastTurnMs = nowMs;
    if (state.rate === Infinity) {
      observedPerMinute(nowMs);
      recent.push(nowMs);
    }
    line.letOneGo();
  };

  const pump = async (): Promise<void> => {
    if (sleeping) return;
    while (line.length > 0) {
      const nowMs = clock.monotonicMs();
      const rate = rateAt(nowMs);
      const waitMs = rate === Infinity ? 0 : lastTurnMs + Math.ceil(MINUTE_MS / rate) - nowMs;
      if (waitMs <= 0) {
        takeTurn(nowMs);
        continue;
      }
      sleeping = new AbortController();
      // Rejects when all callers have left the line.
      await clock.sleep(waitMs, sleeping.signal).catch(() => {});
      sleeping = undefined;
    }
  };

  return {
    take: (signal) => {
      const turn = line.join(signal);
      void pump();
      return turn;
    },
    slowDown: () => {
      const nowMs = clock.monotonicMs();
      state = slowedRate(state, limit, nowMs, () => observedPerMinute(nowMs), rules);
    },
    get perMinute() {
      const rate = rateAt(clock.monotonicMs());
      return rate === Infinity ? undefined : rate;
    },
  };
}

export function withRateLimit(rateLimit: RateLimit, next: Send): Send {
  return async (attempt) => {
    await rateLimit.take(attempt.signal);
    attempt.signal.throwIfAborted();
    return next(attempt);
  };
}
