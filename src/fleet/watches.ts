/** What a scheduler looks at now and then between its plans, and tells: days that failed, warnings, snapshots that stopped. */
import { isRefusal } from '../core/errors.ts';
import type { Clock, Job, Log } from '../core/model/index.ts';
import {
  addDays,
  datesBetween,
  dateToMicros,
  formatVesselDay,
  MICROS_PER_MILLI,
  microsToDate,
} from '../core/model/index.ts';
import { lastFiringMs } from '../core/plan/firings.ts';
import { DayMap } from '../lake/ledger/day-map.ts';
import type { LedgerView } from '../lake/ledger/ledger-view.ts';
import { vesselsOnDates } from '../lake/ledger/newest-days.ts';
import { lastSnapshotDate, readSnapshotDates } from '../lake/marks.ts';
import { type KnownNotes, readNotes } from '../lake/notes.ts';
import { describeWarnings, howToAccept } from '../lake/warnings.ts';
import type { ObjectStore } from '../store/store.ts';
import type { OnFleetEvent } from './events.ts';
import type { VesselDayQueue } from './queue/vessel-day-queue.ts';

interface WatchOptions {
  readonly jobs: readonly Job[];
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly onEvent?: OnFleetEvent;
}

/** Between looks: each reads the whole failed set. */
const FAILED_LOOK_MS = 60_000;
/** Between looks that cost requests to the store: for every vessel that has a warning, or a snapshot's mark. */
const LOOK_MS = 300_000;
/** Notes that one look reads: planning waits for it. */
const MAX_READS = 2_000;
/** Warnings that are logged of one job and look; the rest is counted. */
const SAID_AT_MOST = 20;

/** Has so much time passed since it was last done? */
function createInterval(clock: Clock, everyMs: number) {
  let doneMs = Number.NEGATIVE_INFINITY;
  return {
    isOver: () => clock.monotonicMs() - doneMs >= everyMs,
    begin() {
      doneMs = clock.monotonicMs();
    },
  };
}

/**
 * What failed for good and what was refused, by the failed set of the queue and the notes of the lake: a day that a
 * look-back refuses is in the lake alone. A look, unless one has just been taken. Throws what Redis and the store throw.
 */
export function createFailedWatch({
  jobs,
  queue,
  store,
  clock,
  onEvent,
}: WatchOptions & { readonly queue: Pick<VesselDayQueue, 'deadLetters'> }) {
  const seen = new Map<string, KnownNotes>();
  const interval = createInterval(clock, FAILED_LOOK_MS);
  return async (): Promise<void> => {
    if (onEvent === undefined || !interval.isOver()) return;
    const dead = await queue.deadLetters();
    interval.begin();
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

/**
 * Warnings that stand open, told again and again: nobody may have seen them. A look at what the ledger has shown so far,
 * unless one has just been taken; a warning is logged once for each day that carries it on. Throws what the store throws.
 */
export function createWarningWatch({
  jobs,
  ledger,
  clock,
  log,
  onEvent,
}: Omit<WatchOptions, 'store'> & { readonly ledger: LedgerView; readonly log: Log }) {
  const said = new Set<string>();
  const interval = createInterval(clock, LOOK_MS);
  return async (): Promise<void> => {
    if (!interval.isOver()) return;
    interval.begin();
    for (const { name } of jobs) {
      const open = await ledger.openWarnings(name);
      onEvent?.({ kind: 'warned', job: name, open });
      const news = open.filter(({ day }) => !said.has(formatVesselDay(day)));
      for (const { day, warnings } of news.slice(0, SAID_AT_MOST))
        log.warn(
          { vesselDay: formatVesselDay(day), warning: describeWarnings(warnings), accept: howToAccept(day) },
          'a warning stands open',
        );
      if (news.length > SAID_AT_MOST)
        log.warn({ job: name, more: news.length - SAID_AT_MOST }, 'a warning stands open');
      for (const { day } of news) said.add(formatVesselDay(day));
    }
  };
}

/**
 * Snapshots of metadata that have stopped: they leave no day open that a night could be late with. One is late when the day
 * on which its schedule fired last is over, and it was taken neither then nor since. A look, unless one has just been
 * taken. `vesselsOf`: those of a job that are planned. A vessel that has no mark is given the time since its job was first
 * looked at. Throws what the store throws.
 */
export function createSnapshotWatch(
  { jobs, store, clock, onEvent }: WatchOptions,
  vesselsOf: (job: string) => readonly string[] | undefined,
) {
  const watched = jobs
    .filter((job) => job.dataset === 'metadata' && job.schedule !== undefined)
    .map((job) => ({ job, interval: createInterval(clock, LOOK_MS), since: '' }));
  return async (): Promise<void> => {
    for (const one of watched) {
      const { name, schedule } = one.job;
      const vessels = vesselsOf(name);
      if (onEvent === undefined || vessels === undefined || !one.interval.isOver()) continue;
      const today = microsToDate(clock.nowMs() * 1_000);
      const fired = lastFiringMs(schedule!, dateToMicros(today) / MICROS_PER_MILLI - 1);
      const asked = microsToDate(fired * 1_000);
      // A clock may have been set back since.
      one.since = one.since !== '' && one.since < today ? one.since : today;
      const captures = await readSnapshotDates(store, name);
      one.interval.begin();
      const unmarked = vessels.flatMap((vessel) => {
        const last = lastSnapshotDate(captures, vessel, today);
        return (last ?? one.since) < asked ? [{ vessel, last: last ?? null }] : [];
      });
      // Who dies between receipt and mark leaves the receipt alone.
      const dates = unmarked.length === 0 ? [] : datesBetween(asked, addDays(today, 1));
      const published = await vesselsOnDates(store, name, dates);
      onEvent({
        ...{ kind: 'snapshots', job: name },
        late: unmarked.filter(({ vessel }) => !published.includes(vessel)),
      });
    }
  };
}
