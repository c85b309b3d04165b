/**
 * How many vessel-days of a worker are at work at once, and how many jobs it holds for that. Who only waits for a commit
 * that others join gives its slot to the next one, which must be at hand, for those that wait end together: so a worker
 * holds as many jobs more as lately waited at once, twice over; where none waits, none.
 */
import { createWaitingLine } from '../../core/concurrency.ts';
import type { Clock } from '../../core/model/index.ts';

/** Jobs beyond the slots: each is one that another worker does not have. */
const MAX_MORE_JOBS = 96;
/** How long ago `lately` is, at the least. */
const WINDOW_MS = 2_000;

export function createSlots(slots: number, clock: Clock, holdJobs: (jobs: number) => void) {
  const line = createWaitingLine();
  let [free, outside, jobs] = [slots, 0, slots];
  /** Most that waited at once, in this window and the one before. */
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
    /** Perform `work` in a slot of its own, once there is one. `leave`: it only waits from now on. */
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
