/**
 * Snapshots of metadata that have stopped: they leave no day open that a night could be late with. One is late when the day
 * on which its schedule fired last is over, and it was taken neither then nor since.
 */
import {
  addDays,
  type Clock,
  datesBetween,
  dateToMicros,
  type Job,
  MICROS_PER_MILLI,
  microsToDate,
} from '../core/model/index.ts';
import { lastFiringMs } from '../core/plan/firings.ts';
import { vesselsOnDates } from '../lake/ledger/newest-days.ts';
import { lastSnapshotDate, readSnapshotDates } from '../lake/marks.ts';
import type { ObjectStore } from '../store/store.ts';
import type { OnFleetEvent } from './events.ts';

interface SnapshotWatchOptions {
  readonly onEvent?: OnFleetEvent;
  readonly jobs: readonly Job[];
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** Between looks: each lists a mark for every vessel. */
const LOOK_MS = 300_000;

/**
 * A look, unless one has just been taken. `vesselsOf`: those of a job that are planned. A vessel that has no mark is
 * given the time since its job was first looked at. Throws what the store throws.
 */
export function createSnapshotWatch(
  { jobs, store, clock, onEvent }: SnapshotWatchOptions,
  vesselsOf: (job: string) => readonly string[] | undefined,
) {
  const captured = jobs.filter((job) => job.dataset === 'metadata' && job.schedule !== undefined);
  const lookedMs = new Map<string, number>();
  const firstSeen = new Map<string, string>();
  return async (): Promise<void> => {
    for (const { name, schedule } of captured) {
      const vessels = vesselsOf(name);
      if (onEvent === undefined || vessels === undefined) continue;
      if (clock.monotonicMs() - (lookedMs.get(name) ?? Number.NEGATIVE_INFINITY) < LOOK_MS) continue;
      const today = microsToDate(clock.nowMs() * 1_000);
      const fired = lastFiringMs(schedule!, dateToMicros(today) / MICROS_PER_MILLI - 1);
      const asked = microsToDate(fired * 1_000);
      const seen = firstSeen.get(name);
      // A clock may have been set back since.
      const since = seen !== undefined && seen < today ? seen : today;
      firstSeen.set(name, since);
      const captures = await readSnapshotDates(store, name);
      lookedMs.set(name, clock.monotonicMs());
      const unmarked = vessels.flatMap((vessel) => {
        const last = lastSnapshotDate(captures, vessel, today);
        return (last ?? since) < asked ? [{ vessel, last: last ?? null }] : [];
      });
      // Who dies between receipt and mark leaves the receipt alone.
      const dates = unmarked.length === 0 ? [] : datesBetween(asked, addDays(today, 1));
      const published = await vesselsOnDates(store, name, dates);
      const late = unmarked.filter(({ vessel }) => !published.includes(vessel));
      onEvent({ kind: 'snapshots', job: name, late });
    }
  };
}
