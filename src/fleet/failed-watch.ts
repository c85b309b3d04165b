/**
 * What failed for good and what was refused, looked at now and then: by the failed set of the queue and the notes of the
 * lake. A day that a look-back refuses is in the lake alone.
 */
import { isRefusal } from '../core/errors.ts';
import type { Clock, Job } from '../core/model/index.ts';
import { DayMap } from '../lake/ledger/day-map.ts';
import { type KnownNotes, readNotes } from '../lake/notes.ts';
import type { ObjectStore } from '../store/store.ts';
import type { OnFleetEvent } from './events.ts';
import type { VesselDayQueue } from './queue/vessel-day-queue.ts';

interface FailedWatchOptions {
  readonly jobs: readonly Job[];
  readonly queue: Pick<VesselDayQueue, 'deadLetters'>;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly onEvent?: OnFleetEvent;
}

/** Between looks: each reads the whole set. */
const LOOK_MS = 60_000;
/** Notes that one look reads: planning waits for it. */
const MAX_READS = 2_000;

/** A look, unless one has just been taken. Throws what Redis and the store throw. */
export function createFailedWatch({ jobs, queue, store, clock, onEvent }: FailedWatchOptions) {
  const seen = new Map<string, KnownNotes>();
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    if (onEvent === undefined || clock.monotonicMs() - lookedMs < LOOK_MS) return;
    const dead = await queue.deadLetters();
    lookedMs = clock.monotonicMs();
    for (const { name } of jobs) {
      const before = seen.get(name) ?? new DayMap();
      const notes = await readNotes(store, name, { before, maxReads: MAX_READS });
      seen.set(name, notes);
      const letters = dead.filter(({ day }) => day.job === name);
      const failed = letters.filter((letter) => !isRefusal(letter));
      const refused = [...notes.values()].filter(({ note }) => note.state === 'refused').length;
      onEvent({ kind: 'failed', job: name, failed: failed.length, refused, letters, notes });
    }
  };
}
