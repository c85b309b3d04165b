/**
 * Notices: gathers what the scheduler learns, and has people told of it. It looks beside the scheduler, not within its
 * looks, so that one that hangs is told of too. What is not known now (before the first plan, or without Redis) is neither
 * news nor over.
 */
import type { OpenRemark } from '../lake/remarks.ts';
import type { Clock, Job, Log, VesselDay } from '../model/index.ts';
import type { Cause, ToldCause } from '../notify/causes.ts';
import { causeKey } from '../notify/causes.ts';
import type { Teller } from '../notify/notices.ts';
import type { Hold } from '../queue/hold.ts';
import type { ObjectStore } from '../store/store.ts';
import { createDayTroubles } from './day-troubles.ts';
import type { FailedDays } from './failed-watch.ts';
import type { LookBack } from './look-backs.ts';
import {
  holdCause,
  lateDataCause,
  nightCause,
  notPlannedCause,
  seriesCause,
  troubleCause,
} from './notice-causes.ts';
import { createGuard } from './say-once.ts';

interface NoticeWatchOptions {
  readonly jobs: readonly Job[];
  readonly teller: Teller;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Null: the queue is not on hold; undefined: that cannot be known now. */
  readonly readHold: () => Promise<Hold | null | undefined>;
  /** From midnight UTC, when the day before has to be in the lake. */
  readonly nightByMs: number;
  /** Changed vessel-days that a look-back may find. */
  readonly lateDays: number;
  /** Between looks. */
  readonly intervalMs?: number;
}

/** What the scheduler tells, as its options name it. */
export interface NoticeWatch {
  onPlanned(
    job: string,
    missing: number,
    oldest: string | undefined,
    unpublished: () => Iterable<VesselDay>,
  ): void;
  onFailed(job: string, days: FailedDays): void;
  onRemarked(job: string, vessels: number, open: readonly OpenRemark[]): void;
  onLookedBack(job: string, found: Readonly<Record<string, number>>, look: LookBack): void;
  onLooked(job: string): void;
  onLead(leads: boolean | undefined): void;
  /** One look. Throws what the store, Redis and the delivery throw. */
  look(signal: AbortSignal): Promise<void>;
  /** Look again and again until the signal is aborted. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const INTERVAL_MS = 10_000;
/** The failed set is looked at once a minute: what is missing may stand there by now, and is told as that. */
const NIGHT_SETTLES_MS = 120_000;

interface Known {
  unpublished?: () => Iterable<VesselDay>;
  /** Since when a night is not whole. */
  nightSinceMs?: number;
  failed?: FailedDays;
  remarks?: readonly OpenRemark[];
  lookBack?: LookBack & { readonly changed: number };
  lookedMs?: number;
}

export function createNoticeWatch(options: NoticeWatchOptions): NoticeWatch {
  const { jobs, teller, clock, log, intervalMs = INTERVAL_MS } = options;
  const troublesOf = createDayTroubles(options.store, clock);
  const known = new Map<string, Known>();
  let leads: boolean | undefined;
  let ledFromMs = clock.nowMs();
  /** When the queue was last seen on hold. */
  let heldMs = Number.NEGATIVE_INFINITY;

  const of = (job: string): Known => {
    const one = known.get(job) ?? {};
    known.set(job, one);
    return one;
  };

  /** Puts into `causes` what is known. Throws what the store throws. */
  async function findCausesOfJob(
    job: Job,
    hold: Hold | null | undefined,
    told: readonly ToldCause[],
    causes: Map<string, Cause | null>,
  ): Promise<void> {
    const { name } = job;
    const set = (kind: Cause['kind'], cause: Cause | null) =>
      causes.set(causeKey({ kind, job: name }), cause);
    const one = of(name);
    const nowMs = clock.nowMs();
    if (job.schedule !== undefined) {
      const lookedMs = one.lookedMs ?? 0;
      const cause = notPlannedCause(name, Math.max(lookedMs, ledFromMs, heldMs), nowMs);
      // It is over when it was planned, and not because somebody else leads or the queue goes on.
      if (cause !== null || notPlannedCause(name, lookedMs, nowMs) === null) set('not-planned', cause);
    }
    if (leads !== true || one.failed === undefined) return;
    const ofJob = told.filter((each) => each.job === name);
    const { failed, refused } = await troublesOf(name, {
      inFailedSet: one.failed,
      lookBack: one.lookBack,
      told: ofJob,
    });
    set('failed', troubleCause('failed', name, failed));
    set('refused', troubleCause('refused', name, refused));
    // The receipts that remarks stand in are read when the job is planned.
    if (one.lookedMs !== undefined && one.remarks !== undefined)
      set('fewer-series', seriesCause(name, one.remarks));
    if (one.lookBack !== undefined)
      set('late-data', lateDataCause(name, one.lookBack.changed, options.lateDays, one.lookBack.to));
    // While the queue is on hold, that is why.
    if (one.unpublished === undefined || hold !== null) return;
    const isToldElsewhere = (id: string) => failed.has(id) || refused.has(id);
    const night = nightCause(job, one.unpublished(), options.nightByMs, nowMs, isToldElsewhere);
    if (night === null) delete one.nightSinceMs;
    else one.nightSinceMs ??= clock.monotonicMs();
    const hasSettled = clock.monotonicMs() - (one.nightSinceMs ?? 0) >= NIGHT_SETTLES_MS;
    if (night === null || hasSettled) set('night', night);
  }

  async function look(signal: AbortSignal): Promise<void> {
    if (leads === false) return teller.forget();
    const told = await teller.told();
    const hold = await options.readHold();
    const now = new Map<string, Cause | null>();
    if (hold !== undefined) now.set('hold', hold && holdCause(hold));
    // A lake that is full or closed, which the queue is on hold for, may be why nothing can be planned.
    if (hold) heldMs = clock.nowMs();
    // One that cannot be read is no reason to tell nothing.
    let unread: { readonly error: unknown } | undefined;
    for (const job of jobs)
      await findCausesOfJob(job, hold, told, now).catch((error: unknown) => {
        unread ??= { error };
      });
    // Of a job that is not there any more nothing lasts.
    for (const one of told)
      if (one.job !== undefined && !jobs.some(({ name }) => name === one.job)) now.set(causeKey(one), null);
    await teller.tell(now, signal);
    if (unread !== undefined) throw unread.error;
  }

  return {
    onPlanned: (job, _missing, _oldest, unpublished) => void Object.assign(of(job), { unpublished }),
    onFailed: (job, failed) => void Object.assign(of(job), { failed }),
    onRemarked: (job, _vessels, remarks) => void Object.assign(of(job), { remarks }),
    onLookedBack: (job, { changed = 0 }, lookBack) =>
      void Object.assign(of(job), { lookBack: { ...lookBack, changed } }),
    onLooked: (job) => void Object.assign(of(job), { lookedMs: clock.nowMs() }),
    onLead(now) {
      if (now === true && leads !== true) ledFromMs = clock.nowMs();
      // What another process learns meanwhile is not known here.
      if (now === false) known.clear();
      // Without Redis nobody knows: who led goes on telling, who stood by goes on standing by.
      if (now !== undefined) leads = now;
    },
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
