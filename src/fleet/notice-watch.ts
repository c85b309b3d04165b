/**
 * Notices: gathers what the scheduler learns, and has people told of it, beside the scheduler, so that one that hangs is
 * told of too. What is not known now (before the first plan, or without Redis) is neither news nor over. Times that pass are
 * those of this process: a wall clock may be set back by days.
 */
import type { Clock, Job, Log } from '../core/model/index.ts';
import type { Config } from '../runtime/config/config.ts';
import { webhookSettings } from '../runtime/config/derived-settings.ts';
import type { FleetEvent } from './events.ts';
import type { Fleet } from './fleet.ts';
import type { CauseRow, FleetFacts, Heard, HoldNow, JobFacts } from './notice-causes.ts';
import { FLEET_CAUSES, HEARD_KINDS, JOB_CAUSES, troublesOf } from './notice-causes.ts';
import { causeKey, type KnownCause, type KnownCauses, type ToldCause } from './notify/cause-changes.ts';
import { createSharedText, withOtherPlace } from './notify/notice-store.ts';
import { createTeller, type Tell } from './notify/notices.ts';
import { createWebhook } from './notify/webhook.ts';
import { createGuard } from './say-once.ts';

interface NoticeWatchOptions extends Pick<JobFacts, 'nightByMs' | 'lateDays'> {
  readonly jobs: readonly Job[];
  readonly tell: Tell;
  readonly clock: Clock;
  readonly log: Log;
  readonly readHold: () => Promise<HoldNow>;
  readonly intervalMs?: number;
}

export type NoticeWatch = ReturnType<typeof createNoticeWatch>;

const INTERVAL_MS = 10_000;

/** Without Redis nobody knows who plans: who did goes on telling, and who stood by goes on standing by. */
type Role = 'not-known-yet' | 'plans' | 'stands-by';

