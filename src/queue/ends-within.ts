import type { Clock } from '../model/index.ts';

/** From the signal to the end of a process that waits for Redis, which does not have to come back for that. */
export const AWAY_STOP_MS = 3_000;

/** True once `work` has settled, however it did; false when it has not after `graceMs`. */
export async function endsWithin(work: Promise<unknown>, graceMs: number, clock: Clock): Promise<boolean> {
  const patience = new AbortController();
  const late = clock.sleep(graceMs, patience.signal).then(
    () => false,
    () => true,
  );
  const ended = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    patience.abort();
  }
}

/** Waits for `work` to settle; once the signal is aborted, for `graceMs` at the most. True when it has settled. */
export async function endsAfter(
  work: Promise<unknown>,
  signal: AbortSignal,
  graceMs: number,
  clock: Clock,
): Promise<boolean> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([work.catch(() => {}), aborted]);
  signal.removeEventListener('abort', onAbort);
  return endsWithin(work, graceMs, clock);
}
