/** What a check found, and how long it may take to find it. */
import { codeOf, messageOf, RetriableError } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';

export const CHECK_STATES = ['ok', 'warning', 'failed', 'skipped'] as const;
export type CheckState = (typeof CHECK_STATES)[number];

export const CHECK_SUBJECTS = ['settings', 'service', 'lake', 'redis', 'page', 'jobs'] as const;
type CheckSubject = (typeof CHECK_SUBJECTS)[number];

export interface CheckResult {
  readonly subject: CheckSubject;
  /** What was checked: a word that stays, or the name of a job. */
  readonly check: string;
  readonly state: CheckState;
  /** Of what has failed: a word that stays. */
  readonly code?: string;
  /** What was found, and what to do where that is not what it should be. */
  readonly message: string;
}

/** Longest time that a check waits for what does not answer. */
export const PATIENCE_MS = 5_000;

/** The results of one subject. */
export function resultsOf(subject: CheckSubject) {
  const result =
    (state: CheckState) =>
    (check: string, message: string, code?: string): CheckResult => ({
      ...{ subject, check, state, message },
      ...(code !== undefined && { code }),
    });
  return {
    ok: result('ok'),
    warning: result('warning'),
    failed: result('failed'),
    skipped: result('skipped'),
    /** What an error says. */
    error: (check: string, error: unknown) => result('failed')(check, messageOf(error), codeOf(error)),
  };
}

/** `work`, or RetriableError `no-answer` once it has taken too long: what it does after that is lost. */
export async function inTime<T>(
  clock: Clock,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [late, ended] = [new AbortController(), new AbortController()];
  const waited = clock.sleep(PATIENCE_MS, ended.signal).then(
    () => {
      const error = new RetriableError('no-answer', `${what}: no answer within ${PATIENCE_MS / 1_000} s`);
      late.abort(error);
      throw error;
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([work(late.signal), waited]);
  } finally {
    ended.abort();
  }
}
