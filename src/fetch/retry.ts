/**
 * The retry table: pure. Every request of this client is a read (the POSTs too, and asking for a token), so any
 * of them may be sent again and the method plays no part.
 */

/** What went wrong: an answer other than 200, or one of our codes of RetriableError. */
export type Failure =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly code: string };

export interface RetryLimits {
  /** Full jitter: a delay is uniform in `[0, min(maxDelayMs, baseDelayMs · 2^(attempt-1)))`. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Most time spent on failures in a row: delays and time on the wire, not the wait for cap and pace. */
  readonly maxTotalMs: number;
  /** Most requests in a row that fail. */
  readonly maxAttempts: number;
  /** Most time spent on being told 429. */
  readonly maxLimitedMs: number;
  /** Longest `Retry-After` that is obeyed in full. */
  readonly maxRetryAfterMs: number;
}

export const RETRY_LIMITS: RetryLimits = {
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxTotalMs: 300_000,
  maxAttempts: 8,
  maxLimitedMs: 1_800_000,
  maxRetryAfterMs: 300_000,
};

/** Failures in a row since the call began or last got further, the present one included. */
export interface Trouble {
  /** Failures that cost an attempt. */
  readonly attempts: number;
  readonly spentMs: number;
  /** Answers 429: they cost no attempt. */
  readonly limited: number;
  readonly limitedMs: number;
}

export const NO_TROUBLE: Trouble = { attempts: 0, spentMs: 0, limited: 0, limitedMs: 0 };

export type Decision =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly giveUp: true; readonly reason: 'no-retry-helps' | 'attempts' | 'time' };

/** Statuses that may pass by themselves; of the 5xx that are not listed, all but these two. */
const PASSING_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);
const LASTING_5XX = new Set([501, 505]);

/** A second try may find a warm cache; after that the pipeline asks for less, or the address is wrong. */
const FEWER_ATTEMPTS: Readonly<Record<string, number>> = { 'headers-timeout': 2, 'host-unknown': 3 };

export function decideRetry(
  failure: Failure,
  trouble: Trouble,
  nowMs: number,
  random: () => number,
  limits: RetryLimits = RETRY_LIMITS,
): Decision {
  if ('status' in failure && !isPassing(failure.status)) return { giveUp: true, reason: 'no-retry-helps' };
  const limited = isLimited(failure);
  const maxAttempts =
    'code' in failure
      ? Math.min(limits.maxAttempts, FEWER_ATTEMPTS[failure.code] ?? Infinity)
      : limits.maxAttempts;
  if (!limited && trouble.attempts >= maxAttempts) return { giveUp: true, reason: 'attempts' };
  const asked = 'status' in failure ? retryAfterMs(failure.headers, nowMs) : undefined;
  const nth = limited ? trouble.limited : trouble.attempts;
  const ceilingMs = Math.min(limits.maxDelayMs, limits.baseDelayMs * 2 ** Math.min(nth - 1, 30));
  // Who is told when to come back comes a little later, not all at the same moment.
  const delayMs =
    asked === undefined
      ? random() * ceilingMs
      : Math.min(asked, limits.maxRetryAfterMs) + random() * limits.baseDelayMs;
  const spentMs = limited ? trouble.limitedMs : trouble.spentMs;
  if (spentMs + delayMs > (limited ? limits.maxLimitedMs : limits.maxTotalMs))
    return { giveUp: true, reason: 'time' };
  return { retry: true, delayMs };
}

/** May an answer with this status be another one later? */
export function isPassing(status: number): boolean {
  return PASSING_STATUSES.has(status) || (status >= 500 && status <= 599 && !LASTING_5XX.has(status));
}

export function isLimited(failure: Failure): boolean {
  return 'status' in failure && failure.status === 429;
}

/**
 * Milliseconds that `Retry-After` asks for, as seconds or as an HTTP date (which is compared with the answer's
 * own `Date` when it has one, so that clock skew does not count). Undefined when absent or not understood.
 */
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
