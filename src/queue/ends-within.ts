import type { Clock } from '../model/index.ts';

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
