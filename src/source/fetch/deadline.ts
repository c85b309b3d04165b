import { RetriableError } from '../../core/errors.ts';
import { type Clock, NO_LONGER } from '../../core/model/ports.ts';
import type { Body } from '../../core/model/query.ts';
import { linkSignals, type Send } from './exchange.ts';

export interface DeadlineLimits {
  /** From sending the request until the response's headers arrive. */
  readonly headersTimeoutMs: number;
  /** Maximum wait for the next bytes of a body; the consumer's time does not count. */
  readonly idleTimeoutMs: number;
  /** Maximum total wait for a body, plus the time that its bytes would take at the minimum throughput. */
  readonly slowBodyGraceMs: number;
  readonly leastBytesPerSecond: number;
  readonly maxBodyMs: number;
  /** Maximum time for the body of a status other than 200: the status is enough. */
  readonly maxErrorBodyMs: number;
}

/** Since when we wait for the peer, on the monotonic clock; undefined while the consumer works. */
interface Silence {
  sinceMs: number | undefined;
}

/** Layer: abort a request whose peer is silent, or sends too slowly, with the reason. */
export function withDeadline(limits: DeadlineLimits, clock: Clock, next: Send): Send {
  return async (attempt) => {
    const { what } = attempt.outgoing;
    const { controller, unlink } = linkSignals([attempt.signal]);
    const watches: AbortController[] = [];
    const watch = (silence: Silence, timeoutMs: number, code: string, found: string): void => {
      const ended = new AbortController();
      watches.push(ended);
      untilSilent(silence, timeoutMs, clock, ended.signal).then(
        () => controller.abort(new RetriableError(code, `${what}: ${found}`)),
        () => {},
      );
    };
    const watchAtOnce = (timeoutMs: number, code: string, found: string) =>
      watch({ sinceMs: clock.monotonicMs() }, timeoutMs, code, found);
    const endWatches = () => {
      for (const ended of watches.splice(0)) ended.abort(NO_LONGER);
    };
    const { headersTimeoutMs, idleTimeoutMs, maxErrorBodyMs } = limits;
    watchAtOnce(headersTimeoutMs, 'headers-timeout', `no answer within ${headersTimeoutMs / 1000} s`);
    try {
      return await next({
        ...attempt,
        signal: controller.signal,
        consume: (answer) => {
          endWatches();
          const silence: Silence = { sinceMs: undefined };
          const tooSlow = `the body of status ${answer.status} comes too slowly`;
          if (answer.status !== 200) watchAtOnce(maxErrorBodyMs, 'too-slow', tooSlow);
          watch(silence, idleTimeoutMs, 'idle-timeout', `no bytes for ${idleTimeoutMs / 1000} s`);
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

/** Resolves once the peer has been waited for that long at a stretch; rejects when the watch ends. A timer a chunk would cost as much as reading it. */
async function untilSilent(silence: Silence, timeoutMs: number, clock: Clock, ended: AbortSignal) {
  let leftMs = timeoutMs;
  while (leftMs > 0) {
    await clock.sleep(leftMs, ended);
    leftMs = timeoutMs - (silence.sinceMs === undefined ? 0 : clock.monotonicMs() - silence.sinceMs);
  }
}

/** Counts how long we wait for the peer; throws RetriableError `too-slow` if that is too long for the bytes received. */
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
