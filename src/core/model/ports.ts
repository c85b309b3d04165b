/** The clock port: tests own the time. */
export interface Clock {
  /** Milliseconds since the epoch, of the wall clock. */
  nowMs(): number;
  /** Milliseconds of a clock that never goes back; differences only. */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason when it is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** The random port: uniform in `[0, 1)`; tests pass a fixed sequence. */
export type Random = () => number;

/** Reason of an abort of what nobody waits for any more. With one at hand, no exception is made for each. */
export const NO_LONGER = new Error('no longer needed');

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, delayMs);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Requests in flight, over everyone who shares the credential.
 *
 * Contract, for every implementation:
 * - At most `current` slots are held at any moment, over all callers; `acquire` serves them first come first
 *   served. It rejects with the signal's reason, at once, and then holds no slot.
 * - `release` may be called more than once; only the first counts. It never throws.
 * - `limited` is called on every 429. It lowers `current` for everyone, once per cool-down and not once per
 *   refusal, down to 1. At 1 the refusal was the rate limit: the rate limit is slowed down instead. Slots that are
 *   held stay valid. With `retryAfterMs` nobody gets a slot until then, whoever was told.
 * - Without refusals `current` creeps back, one by one, to the limit.
 */
export interface ConcurrencyLimit {
  acquire(signal?: AbortSignal): Promise<Slot>;
  limited(retryAfterMs?: number): void;
  readonly current: number;
}

export interface Slot {
  release(): void;
}

/**
 * How fast requests may follow each other, over everyone who shares the service's rate limit.
 *
 * Contract, for every implementation:
 * - `take` resolves first come first served, and never more than `perMinute` times in any minute; turns are
 *   spread evenly, there is no burst. It rejects with the signal's reason, at once, and then uses up no turn.
 * - `slowDown` is called on a 429 that only a lower rate limit can fix. It lowers the rate limit for everyone, also for
 *   those who wait already, once per cool-down; without refusals the rate limit creeps back to what was configured.
 */
export interface RateLimit {
  take(signal?: AbortSignal): Promise<void>;
  slowDown(): void;
  /** The present rate limit; undefined when there is none. */
  readonly perMinute: number | undefined;
}
