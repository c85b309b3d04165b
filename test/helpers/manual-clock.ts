import type { Clock } from '../../src/core/model/ports.ts';

/** A clock that stands still until the test moves it. */
export interface ManualClock extends Clock {
  /**
   * Move the time forward. Sleeps that fall due end in the order of their times, each at its own moment, and what
   * they wake gets room to run (and to sleep again) before the time goes on.
   */
  advance(ms: number): Promise<void>;
  /** Delays that are being slept, as asked for, in the order in which they fall due. */
  sleeping(): number[];
  /** Resolves as soon as someone sleeps for a delay that `matches`; at once when someone does already. */
  untilSleeping(matches?: (delayMs: number) => boolean): Promise<void>;
}

interface Sleeper {
  readonly delayMs: number;
  readonly dueMs: number;
  wake(): void;
}

/** `startMs` is the wall clock's time; the monotonic clock starts at 0. */
export function createManualClock(startMs = Date.UTC(2026, 0, 6, 6)): ManualClock {
  const sleepers = new Set<Sleeper>();
  const watchers = new Set<() => void>();
  let elapsedMs = 0;
  const inOrder = () => [...sleepers].sort((a, b) => a.dueMs - b.dueMs);

  const sleep = (delayMs: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (delayMs <= 0) return resolve();
      const leave = () => {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        delayMs,
        dueMs: elapsedMs + delayMs,
        wake: () => {
          leave();
          resolve();
        },
      };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
      for (const watch of watchers) watch();
    });

  const advance = async (ms: number): Promise<void> => {
    const targetMs = elapsedMs + ms;
    await letOthersRun();
    for (let next = inOrder()[0]; next && next.dueMs <= targetMs; next = inOrder()[0]) {
      elapsedMs = next.dueMs;
      next.wake();
      await letOthersRun();
    }
    elapsedMs = targetMs;
    await letOthersRun();
  };

  const untilSleeping = (matches: (delayMs: number) => boolean = () => true): Promise<void> =>
    new Promise((resolve) => {
      const watch = () => {
        if (![...sleepers].some((sleeper) => matches(sleeper.delayMs))) return;
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
    });

  return {
    nowMs: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep,
    advance,
    sleeping: () => inOrder().map((sleeper) => sleeper.delayMs),
    untilSleeping,
  };
}

/** A few turns of the event loop: promises settle and sockets that are ready are read. */
async function letOthersRun(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
