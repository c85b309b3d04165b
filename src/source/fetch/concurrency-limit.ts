import { createWaitingLine } from '../../core/concurrency.ts';
import type { ConcurrencyState } from '../../core/model/limit-rules.ts';
import {
  CONCURRENCY_LIMIT_RULES,
  grownConcurrency,
  refusedConcurrency,
} from '../../core/model/limit-rules.ts';
import type { Clock, ConcurrencyLimit, RateLimit, Slot } from '../../core/model/ports.ts';
import type { Answer, Send } from './exchange.ts';
import { retryAfterMs } from './retry.ts';

/** The times default to `CONCURRENCY_LIMIT_RULES`. */
interface ConcurrencyLimitOptions {
  readonly limit: number;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly coolDownMs?: number;
  readonly recoverMs?: number;
  readonly maxHoldMs?: number;
}

export function createConcurrencyLimit(options: ConcurrencyLimitOptions): ConcurrencyLimit {
  const { limit, rateLimit, clock, ...rules } = { ...CONCURRENCY_LIMIT_RULES, ...options };
  const never = -Infinity;
  let state: ConcurrencyState = { current: limit, changedMs: never, loweredMs: never, heldUntilMs: never };
  let inFlight = 0;
  let holding: AbortController | undefined;
  const line = createWaitingLine(() => {
    if (line.length === 0) holding?.abort();
  });

  const recover = (nowMs: number): void => {
    state = grownConcurrency(state, limit, nowMs, rules.recoverMs);
  };

  const waitForHold = async (waitMs: number): Promise<void> => {
    holding = new AbortController();
    // Rejects when all callers have left the line.
    await clock.sleep(waitMs, holding.signal).catch(() => {});
    holding = undefined;
    pump();
  };

  const pump = (): void => {
    if (line.length === 0 || holding) return;
    const nowMs = clock.monotonicMs();
    recover(nowMs);
    if (nowMs < state.heldUntilMs) {
      void waitForHold(state.heldUntilMs - nowMs);
      return;
    }
    while (inFlight < state.current && line.letOneGo()) inFlight += 1;
  };

  const createSlot = (): Slot => {
    let out = true;
    return {
      release: () => {
        if (!out) return;
        out = false;
        inFlight -= 1;
        pump();
      },
    };
  };

  return {
    acquire: (signal) => {
      const turn = line.join(signal).then(createSlot);
      pump();
      return turn;
    },
    limited: (afterMs = 0) => {
      const { isSlow, ...refused } = refusedConcurrency(state, limit, clock.monotonicMs(), afterMs, rules);
      state = refused;
      if (isSlow) rateLimit.slowDown();
    },
    get current() {
      recover(clock.monotonicMs());
      return state.current;
    },
  };
}

/** Layer: hold a slot from before the request until its body has ended or its socket is closed. Reports every 429 to the limit. */
export function withConcurrencyLimit(concurrencyLimit: ConcurrencyLimit, clock: Clock, next: Send): Send {
  return async (attempt) => {
    const slot = await concurrencyLimit.acquire(attempt.signal);
    try {
      attempt.signal.throwIfAborted();
      return await next({
        ...attempt,
        consume: (answer) => {
          if (answer.status === 429) concurrencyLimit.limited(retryAfterMs(answer.headers, clock.nowMs()));
          return attempt.consume({ ...answer, body: releasing(answer, slot) });
        },
      });
    } finally {
      slot.release();
    }
  };
}

async function* releasing({ body }: Answer, slot: Slot): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    slot.release();
  }
}
