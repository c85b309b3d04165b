import { createWaitingLine } from '../../core/concurrency.ts';
import type { Clock, ConcurrencyLimit, RateLimit, Slot } from '../../core/model/ports.ts';
import { CONCURRENCY_LIMIT_RULES } from '../../core/model/ports.ts';
import type { Body } from '../../core/model/query.ts';
import { bodyOf } from './body.ts';
import type { Answer, Send } from './exchange.ts';
import { retryAfterMs } from './retry.ts';

/** The times are those of `CONCURRENCY_LIMIT_RULES` unless they are given. */
interface ConcurrencyLimitOptions {
  /** Most requests in flight. */
  readonly limit: number;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly coolDownMs?: number;
  readonly recoverMs?: number;
  readonly maxHoldMs?: number;
}

/** The concurrency limit of one process. */
export function createConcurrencyLimit(options: ConcurrencyLimitOptions): ConcurrencyLimit {
  const { limit, rateLimit, clock, coolDownMs, recoverMs, maxHoldMs } = {
    ...CONCURRENCY_LIMIT_RULES,
    ...options,
  };
  let current = limit;
  let inFlight = 0;
  let changedMs = -Infinity;
  let loweredMs = -Infinity;
  let heldUntilMs = -Infinity;
  let holding: AbortController | undefined;
  const line = createWaitingLine(() => {
    if (line.length === 0) holding?.abort();
  });

  const recover = (nowMs: number): void => {
    while (current < limit && nowMs - changedMs >= recoverMs) {
      changedMs += recoverMs;
      current += 1;
    }
  };

  const waitForHold = async (waitMs: number): Promise<void> => {
    holding = new AbortController();
    // Rejects when everyone has left the line.
    await clock.sleep(waitMs, holding.signal).catch(() => {});
    holding = undefined;
    pump();
  };

  const pump = (): void => {
    if (line.length === 0 || holding) return;
    const nowMs = clock.monotonicMs();
    recover(nowMs);
    if (nowMs < heldUntilMs) {
      void waitForHold(heldUntilMs - nowMs);
      return;
    }
    while (inFlight < current && line.letOneGo()) inFlight += 1;
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
      const nowMs = clock.monotonicMs();
      if (afterMs > 0) heldUntilMs = Math.max(heldUntilMs, nowMs + Math.min(afterMs, maxHoldMs));
      if (nowMs - loweredMs < coolDownMs) return;
      recover(nowMs);
      loweredMs = nowMs;
      changedMs = nowMs;
      if (current > 1) current = Math.floor(current / 2);
      else rateLimit.slowDown();
    },
    get current() {
      recover(clock.monotonicMs());
      return current;
    },
  };
}

/**
 * Layer: hold a slot from before the request until its body has ended or its socket is closed, but not while
 * `consume` does other work after the body. Tells the concurrency limit of every 429.
 */
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

function releasing({ body }: Answer, slot: Slot): Body {
  return bodyOf(async (take) => {
    try {
      await body.read(take);
    } finally {
      slot.release();
    }
  });
}
