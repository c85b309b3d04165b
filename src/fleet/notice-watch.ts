/**
 * Notices: gathers what the scheduler learns, and has people told of it. It looks beside the scheduler, not within its
 * looks, so that one that hangs is told of too. What is not known now (before the first plan, or without Redis) is neither
 * news nor over. Times that pass are those of this process: a wall clock may be set back by days.
 */
import { onKinds } from '../core/event-stream.ts';
import type { Clock, Job, Log } from '../core/model/index.ts';
import { dayTroubles } from './day-troubles.ts';
import type { FailedDays, FleetEvent, OnFleetEvent } from './events.ts';
import {
  type CauseRow,
  FLEET_CAUSES,
  type FleetFacts,
  JOB_CAUSES,
  type JobFacts,
  type Seen,
} from './notice-causes.ts';
import { type Cause, causeKey, type ToldCause } from './notify/causes.ts';
import type { Teller } from './notify/notices.ts';
import type { Hold } from './queue/hold.ts';
import { createGuard } from './say-once.ts';

interface NoticeWatchOptions extends Pick<JobFacts, 'nightByMs' | 'lateDays'> {
  readonly jobs: readonly Job[];
  readonly teller: Teller;
  readonly clock: Clock;
  readonly log: Log;
  /** Null: the queue is not on hold; undefined: that cannot be known now. */
  readonly readHold: () => Promise<Hold | null | undefined>;
  /** Between looks. */
  readonly intervalMs?: number;
}

export interface NoticeWatch {
  readonly onEvent: OnFleetEvent;
  /** One look. Throws what the store, Redis and the delivery throw. */
  look(signal: AbortSignal): Promise<void>;
  /** Look again and again until the signal is aborted. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const INTERVAL_MS = 10_000;

interface SeenOfJob extends Seen {
  failed?: FailedDays;
  plannedMs?: number;
}

export function createNoticeWatch(options: NoticeWatchOptions): NoticeWatch {
  const { jobs, teller, clock, log, nightByMs, lateDays, intervalMs = INTERVAL_MS } = options;
  const seen = new Map<string, SeenOfJob>();
  let stuckBackfills: ReadonlyMap<string, string> | undefined;
  let leads: boolean | undefined;
  let ledFromMs = clock.monotonicMs();
  /** When the queue was last seen on hold. */
  let heldMs = Number.NEGATIVE_INFINITY;
  /** Since when a cause is found, by its key. */
  const foundMs = new Map<string, number>();

  const see = (job: string, news: SeenOfJob) => void seen.set(job, { ...seen.get(job), ...news });

  /** Puts into `known` what is known of these causes. */
  function find<Facts>(
    causes: readonly (readonly [kind: string, row: CauseRow<Facts>])[],
    facts: Facts,
    job: string | undefined,
    known: Map<string, Cause | string>,
  ): void {
    const about = job === undefined ? {} : { job };
    const textOf = (text: string) => (job === undefined ? text : `${job}: ${text}`);
    for (const [kind, { find: found, end, settlesMs = 0 }] of causes) {
      const key = causeKey({ kind, ...about });
      const cause = found(facts);
      if (cause === null) foundMs.delete(key);
      if (cause === null) known.set(key, textOf(end));
      if (!cause) continue;
      const sinceMs = foundMs.get(key) ?? clock.monotonicMs();
      foundMs.set(key, sinceMs);
      if (clock.monotonicMs() - sinceMs >= settlesMs)
        known.set(key, { kind, ...about, ...cause, text: textOf(cause.text) });
    }
  }

  function factsOf(job: Job, hold: Hold | null | undefined, told: readonly ToldCause[]): JobFacts {
    const { failed, plannedMs = Number.NEGATIVE_INFINITY, ...rest } = seen.get(job.name) ?? {};
    const ofJob = told.filter((one) => one.job === job.name);
    const nowMs = clock.monotonicMs();
    return {
      ...{ ...rest, job, hold, nightByMs, lateDays, nowMs: clock.nowMs() },
      troubles: failed && dayTroubles(failed, ofJob),
      plannedAgoMs: nowMs - plannedMs,
      plannableMs: nowMs - Math.max(ledFromMs, heldMs),
    };
  }

  async function look(signal: AbortSignal): Promise<void> {
    if (leads === false) return teller.forget();
    const told = await teller.told();
    const hold = await options.readHold();
    // A lake that is full or closed, which the queue is on hold for, may be why nothing can be planned.
    if (hold) heldMs = clock.monotonicMs();
    const known = new Map<string, Cause | string>();
    const factsOfJobs = jobs.map((job) => factsOf(job, hold, told));
    const isUnplanned = factsOfJobs.some((facts) => Boolean(JOB_CAUSES['not-planned']!.find(facts)));
    const facts: FleetFacts = { hold, stuckBackfills, isUnplanned };
    find(Object.entries(FLEET_CAUSES), facts, undefined, known);
    const ofJobs = Object.entries(JOB_CAUSES).filter(([kind]) => leads === true || kind === 'not-planned');
    for (const ofJob of factsOfJobs) find(ofJobs, ofJob, ofJob.job.name, known);
    // Of a job that is not there any more nothing lasts, but for what another version has told.
    for (const one of told) {
      const row = JOB_CAUSES[one.kind];
      if (row !== undefined && one.job !== undefined && !jobs.some(({ name }) => name === one.job))
        known.set(causeKey(one), `${one.job}: ${row.end}`);
    }
    await teller.tell(known, signal);
  }

  function onLead(now: boolean | undefined): void {
    if (now === true && leads !== true) ledFromMs = clock.monotonicMs();
    // What another process learns meanwhile is not known here.
    if (now === false) {
      seen.clear();
      stuckBackfills = undefined;
    }
    // Without Redis nobody knows: who led goes on telling, who stood by goes on standing by.
    if (now !== undefined) leads = now;
  }

  return {
    onEvent: onKinds<FleetEvent>({
      missing: ({ job, unpublished }) => see(job, { unpublished }),
      discovered: (found) => see(found.job, { found }),
      failed: (failed) => see(failed.job, { failed }),
      remarked: ({ job, open }) => see(job, { remarks: open }),
      snapshots: ({ job, late }) => see(job, { snapshots: late }),
      'looked-back'(lookBack) {
        see(lookBack.job, { lookBack });
        delete seen.get(lookBack.job)!.lookBackFails;
      },
      'look-back-failed': (lookBackFails) => see(lookBackFails.job, { lookBackFails }),
      'job-planned': ({ job }) => see(job, { plannedMs: clock.monotonicMs() }),
      'stuck-backfills'({ stuck }) {
        stuckBackfills = new Map(stuck);
      },
      lead: ({ leads: now }) => onLead(now),
    }),
    look,
    async run(signal) {
      const { guard } = createGuard(log);
      while (!signal.aborted) {
        // Both reject only when the signal is aborted.
        try {
          await guard('notices', signal, () => look(signal), 'cannot tell now');
          await clock.sleep(intervalMs, signal);
        } catch {}
      }
    },
  };
}
