/**
 * How many vessel-days a worker exports at once, and how many jobs it takes for that. A vessel-day that only waits for a
 * shared commit gives its slot to the next one, which must be at hand, because those that wait end together. So a worker takes
 * twice as many extra jobs as waited at once lately; if none waits, it takes no extra job.
 */
import { createWaitingLine } from '../../core/concurrency.ts';
import type { Clock } from '../../core/model/index.ts';

/** Maximum of extra jobs beyond the slots: other workers cannot take those. */
const MAX_MORE_JOBS = 96;
/** The shortest time that `lately` means. */
const WINDOW_MS = 2_000;

export function createSlots(slots: number, clock: Clock, holdJobs: (jobs: number) => void) {
  const line = createWaitingLine();
  let [free, outside, jobs] = [slots, 0, slots];
  /** The most that waited at once, in this window and the one before. */
  let [most, mostBefore, windowMs] = [0, 0, clock.monotonicMs()];

  function look(): void {
    const nowMs = clock.monotonicMs();
    if (nowMs - windowMs > WINDOW_MS) {
      [mostBefore, most] = [nowMs - windowMs > 2 * WINDOW_MS ? 0 : most, outside];
      windowMs = nowMs;
    }
    most = Math.max(most, outside);
    const wanted = slots + Math.min(2 * Math.max(most, mostBefore), MAX_MORE_JOBS);
    if (wanted !== jobs) holdJobs(wanted);
    jobs = wanted;
  }

  function giveBack(): void {
    if (!line.letOneGo()) free++;
  }

  return {
    /** Run `work` in a slot, once one is free. `leave`: gives the slot back, because `work` only waits from now on. */
    async within<T>(signal: AbortSignal, work: (leave: () => void) => Promise<T>): Promise<T> {
      if (free === 0) await line.join(signal);
      else free--;
      look();
      let isOutside = false;
      const leave = () => {
        if (isOutside) return;
        isOutside = true;
        outside++;
        look();
        giveBack();
      };
      try {
        return await work(leave);
      } finally {
        if (isOutside) outside--;
        else giveBack();
        look();
      }
    },
  };
}
