/** The result of a check, and its time limit. */
import { endsWithin } from '../../core/concurrency.ts';
import { codeOf, messageOf, RetriableError } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';

export const CHECK_STATES = ['ok', 'warning', 'failed', 'skipped'] as const;
export const CHECK_SUBJECTS = ['settings', 'service', 'lake', 'redis', 'page', 'jobs'] as const;
type CheckSubject = (typeof CHECK_SUBJECTS)[number];

export type CheckState = (typeof CHECK_STATES)[number];

interface Found {
  readonly state: CheckState;
  /** Code of a failure: a stable word. */
  readonly code?: string;
  readonly message: string;
}

export interface CheckResult extends Found {
  readonly subject: CheckSubject;
  /** What was checked: a stable word, or the name of a job. */
  readonly check: string;
}

/** The outcome of one check: only a text if it succeeded. */
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

/** Time limit of a check. */
export const PATIENCE_MS = 5_000;

/** The result of `work`, or RetriableError `no-answer` after the time limit: a later result is ignored. */
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
