/**
 * What notices are derived from: the last event of each kind, how long ago jobs were planned, and which vessel-days failed.
 * What is not known now (before the first plan, or without Redis) is undefined. Times that pass are those of this process: a
 * wall clock may be set back by days.
 */
import type { Clock, Job, VesselDay } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import type { FailedDays, FleetEvent } from './events.ts';
import type { ToldCause } from './notify/cause-changes.ts';
import type { Hold } from './queue/hold.ts';

/** The hold of the queue; it is `unknown` while Redis is unreachable. */
export type HoldNow = Hold | 'none' | 'unknown';

/** Events of single vessel-days are not kept. */
type Kind = Exclude<FleetEvent, { readonly day: VesselDay }>['kind'];
/** The last event of each kind. Without one, nothing is known of its kind yet. */
type Heard = { readonly [K in Kind]?: Extract<FleetEvent, { readonly kind: K }> };

/** An event of the first kind makes the last one of the second obsolete. */
const ENDS: { readonly [K in Kind]?: Kind } = {
  'looked-back': 'look-back-failed',
};

export interface FleetFacts {
  readonly hold: HoldNow;
  /** Of the events that name no job. */
  readonly heard: Heard;
  /** Whether there is a job that is not planned, and reported as that. */
  readonly isUnplanned: boolean;
}

export interface JobFacts {
  readonly job: Job;
  readonly nowMs: number;
  readonly hold: HoldNow;
  /** Of the events that name this job, or no job. */
  readonly heard: Heard;
  readonly troubles: DayTroubles | undefined;
  /** Since the job was planned, and since it could have been: it has a leader, and the queue is on no hold. */
  readonly plannedAgoMs: number;
  readonly plannableMs: number;
  /** From midnight UTC, when the day before has to be in the lake. */
  readonly nightByMs: number;
  /** Changed vessel-days that a look-back may find. */
  readonly lateDays: number;
}

/** Codes by vessel-day, as `formatVesselDay` writes it. */
export interface DayTroubles {
  readonly failed: ReadonlyMap<string, string>;
  readonly refused: ReadonlyMap<string, string>;
}

export interface FactsOptions extends Pick<JobFacts, 'nightByMs' | 'lateDays'> {
  readonly jobs: readonly Job[];
  readonly clock: Clock;
}

/** Without Redis no process knows who plans: the role stays as it was. */
type Role = 'not-known-yet' | 'plans' | 'stands-by';

export function createNoticeFacts({ jobs, clock, nightByMs, lateDays }: FactsOptions) {
  /** By job, or '' for events that name none. */
  const heard = new Map<string, Heard>();
  const plannedMs = new Map<string, number>();
  let role: Role = 'not-known-yet';
  let ledFromMs = clock.monotonicMs();
  let heldMs = Number.NEGATIVE_INFINITY;

  function onLead(leads: boolean | undefined): void {
    if (leads === undefined) return;
    if (leads && role !== 'plans') ledFromMs = clock.monotonicMs();
    role = leads ? 'plans' : 'stands-by';
    if (leads) return;
    // What another process learns meanwhile is not known here.
    heard.clear();
    plannedMs.clear();
  }

  function ofJob(job: Job, hold: HoldNow, told: readonly ToldCause[]): JobFacts {
    const known = { ...heard.get(''), ...heard.get(job.name) };
    const toldOfJob = told.filter((one) => one.job === job.name);
    const nowMs = clock.monotonicMs();
    return {
      ...{ job, hold, nightByMs, lateDays, heard: known, nowMs: clock.nowMs() },
      troubles: known.failed && troublesOf(known.failed, toldOfJob),
      plannedAgoMs: nowMs - (plannedMs.get(job.name) ?? Number.NEGATIVE_INFINITY),
      plannableMs: nowMs - Math.max(ledFromMs, heldMs),
    };
  }

  return {
    get role(): Role {
      return role;
    },
    onEvent(event: FleetEvent): void {
      if ('day' in event) return;
      if (event.kind === 'lead') onLead(event.leads);
      const job = 'job' in event ? event.job : '';
      if (event.kind === 'job-planned') plannedMs.set(job, clock.monotonicMs());
      heard.set(job, { ...heard.get(job), [ENDS[event.kind] ?? '']: undefined, [event.kind]: event });
    },
    /** `told`: what has been reported and has not ended. */
    now(hold: HoldNow, told: readonly ToldCause[]) {
      // The lake may be full or closed: the hold has the same reason as a job that cannot be planned.
      if (typeof hold !== 'string') heldMs = clock.monotonicMs();
      return { heard: heard.get('') ?? {}, ofJobs: jobs.map((job) => ofJob(job, hold, told)) };
    },
  };
}

/**
 * Vessel-days that failed for good or were refused, until they are published: the failed set says that they failed, and
 * their note in the lake that they are no better yet. `told`: what was reported of the job.
 */
function troublesOf({ letters, notes }: FailedDays, told: readonly ToldCause[]): DayTroubles {
  const dead = new Set(letters.map(({ day }) => formatVesselDay(day)));
  const toldAs = (kind: string) =>
    new Set(told.filter((one) => one.kind === kind).flatMap((one) => one.members));
  const [toldFailed, toldRefused] = [toldAs('failed'), toldAs('refused')];
  const [failed, refused] = [new Map<string, string>(), new Map<string, string>()];
  for (const { note } of notes.values()) {
    const id = formatVesselDay(note);
    // A retry that failed meanwhile does not end a refusal.
    if (note.state === 'refused' || (note.state === 'failed' && toldRefused.has(id) && !dead.has(id)))
      refused.set(id, note.code);
    else if (note.state === 'failed' && (dead.has(id) || toldFailed.has(id))) failed.set(id, note.code);
  }
  return { failed, refused };
}