export function createNoticeWatch(options: NoticeWatchOptions) {
  const { jobs, clock, log, nightByMs, lateDays, intervalMs = INTERVAL_MS } = options;
  /** By job: what was told of it, and when it was planned, by this process's time. */
  const heard = new Map<string, Heard>();
  const plannedMs = new Map<string, number>();
  let stuckBackfills: FleetFacts['stuckBackfills'];
  let role: Role = 'not-known-yet';
  let ledFromMs = clock.monotonicMs();
  let heldMs = Number.NEGATIVE_INFINITY;
  /** Since when a cause is found, by its key. */
  const foundMs = new Map<string, number>();

  /** What is known of a cause now; undefined: nothing, or it does not last long enough yet. */
  function knownOf<Facts>(kind: string, row: CauseRow<Facts>, facts: Facts, job?: string) {
    const name = job === undefined ? { kind } : { kind, job };
    const key = causeKey(name);
    const found = row.find(facts);
    if (found === 'unknown') return undefined;
    if (found === 'none') {
      foundMs.delete(key);
      return { key, cause: endOf(row, job) };
    }
    const sinceMs = foundMs.get(key) ?? clock.monotonicMs();
    foundMs.set(key, sinceMs);
    if (clock.monotonicMs() - sinceMs < (row.settlesMs ?? 0)) return undefined;
    return { key, cause: { ...name, ...found, text: textAbout(found.text, job) } };
  }

  function factsOf(job: Job, hold: HoldNow, told: readonly ToldCause[]): JobFacts {
    const ofJob = heard.get(job.name) ?? {};
    const toldOfJob = told.filter((one) => one.job === job.name);
    const nowMs = clock.monotonicMs();
    return {
      ...{ job, hold, nightByMs, lateDays, heard: ofJob, nowMs: clock.nowMs() },
      troubles: ofJob.failed && troublesOf(ofJob.failed, toldOfJob),
      plannedAgoMs: nowMs - (plannedMs.get(job.name) ?? Number.NEGATIVE_INFINITY),
      plannableMs: nowMs - Math.max(ledFromMs, heldMs),
    };
  }

  async function look(signal: AbortSignal): Promise<void> {
    if (role !== 'stands-by') await options.tell(causesOf, signal);
  }

  async function causesOf(told: readonly ToldCause[]): Promise<KnownCauses> {
    const hold = await options.readHold();
    // A lake that is full or closed, which the queue is on hold for, may be why nothing can be planned.
    if (typeof hold !== 'string') heldMs = clock.monotonicMs();
    const factsOfJobs = jobs.map((job) => factsOf(job, hold, told));
    const isUnplanned = factsOfJobs.some(
      (facts) => typeof JOB_CAUSES['not-planned']!.find(facts) !== 'string',
    );
    const ofFleet = { hold, stuckBackfills, isUnplanned };
    // Who cannot know whether it plans has learned nothing of the jobs.
    const rows = Object.entries(JOB_CAUSES).filter(([kind]) => role === 'plans' || kind === 'not-planned');
    const known = [
      ...Object.entries(FLEET_CAUSES).map(([kind, row]) => knownOf(kind, row, ofFleet)),
      ...factsOfJobs.flatMap((facts) => rows.map(([kind, row]) => knownOf(kind, row, facts, facts.job.name))),
      // Of a job that is not there any more nothing lasts, but for what another version has told.
      ...told
        .filter(({ job }) => job !== undefined && !jobs.some(({ name }) => name === job))
        .map((one) => {
          const row = JOB_CAUSES[one.kind];
          return row && { key: causeKey(one), cause: endOf(row, one.job) };
        }),
    ];
    const causes = known.filter((one) => one !== undefined).map(({ key, cause }) => [key, cause] as const);
    return new Map<string, KnownCause>(causes);
  }

  function onLead(leads: boolean | undefined): void {
    if (leads === undefined) return;
    if (leads && role !== 'plans') ledFromMs = clock.monotonicMs();
    role = leads ? 'plans' : 'stands-by';
    if (leads) return;
    // What another process learns meanwhile is not known here.
    heard.clear();
    plannedMs.clear();
    stuckBackfills = undefined;
  }

  return {
    onEvent(event: FleetEvent): void {
      if (event.kind === 'lead') onLead(event.leads);
      else if (event.kind === 'stuck-backfills') stuckBackfills = new Map(event.stuck);
      else if (event.kind === 'job-planned') plannedMs.set(event.job, clock.monotonicMs());
      else if (isHeard(event)) {
        const known = { ...heard.get(event.job), [event.kind]: event };
        for (const [kind, endedBy] of Object.entries(HEARD_KINDS))
          if (endedBy === event.kind) delete known[kind as keyof Heard];
        heard.set(event.job, known);
      }
    },
    /** One look. Throws what the store, Redis and the delivery throw. */
    look,
    /** Look again and again until the signal is aborted. Never rejects. */
    async run(signal: AbortSignal): Promise<void> {
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

const isHeard = (event: FleetEvent): event is NonNullable<Heard[keyof Heard]> =>
  Object.hasOwn(HEARD_KINDS, event.kind);
const textAbout = (text: string, job: string | undefined) => (job === undefined ? text : `${job}: ${text}`);
const endOf = ({ end }: { readonly end: string }, job: string | undefined) => textAbout(end, job);

/** The notices of a scheduler process, by its settings. Undefined where nobody is to be told. `intervalMs` is for tests. */
export function openNoticeWatch(
  config: Config,
  fleet: Fleet,
  log: Log,
  intervalMs?: number,
): NoticeWatch | undefined {
  const { settings, jobs, current } = config;
  const webhook = webhookSettings(settings);
  if (webhook === undefined) return undefined;
  const { clock, store } = fleet.app.ports;
  const shared = createSharedText(fleet.connection.run, `${fleet.prefix}:notices:told`);
  const isConnected = () => fleet.connection.client.status === 'ready';
  return createNoticeWatch({
    jobs,
    tell: createTeller({
      store: withOtherPlace(store, shared),
      webhook: createWebhook(() => webhookSettings(current(log)) ?? webhook, clock),
      ...{ clock, log },
    }),
    ...{ clock, log },
    readHold: async () => (isConnected() ? ((await fleet.queue.hold.read()) ?? 'none') : 'unknown'),
    nightByMs: settings.NOTIFY_NIGHT_BY,
    lateDays: settings.NOTIFY_LATE_DAYS,
    ...(intervalMs === undefined ? {} : { intervalMs }),
  });
}
