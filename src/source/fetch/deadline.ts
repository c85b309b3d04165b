import { RetriableError } from '../../core/errors.ts';
import { type Clock, NO_LONGER } from '../../core/model/ports.ts';
import type { Body } from '../../core/model/query.ts';
import { linkSignals, type Send } from './exchange.ts';

export interface DeadlineLimits {
  /** From sending the request until the answer's headers have arrived. */
  readonly headersTimeoutMs: number;
  /** Longest wait for the next bytes of a body; time that the consumer takes does not count. */
  readonly idleTimeoutMs: number;
  /**
   * A body may keep us waiting for so long, and for as long again as what has come of it would take at the least
   * throughput; but never longer than `maxBodyMs`.
   */
  readonly slowBodyGraceMs: number;
  readonly leastBytesPerSecond: number;
  readonly maxBodyMs: number;
  /** Longest that the body of another status than 200 may take: its status says enough. */
  readonly maxErrorBodyMs: number;
}

/** Since when the peer is waited for, on the monotonic clock; undefined while the consumer works. */
interface Silence {
  sinceMs: number | undefined;
}

/** Layer: give up on a peer that stays silent, or sends next to nothing, by aborting the request with the reason. */
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
          if (answer.status !== 200)
            watch(
              { sinceMs: clock.monotonicMs() },
              limits.maxErrorBodyMs,
              () =>
                new RetriableError(
                  'too-slow',
                  `${what}: the body of status ${answer.status} comes too slowly`,
                ),
            );
          watch(
            silence,
            limits.idleTimeoutMs,
            () =>
              new RetriableError('idle-timeout', `${what}: no bytes for ${limits.idleTimeoutMs / 1000} s`),
          );
          const body = inTime(answer.body, silence, clock, limits, what, endWatches);
          return attempt.consume({ ...answer, body });
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

/** Counts how long the peer is waited for; throws RetriableError `too-slow` where that is too long for what has come. */
async function* inTime(
  body: Body,
  silence: Silence,
  clock: Clock,
  { slowBodyGraceMs, leastBytesPerSecond, maxBodyMs }: DeadlineLimits,
  what: string,
  endWatches: () => void,
): AsyncGenerator<Uint8Array> {
  let waitedMs = 0;
  let received = 0;
  try {
    silence.sinceMs = clock.monotonicMs();
    for await (const chunk of body) {
      waitedMs += clock.monotonicMs() - silence.sinceMs;
      silence.sinceMs = undefined;
      received += chunk.length;
      if (waitedMs > Math.min(maxBodyMs, slowBodyGraceMs + (received / leastBytesPerSecond) * 1_000)) {
        const found = `${received} bytes in ${Math.round(waitedMs / 1_000)} s`;
        throw new RetriableError('too-slow', `${what}: the answer comes too slowly (${found})`);
      }
      yield chunk;
      silence.sinceMs = clock.monotonicMs();
    }
  } finally {
    endWatches();
  }
}
