/** The failed set of the queue, looked at now and then: what failed for good, and what was refused. */
import type { Clock, Job } from '../model/index.ts';
import type { DeadLetter, VesselDayQueue } from '../queue/vessel-day-queue.ts';

/** Of one job. */
export interface FailedDays {
  readonly failed: readonly DeadLetter[];
  /** Their published days would have lost readings. */
  readonly refused: readonly DeadLetter[];
}

interface FailedWatchOptions {
  readonly jobs: readonly Job[];
  readonly queue: Pick<VesselDayQueue, 'deadLetters'>;
  readonly clock: Clock;
  readonly onFailed?: (job: string, days: FailedDays) => void;
}

/** Of the errors that refuse to replace a published day. */
const REFUSED_CODE = 'would-shrink';
/** Was it refused, so that it is somebody's decision? */
export function isRefusal({ code }: Pick<DeadLetter, 'code'>): boolean {
  return code === REFUSED_CODE;
}

/** Between looks: each reads the whole set. */
const LOOK_MS = 60_000;

/** A look, unless one has just been taken. Throws what Redis throws. */
export function createFailedWatch({ jobs, queue, clock, onFailed }: FailedWatchOptions) {
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    if (onFailed === undefined || clock.monotonicMs() - lookedMs < LOOK_MS) return;
    const letters = await queue.deadLetters();
    lookedMs = clock.monotonicMs();
    for (const { name } of jobs) {
      const ofJob = letters.filter(({ day }) => day.job === name);
      onFailed(name, {
        failed: ofJob.filter((letter) => !isRefusal(letter)),
        refused: ofJob.filter(isRefusal),
      });
    }
  };
}
