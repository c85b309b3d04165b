import {
  DataError,
  FatalError,
  RateLimitedError,
  RetriableError,
  type VesselExportError,
} from '../errors.ts';
import type { Clock, Log, Random } from '../model/ports.ts';
import type { Attempt, Call, Exchange, Send } from './exchange.ts';
import { decideRetry, type Failure, isLimited, NO_TROUBLE, type RetryLimits, type Trouble } from './retry.ts';
import { AnswerError, publicError } from './status.ts';

export interface RetryOptions {
  readonly limits: RetryLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Layer: send again what the retry table says is worth it, the reading of the body included. Throws what is
 * not: HttpStatusError, RetriableError or RateLimitedError once patience is used up, and every other error of
 * `consume` as it is.
 */
export function withRetry(options: RetryOptions, next: Send): Exchange {
  const { limits, clock, random, log } = options;
  return async <T>(call: Call<T>): Promise<T> => {
    let trouble: Trouble = NO_TROUBLE;
    let delayMs = 0;
    for (;;) {
      const outgoing = await call.outgoing();
      const attempt: Attempt<T> = { ...call, outgoing, wire: { elapsedMs: 0 } };
      const startedMs = clock.monotonicMs();
      try {
        return await next(attempt);
      } catch (error) {
        call.signal.throwIfAborted();
        const failure = failureOf(error);
        if (failure === undefined) throw error;
        if (call.progressed()) trouble = NO_TROUBLE;
        const queuedMs = clock.monotonicMs() - startedMs;
        trouble = add(trouble, isLimited(failure), delayMs, attempt.wire.elapsedMs, queuedMs);
        const decision = decideRetry(failure, trouble, clock.nowMs(), random, limits);
        if ('giveUp' in decision) throw lastWord(error, decision.reason, trouble, clock.nowMs());
        delayMs = decision.delayMs;
        log.warn(
          { ...describeFailure(failure), delayMs: Math.round(delayMs) },
          `${outgoing.what}: trying again`,
        );
        await clock.sleep(delayMs, call.signal);
      }
    }
  };
}

function failureOf(error: unknown): Failure | undefined {
  if (error instanceof AnswerError) return { status: error.status, headers: error.headers };
  if (error instanceof RetriableError) return { code: error.code };
  return undefined;
}

/** The first failure's own time does not count: a page that breaks off after an hour is still worth a retry. */
function add(before: Trouble, limited: boolean, delayMs: number, wireMs: number, allMs: number): Trouble {
  const first = before === NO_TROUBLE;
  return limited
    ? {
        ...before,
        limited: before.limited + 1,
        // A refusal holds everyone at the cap, so here the wait there counts.
        limitedMs: before.limitedMs + (first ? 0 : delayMs + allMs),
      }
    : {
        ...before,
        attempts: before.attempts + 1,
        spentMs: before.spentMs + (first ? 0 : delayMs + wireMs),
      };
}

function lastWord(error: unknown, reason: string, trouble: Trouble, nowMs: number): VesselExportError {
  const shown = error instanceof AnswerError ? publicError(error, nowMs) : (error as VesselExportError);
  if (reason === 'no-retry-helps' || shown instanceof FatalError || shown instanceof DataError) return shown;
  const seconds = Math.round((trouble.spentMs + trouble.limitedMs) / 1000);
  const message = `${shown.message}; gave up after ${trouble.attempts + trouble.limited} failures in a row (${seconds} s)`;
  return shown instanceof RateLimitedError
    ? new RateLimitedError(shown.code, message, shown.retryAfterMs, { cause: shown.cause })
    : new RetriableError(shown.code, message, { cause: shown.cause });
}

function describeFailure(failure: Failure): object {
  return 'status' in failure ? { status: failure.status } : { code: failure.code };
}
