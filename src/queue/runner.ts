/**
 * The runner port: performs vessel-days. The inline runner does it in this process; a queue can do the same.
 */
import { CancelledError, FatalError } from '../errors.ts';

export interface RunnerOptions<Task, Outcome> {
  /** Vessel-days at once. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly perform: (task: Task, signal: AbortSignal) => Promise<Outcome>;
  /** Called once per task that was begun, in order of completion. */
  readonly onSettled: (task: Task, result: TaskResult<Outcome>) => void;
}

export type TaskResult<Outcome> = { readonly outcome: Outcome } | { readonly error: unknown };

/**
 * Perform tasks in order, `concurrency` at once. A task's failure does not stop the others, except a FatalError
 * that concerns them all (a refused credential, a full disk) and cancellation: then no further task begins,
 * those that run are aborted, and that error is thrown when they have ended.
 */
export async function runInline<Task, Outcome>(
  tasks: Iterable<Task>,
  options: RunnerOptions<Task, Outcome>,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const queue = tasks[Symbol.iterator]();

  async function work(): Promise<void> {
    while (!signal.aborted) {
      const next = queue.next();
      if (next.done) return;
      try {
        options.onSettled(next.value, { outcome: await options.perform(next.value, signal) });
      } catch (error) {
        options.onSettled(next.value, { error });
        if (stopsAll(error) && !signal.aborted) stop.abort(error);
      }
    }
  }

  await Promise.all(Array.from({ length: options.concurrency }, () => work()));
  if (options.signal.aborted) throw new CancelledError('interrupted');
  if (stop.signal.aborted) throw stop.signal.reason;
}

/** Codes of FatalErrors that every other vessel-day would meet too. */
const CONCERNS_ALL = new Set([
  // the service
  'credentials-refused',
  'token-invalid',
  'token-endpoint-wrong',
  'wrong-api-version',
  'redirect-refused',
  'certificate-refused',
  // the lake
  'disk-full',
  'read-only',
  'no-permission',
  'no-hard-links',
  'no-bucket',
  'no-region',
  'wrong-region',
  'bad-credentials',
  'bad-certificate',
  'clock-skew',
  'unsupported-store',
]);

/** Would every other vessel-day end like this one? */
export function stopsAll(error: unknown): boolean {
  return error instanceof FatalError && CONCERNS_ALL.has(error.code);
}
