/** The retry table: pure. Every request of this client is a read, the POSTs too, so any of them may be sent again. */
import { TIMEOUT_CODES } from './faults.ts';

/** A failure: a status other than 200, or one of our codes of RetriableError. */
export type Failure =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly code: string };

export interface RetryLimits {
  /** Full jitter: a delay is uniform in `[0, min(maxDelayMs, baseDelayMs · 2^(attempt-1)))`. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Maximum time of consecutive failures: delays and time on the wire, without waits for concurrency limit and rate limit. */
  readonly maxTotalMs: number;
  readonly maxAttempts: number;
  /** Maximum time of consecutive responses 429. */
  readonly maxLimitedMs: number;
  /** Maximum of consecutive failures of requests that belong together, and of the time spent on them. */
  readonly maxStreak: number;
  readonly maxStreakMs: number;
  readonly maxRetryAfterMs: number;
}

export const RETRY_LIMITS: RetryLimits = {
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxTotalMs: 300_000,
  maxAttempts: 8,
  maxLimitedMs: 1_800_000,
  maxStreak: 24,
  maxStreakMs: 900_000,
  maxRetryAfterMs: 300_000,
};

/** Attempts at a range that can be split: its length may be the reason. */
const DIVISIBLE_ATTEMPTS = 3;

/** Consecutive failures since the call began or last made progress, including the present one. */
export interface Trouble {
  readonly attempts: number;
  readonly spentMs: number;
  /** Responses 429: they cost no attempt. */
  readonly limited: number;
  readonly limitedMs: number;
}

export const NO_TROUBLE: Trouble = { attempts: 0, spentMs: 0, limited: 0, limitedMs: 0 };

/** Consecutive failures of all requests of a vessel-day; responses 429 do not count. */
export interface FailureStreak {
  failures: number;
  spentMs: number;
  /** Its limits are reached: all calls that share it give up. */
  isOver: boolean;
  /** The error of the last call that gave up, except errors of tokens and of the reader of the answer. */
  gaveUpOn: unknown;
}

export function createFailureStreak(): FailureStreak {
  return { failures: 0, spentMs: 0, isOver: false, gaveUpOn: undefined };
}

export interface RetryScope {
  readonly streak?: FailureStreak | undefined;
  /** After a few failures the caller requests less. */
  readonly isDivisible?: boolean | undefined;
}

type Decision =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly giveUp: true; readonly reason: 'no-retry-helps' | 'attempts' | 'time' | 'streak' };

/** Statuses that may be temporary; of the 5xx that are not listed, all except these two. */
const PASSING_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);
const LASTING_5XX = new Set([501, 505]);

/** A second attempt may find a warm cache; after that the pipeline requests less, the address is wrong, or there is nothing. */
const FEWER_ATTEMPTS: Readonly<Record<string, number>> = {
  'headers-timeout': 2,
  'too-slow': 2,
  'host-unknown': 3,
  'nothing-found': 3,
};

export function decideRetry(
  failure: Failure,
  trouble: Trouble,
  nowMs: number,
  random: () => number,
  limits: RetryLimits = RETRY_LIMITS,
  scope: RetryScope = {},
): Decision {
  if ('status' in failure && !isPassing(failure.status)) return { giveUp: true, reason: 'no-retry-helps' };
  const limited = isLimited(failure);
  const { streak } = scope;
  const { failures = 0, spentMs: streakMs = 0 } = streak ?? {};
  if (!limited && (failures >= limits.maxStreak || streakMs >= limits.maxStreakMs))
    return { giveUp: true, reason: 'streak' };
  if (!limited && trouble.attempts >= maxAttemptsAt(failure, trouble, limits, scope))
    return { giveUp: true, reason: 'attempts' };
  const asked = 'status' in failure ? retryAfterMs(failure.headers, nowMs) : undefined;
  const nth = limited ? trouble.limited : Math.max(trouble.attempts, failures);
  const ceilingMs = Math.min(limits.maxDelayMs, limits.baseDelayMs * 2 ** Math.min(nth - 1, 30));
  // A wait by `Retry-After` gets jitter, and grows if it comes again and again, because it may be 0.
  const delayMs = Math.min(asked ?? 0, limits.maxRetryAfterMs) + random() * ceilingMs;
  const spentMs = limited ? trouble.limitedMs : trouble.spentMs;
  if (spentMs + delayMs > (limited ? limits.maxLimitedMs : limits.maxTotalMs))
    return { giveUp: true, reason: 'time' };
  return { retry: true, delayMs };
}

function maxAttemptsAt(
  failure: Failure,
  trouble: Trouble,
  limits: RetryLimits,
  { streak, isDivisible = false }: RetryScope,
): number {
  const fewer = 'code' in failure ? (FEWER_ATTEMPTS[failure.code] ?? Infinity) : Infinity;
  const maxAttempts = Math.min(limits.maxAttempts, fewer);
  if (!isDivisible) return maxAttempts;
  const isTimeout = 'code' in failure ? TIMEOUT_CODES.includes(failure.code) : failure.status === 504;
  // A longer range has timed out already: each further time-out may cost minutes.
  if (isTimeout && streak !== undefined && streak.failures > trouble.attempts) return 1;
  return Math.min(maxAttempts, DIVISIBLE_ATTEMPTS);
}

/** Whether a later response may have another status. */
export function isPassing(status: number): boolean {
  return PASSING_STATUSES.has(status) || (status >= 500 && status <= 599 && !LASTING_5XX.has(status));
}

export function isLimited(failure: Failure): boolean {
  return 'status' in failure && failure.status === 429;
}

/** What `Retry-After` asks for, in seconds or as a date (held against the answer's own `Date`: clocks differ); undefined where it is not understood. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Za-z]{3}/.test(text)) return undefined;
  const untilMs = Date.parse(text);
  if (Number.isNaN(untilMs)) return undefined;
  const dateMs = Date.parse(headers.date ?? '');
  return Math.max(0, untilMs - (Number.isNaN(dateMs) ? nowMs : dateMs));
}
