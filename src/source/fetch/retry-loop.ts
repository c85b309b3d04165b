import type { VesselExportError } from '../../core/errors.ts';
import { codeOf, DataError, FatalError, RateLimitedError, RetriableError } from '../../core/errors.ts';
import { withLogFields } from '../../core/model/log-context.ts';
import type { Clock, Log, Random } from '../../core/model/ports.ts';
import type { Attempt, Call, Exchange, Outgoing, Send } from './exchange.ts';
import { unreachableCode } from './faults.ts';
import type { Failure, FailureStreak, RetryLimits, RetryScope, Trouble } from './retry.ts';
import { createFailureStreak, decideRetry, isLimited, NO_TROUBLE } from './retry.ts';
import { AnswerError, publicError, RefusedTokenError } from './status.ts';

/** Maximum that one failure adds to the time of consecutive failures: a peer that sent for longer was alive. */
const MAX_STREAK_STEP_MS = 180_000;
/** Consecutive refusals of tokens after which the request, and not the token, counts as refused. */
const MAX_TOKEN_REFUSALS = 3;
/** Attempts at a host that was never reached: its address may be wrong, or the service is just starting. */
const MAX_UNREACHED_ATTEMPTS = 4;

interface RetryOptions {
  readonly limits: RetryLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly failFast?: boolean;
}

interface Course {
  trouble: Trouble;
  delayMs: number;
  tokenRefusals: number;
}

/** Layer: repeat requests, including the reading of the body, by the retry table. Throws other errors. */
export function withRetry(options: RetryOptions, next: Send): Exchange {
  const { limits, clock, random, log, failFast = false } = options;
  const reached = new Set<string>();
  const maxUnreached = Math.min(limits.maxAttempts, MAX_UNREACHED_ATTEMPTS);

  /** Record the failure of an attempt and wait for the next one. Throws if there must be none. */
  async function recover<T>(
    error: unknown,
    call: Call<T>,
    attempt: Attempt<T>,
    course: Course,
    allMs: number,
  ) {
    call.signal.throwIfAborted();
    course.tokenRefusals = error instanceof RefusedTokenError ? course.tokenRefusals + 1 : 0;
    if (course.tokenRefusals > 0 && course.tokenRefusals < MAX_TOKEN_REFUSALS) return;
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    const { outgoing, wire } = attempt;
    // A trickle of bytes is no progress: otherwise a call could last for ever.
    if (call.progressed() && codeOf(error) !== 'too-slow') {
      course.trouble = NO_TROUBLE;
      endStreak(call);
    }
    const limited = isLimited(failure);
    course.trouble = add(course.trouble, limited, course.delayMs, wire.elapsedMs, allMs);
    if (!limited) addToStreak(call, course.delayMs + wire.elapsedMs);
    const isUnreachable = unreachableCode(error) !== undefined;
    const isUnreached = failFast && isUnreachable && !reached.has(outgoing.origin);
    const limitsHere = isUnreached ? { ...limits, maxAttempts: maxUnreached } : limits;
    // The host was not reached, so the length of the range is not the reason.
    const scope = isUnreachable ? { streak: call.streak } : call;
    const decision = decideRetry(failure, course.trouble, clock.nowMs(), random, limitsHere, scope);
    if ('giveUp' in decision) {
      if (isUnreached) throw neverReached(error, outgoing);
      const word = lastWord(error, decision.reason, course.trouble, clock.nowMs(), call.streak);
      if (call.streak !== undefined)
        Object.assign(call.streak, { isOver: decision.reason === 'streak', gaveUpOn: word });
      throw word;
    }
    course.delayMs = decision.delayMs;
    const { requestId, asked } = outgoing;
    const delayMs = Math.round(course.delayMs);
    log.warn({ requestId, ...describeFailure(failure, outgoing), delayMs }, `${asked}: trying again`);
    await clock.sleep(course.delayMs, call.signal);
  }

  return async <T>(call: Call<T>): Promise<T> => {
    const course: Course = { trouble: NO_TROUBLE, delayMs: 0, tokenRefusals: 0 };
    for (;;) {
      const outgoing = await call.outgoing();
      const consume: Call<T>['consume'] = (answer) => {
        reached.add(outgoing.origin);
        return call.consume(answer);
      };
      const attempt: Attempt<T> = { ...call, outgoing, consume, wire: { elapsedMs: 0 } };
      const startedMs = clock.monotonicMs();
      try {
        const answer = await withLogFields({ requestId: outgoing.requestId }, () => next(attempt));
        endStreak(call);
        return answer;
      } catch (error) {
        await recover(error, call, attempt, course, clock.monotonicMs() - startedMs);
      }
    }
  };
}

function endStreak({ streak }: RetryScope): void {
  if (streak !== undefined) Object.assign(streak, createFailureStreak());
}

function addToStreak({ streak }: RetryScope, spentMs: number): void {
  if (streak === undefined) return;
  streak.failures += 1;
  streak.spentMs += Math.min(spentMs, MAX_STREAK_STEP_MS);
}

function failureOf(error: unknown): Failure | undefined {
  if (error instanceof AnswerError) return { status: error.status, headers: error.headers };
  if (error instanceof RetriableError) return { code: error.code };
  return undefined;
}

/** The first failure's own time does not count: an answer that breaks off after an hour is still worth a retry. */
function add(before: Trouble, limited: boolean, delayMs: number, wireMs: number, allMs: number): Trouble {
  // A refusal delays all requests at the concurrency limit, so for refusals that wait counts.
  const ms = before === NO_TROUBLE ? 0 : delayMs + (limited ? allMs : wireMs);
  if (limited) return { ...before, limited: before.limited + 1, limitedMs: before.limitedMs + ms };
  return { ...before, attempts: before.attempts + 1, spentMs: before.spentMs + ms };
}

function lastWord(
  error: unknown,
  reason: string,
  trouble: Trouble,
  nowMs: number,
  streak: FailureStreak | undefined,
): VesselExportError {
  const shown = error instanceof AnswerError ? publicError(error, nowMs) : (error as VesselExportError);
  if (reason === 'no-retry-helps' || shown instanceof FatalError || shown instanceof DataError) return shown;
  const spentMs = reason === 'streak' ? streak!.spentMs : trouble.spentMs + trouble.limitedMs;
  const failures = reason === 'streak' ? streak!.failures : trouble.attempts + trouble.limited;
  const seconds = Math.round(spentMs / 1000);
  const message = `${shown.message}; gave up after ${failures} failures in a row (${seconds} s)`;
  return shown instanceof RateLimitedError
    ? new RateLimitedError(shown.code, message, shown.retryAfterMs, { cause: shown.cause })
    : new RetriableError(shown.code, message, { cause: shown.cause });
}

/** Every request would fail alike, so the message does not name this one. */
function neverReached(error: unknown, { origin, setting }: Outgoing): FatalError {
  const found = `the query service cannot be reached at ${origin} (${unreachableCode(error)})`;
  const { cause } = error as Error;
  const advice = `check ${setting}, and that the service is running`;
  return new FatalError('service-unreachable', `${found}; ${advice}`, { cause });
}

/** A fault on the wire may come from a wrong address, so it is named. */
function describeFailure(failure: Failure, { origin, setting }: Outgoing): object {
  if ('status' in failure) return { status: failure.status };
  return { code: failure.code, host: new URL(origin).host, setting };
}
