import { RetriableError } from '../errors.ts';
import type { Clock } from '../model/ports.ts';
import { type Answer, linkSignals, type Send } from './exchange.ts';

export interface DeadlineLimits {
  /** From sending the request until the answer's headers have arrived. */
  readonly headersTimeoutMs: number;
  /** Longest wait for the next bytes of a body; time that the consumer takes does not count. */
  readonly idleTimeoutMs: number;
}

/** Since when the peer is waited for, on the monotonic clock; undefined while the consumer works. */
interface Silence {
  sinceMs: number | undefined;
}

/** Aborting with a reason that is there already is much cheaper than having an exception made. */
const NO_LONGER = new Error('no longer needed');

/** Layer: give up on a peer that stays silent, by aborting the request with the reason. */
export function withDeadline(limits: DeadlineLimits, clock: Clock, next: Send): Send {
  return async (attempt) => {
    const { what } = attempt.outgoing;
    const { controller, unlink } = linkSignals([attempt.signal]);
    const watches: AbortController[] = [];
    const watch = (silence: Silence, timeoutMs: number, error: () => RetriableError): void => {
      const ended = new AbortController();
      watches.push(ended);
      untilSilent(silence, timeoutMs, clock, ended.signal).then(
        () => controller.abort(error()),
        () => {},
      );
    };
    const endWatches = () => {
      for (const ended of watches.splice(0)) ended.abort(NO_LONGER);
    };
    watch(
      { sinceMs: clock.monotonicMs() },
      limits.headersTimeoutMs,
      () =>
        new RetriableError(
          'headers-timeout',
          `${what}: no answer within ${limits.headersTimeoutMs / 1000} s`,
        ),
    );
    try {
      return await next({
        ...attempt,
        signal: controller.signal,
        consume: (answer) => {
          endWatches();
          const silence: Silence = { sinceMs: undefined };
          watch(
            silence,
            limits.idleTimeoutMs,
            () =>
              new RetriableError('idle-timeout', `${what}: no bytes for ${limits.idleTimeoutMs / 1000} s`),
          );
          return attempt.consume({ ...answer, body: listening(answer, silence, clock, endWatches) });
        },
      });
    } finally {
      endWatches();
      unlink();
    }
  };
}

/**
 * Resolves once the peer has been waited for that long without a break; rejects when the watch ends. One timer
 * at a time, set again when it finds that bytes came meanwhile: a timer for each chunk costs as much as reading it.
 */
async function untilSilent(
  silence: Silence,
  timeoutMs: number,
  clock: Clock,
  ended: AbortSignal,
): Promise<void> {
  let leftMs = timeoutMs;
  while (leftMs > 0) {
    await clock.sleep(leftMs, ended);
    leftMs = timeoutMs - (silence.sinceMs === undefined ? 0 : clock.monotonicMs() - silence.sinceMs);
  }
}

async function* listening(
  answer: Answer,
  silence: Silence,
  clock: Clock,
  endWatches: () => void,
): AsyncGenerator<Uint8Array> {
  const body = answer.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      silence.sinceMs = clock.monotonicMs();
      const step = await body.next();
      silence.sinceMs = undefined;
      if (step.done) return;
      yield step.value;
    }
  } finally {
    endWatches();
    await body.return?.();
  }
}
