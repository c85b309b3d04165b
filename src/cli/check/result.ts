/** What a check finds, and how long it may take to find it. */
import { endsWithin } from '../../core/concurrency.ts';
import { codeOf, messageOf, RetriableError } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';

export const CHECK_STATES = ['ok', 'warning', 'failed', 'skipped'] as const;
export const CHECK_SUBJECTS = ['settings', 'service', 'lake', 'redis', 'page', 'jobs'] as const;
type CheckSubject = (typeof CHECK_SUBJECTS)[number];

export type CheckState = (typeof CHECK_STATES)[number];

interface Found {
  readonly state: CheckState;
  /** Of what has failed: a word that stays. */
  readonly code?: string;
  readonly message: string;
}

export interface CheckResult extends Found {
  readonly subject: CheckSubject;
  /** What was checked: a word that stays, or the name of a job. */
  readonly check: string;
}

/** What one check says: a text alone where all is well. */
export type Finding = string | Found;

export const warning = (code: string, message: string): Found => ({ state: 'warning', message, code });
export const failed = (code: string, message: string): Found => ({ state: 'failed', message, code });
export const skipped = (message: string): Found => ({ state: 'skipped', message });

export function faultOf(error: unknown): Found {
  const code = codeOf(error);
  return { state: 'failed', message: messageOf(error), ...(code !== undefined && { code }) };
}

export function resultsOf(subject: CheckSubject) {
  return (check: string, found: Finding): CheckResult => ({
    ...{ subject, check },
    ...(typeof found === 'string' ? { state: 'ok', message: found } : found),
  });
}

/** Longest time that a check waits for what does not answer. */
export const PATIENCE_MS = 5_000;

/** `work`, or RetriableError `no-answer` once it has taken too long: what it does after that is lost. */
export async function inTime<T>(
  clock: Clock,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const working = work(late.signal);
  if (await endsWithin(working, PATIENCE_MS, clock)) return await working;
  const error = new RetriableError('no-answer', `${what}: no answer within ${PATIENCE_MS / 1_000} s`);
  late.abort(error);
  throw error;
}
