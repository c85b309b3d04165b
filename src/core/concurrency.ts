/** Many things at once in this process, and how long to wait for what has been begun. */
import { CancelledError, stopsAll } from './errors.ts';
import type { Clock } from './model/index.ts';

/** Do `work` for every item, `atOnce` at a time. The first error ends it when the work under way has ended. */
export async function forEachAtOnce<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>) {
  const rest = items[Symbol.iterator]();
  let hasFailed = false;
  const workOff = async () => {
    while (!hasFailed) {
      const next = rest.next();
      if (next.done) return;
      try {
        await work(next.value);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, workOff));
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure) throw failure.reason;
}

/** So long may one work without a pause in a thread that others share. */
const TURN_MS = 8;

/** To be called between short steps in a shared thread: a promise where the others have waited long enough, else undefined. */
export function createTurns(): () => Promise<void> | undefined {
  let sinceMs = performance.now();
  const pause = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    sinceMs = performance.now();
  };
  return () => (performance.now() - sinceMs < TURN_MS ? undefined : pause());
}

interface RunnerOptions<Task, Outcome> {
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** `leave`: the task only waits from now on, and another one may begin in its place. */
  readonly perform: (task: Task, signal: AbortSignal, leave: () => void) => Promise<Outcome>;
  readonly onSettled: (task: Task, result: TaskResult<Outcome>) => void;
}

export type TaskResult<Outcome> = { readonly outcome: Outcome } | { readonly error: unknown };

/** Tasks that only wait, beside those that are at work: each holds what it has learned of its day. */
const MAX_OUTSIDE = 512;

/**
 * Perform tasks in order, `concurrency` at once. What concerns all (`stopsAll`) or a cancellation aborts those that run, lets none begin, and is thrown
 * when they have ended; any other failure is its task's own.
 */
export async function runInline<Task, Outcome>(
  tasks: Iterable<Task>,
  { concurrency, perform, onSettled, signal: cancelled }: RunnerOptions<Task, Outcome>,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([cancelled, stop.signal]);
  const outside = new Set<Promise<void>>();
  const performOne = async (task: Task, leave: () => void) => {
    try {
      onSettled(task, { outcome: await perform(task, signal, leave) });
    } catch (error) {
      onSettled(task, { error });
      if (stopsAll(error) && !signal.aborted) stop.abort(error);
    }
  };
  await forEachAtOnce(tasks, concurrency, async (task) => {
    if (signal.aborted) return;
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const leave = () => {
      if (outside.size < MAX_OUTSIDE) resolve();
    };
    const ended = performOne(task, leave).finally(() => outside.delete(ended));
    outside.add(ended);
    await Promise.race([ended, left]);
  });
  await Promise.all(outside);
  if (cancelled.aborted) throw new CancelledError('interrupted');
  if (stop.signal.aborted) throw stop.signal.reason;
}

/** Asks when it is first needed, and never again once there is an answer; a failure is no answer. */
export function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask().catch((error: unknown) => {
      asked = undefined;
      throw error;
    });
    return asked;
  };
}

/** One question at a time for all who ask meanwhile; its answer counts for `keptMs`, a failure for `failedMs`. */
export function shareAnswer<T>(
  clock: Pick<Clock, 'monotonicMs'>,
  ask: () => Promise<T>,
  keptMs: number,
  failedMs = 0,
) {
  let last: { readonly answer: Promise<T>; untilMs: number } | undefined;
  return (): Promise<T> => {
    if (last !== undefined && clock.monotonicMs() < last.untilMs) return last.answer;
    const one = { answer: ask(), untilMs: Infinity };
    last = one;
    const keep = (ms: number) => () => {
      one.untilMs = clock.monotonicMs() + ms;
    };
    one.answer.then(keep(keptMs), keep(failedMs));
    return one.answer;
  };
}

/** From the signal to the end of a process that waits for Redis, which does not have to come back for that. */
export const AWAY_STOP_MS = 3_000;

/** Does it end without an error? */
export async function succeeds(work: Promise<unknown>): Promise<boolean> {
  const [end] = await Promise.allSettled([work]);
  return end.status === 'fulfilled';
}

/** True once `work` has settled, however it did; false when it has not after `graceMs`. */
export async function endsWithin(work: Promise<unknown>, graceMs: number, clock: Clock): Promise<boolean> {
  const patience = new AbortController();
  const [yes, no] = [() => true, () => false];
  const late = clock.sleep(graceMs, patience.signal).then(no, yes);
  return Promise.race([work.then(yes, yes), late]).finally(() => patience.abort());
}

/** Waits for `work` to settle; once the signal is aborted, for `graceMs` at the most. True when it has settled. */
export async function endsAfter(work: Promise<unknown>, signal: AbortSignal, graceMs: number, clock: Clock) {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([work.catch(() => {}), aborted]);
  signal.removeEventListener('abort', onAbort);
  return endsWithin(work, graceMs, clock);
}

/** Callers that wait for their turn, first come first served. `Turn` is what they are given with it. */
export type WaitingLine<Turn = void> = ReturnType<typeof createWaitingLine<Turn>>;

/** `onLeave` is told when someone gave up waiting. */
export function createWaitingLine<Turn = void>(onLeave: () => void = () => {}) {
  const waiting = new Set<(turn: Turn) => void>();
  return {
    get length(): number {
      return waiting.size;
    },
    /** Resolves when it is one's turn; rejects with the signal's reason, and leaves the line, when it is aborted. */
    join: (signal?: AbortSignal): Promise<Turn> =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const go = (turn: Turn) => {
          signal?.removeEventListener('abort', leave);
          resolve(turn);
        };
        const leave = () => {
          waiting.delete(go);
          reject(signal?.reason);
          onLeave();
        };
        waiting.add(go);
        signal?.addEventListener('abort', leave, { once: true });
      }),
    letOneGo: (turn: Turn): boolean => {
      for (const go of waiting) {
        waiting.delete(go);
        go(turn);
        return true;
      }
      return false;
    },
  };
}
