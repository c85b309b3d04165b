/** What a scheduler checks from time to time and reports as events: failed days, warnings, the queue, snapshots that stopped. */
import { shareAnswer } from '../core/concurrency.ts';
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
import { warnOfFew } from './say-once.ts';

interface WatchOptions {
  readonly jobs: readonly Job[];
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly onEvent?: OnFleetEvent;
}

/** Interval of checks that read the whole failed set. */
const FAILED_LOOK_MS = 60_000;
/** Interval of checks that cost requests to the store, for every vessel with a warning or a snapshot's mark. */
const LOOK_MS = 300_000;
/** Notes that one check reads at most: planning waits for it. */
const MAX_READS = 2_000;

/** All checks by what they read. A new one is a function of this file and a row here. */
export function createWatches(
  options: Parameters<typeof createFailedWatch>[0] &
    Parameters<typeof createWarningWatch>[0] &
    Parameters<typeof createQueueWatch>[0],
  vesselsOf: (job: string) => readonly string[] | undefined,
) {
  return {
    warnings: createWarningWatch(options),
    'the failed set': createFailedWatch(options),
    'the queue': createQueueWatch(options),
    snapshots: createSnapshotWatch(options, vesselsOf),
  };
}

/** Failed and refused vessel-days, from the failed set and the lake's notes: refusals of look-backs are only in the lake. */
export function createFailedWatch(
  options: WatchOptions & { readonly queue: Pick<VesselDayQueue, 'deadLetters'> },
) {
  const { jobs, queue, store, clock, onEvent } = options;
  const seen = new Map<string, KnownNotes>();
  const look = async () => {
    if (onEvent === undefined) return;
    const dead = await queue.deadLetters();
    for (const { name } of jobs) {
      const before = seen.get(name) ?? new DayMap();
      const notes = await readNotes(store, name, { before, maxReads: MAX_READS });
      seen.set(name, notes);
      const letters = dead.filter(({ day }) => day.job === name);
      const failed = letters.filter((letter) => !isRefusal(letter)).length;
      const refused = [...notes.values()].filter(({ note }) => note.state === 'refused').length;
      onEvent({ kind: 'failed', job: name, failed, refused, letters, notes });
    }
  };
  return shareAnswer(clock, look, FAILED_LOOK_MS);
}

/** How many vessel-days wait, and how many workers are connected. Emits nothing if Redis does not let us list its clients. */
function createQueueWatch(
  options: Pick<WatchOptions, 'clock' | 'onEvent'> & {
    readonly queue: Pick<VesselDayQueue, 'depth' | 'workers'>;
  },
) {
  const { queue, clock, onEvent } = options;
  const look = async () => {
    const { waiting, prioritized } = await queue.depth();
    const workers = await queue.workers().catch(() => undefined);
    if (workers !== undefined) onEvent?.({ kind: 'queue', waiting: waiting + prioritized, workers });
  };
  return shareAnswer(clock, look, FAILED_LOOK_MS);
}

/** Open warnings; each is emitted every time, and logged once for each day that carries it on. */
export function createWarningWatch(
  options: Omit<WatchOptions, 'store'> & { readonly ledger: LedgerView; readonly log: Log },
) {
  const { jobs, ledger, clock, log, onEvent } = options;
  const said = new Set<string>();
  const look = async () => {
    for (const { name } of jobs) {
      const open = await ledger.openWarnings(name);
      onEvent?.({ kind: 'warned', job: name, open });
      const news = open.filter(({ day }) => !said.has(formatVesselDay(day)));
      const lines = news.map(({ day, warnings }) => {
        const vesselDay = formatVesselDay(day);
        said.add(vesselDay);
        return { vesselDay, warning: describeWarnings(warnings), accept: howToAccept(day) };
      });
      warnOfFew(log, name, 'a warning stands open', lines);
    }
  };
  return shareAnswer(clock, look, LOOK_MS);
}

/**
 * Snapshots of metadata that have stopped: no open day shows that. A snapshot is late if the day on which its schedule fired
 * last is over, and it was taken neither then nor since. `vesselsOf`: the planned vessels of a job. For a vessel without a
 * mark the time counts from the first check of its job. Throws what the store throws.
 */
function createSnapshotWatch(
  { jobs, store, clock, onEvent }: WatchOptions,
  vesselsOf: (job: string) => readonly string[] | undefined,
) {
  const looks = jobs.flatMap(({ name, dataset, schedule }) => {
    if (dataset !== 'metadata' || schedule === undefined) return [];
    let since = '';
    const look = async () => {
      const vessels = vesselsOf(name)!;
      const today = microsToDate(clock.nowMs() * 1_000);
      const fired = lastFiringMs(schedule, dateToMicros(today) / MICROS_PER_MILLI - 1);
      const asked = microsToDate(fired * 1_000);
      // The clock may have been set back since.
      since = since !== '' && since < today ? since : today;
      const captures = await readSnapshotDates(store, name);
      const unmarked = vessels.flatMap((vessel) => {
        const last = lastSnapshotDate(captures, vessel, today);
        return (last ?? since) < asked ? [{ vessel, last: last ?? null }] : [];
      });
      // A process that dies between receipt and mark leaves a receipt without a mark.
      const dates = unmarked.length === 0 ? [] : datesBetween(asked, addDays(today, 1));
      const published = await vesselsOnDates(store, name, dates);
      const late = unmarked.filter(({ vessel }) => !published.includes(vessel));
      onEvent?.({ kind: 'snapshots', job: name, late });
    };
    return { name, look: shareAnswer(clock, look, LOOK_MS) };
  });
  return async (): Promise<void> => {
    for (const { name, look } of looks) if (onEvent && vesselsOf(name)) await look();
  };
}
