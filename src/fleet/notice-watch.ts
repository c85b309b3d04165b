/** Checks from time to time which causes of notices there are, and reports them. It runs beside the scheduler, so that one that hangs is reported too. */
import type { Log } from '../core/model/index.ts';
import type { Config } from '../runtime/config/config.ts';
import { webhookSettings } from '../runtime/config/derived-settings.ts';
import type { Fleet } from './fleet.ts';
import { type CauseRow, FLEET_CAUSES, JOB_CAUSES } from './notice-causes.ts';
import { createNoticeFacts, type FactsOptions, type HoldNow } from './notice-facts.ts';
import { causeKey, type KnownCause, type KnownCauses, type ToldCause } from './notify/cause-changes.ts';
import { createSharedText, withOtherPlace } from './notify/notice-store.ts';
import { createTeller, type Tell } from './notify/notices.ts';
import { createWebhook } from './notify/webhook.ts';
import { createGuard } from './say-once.ts';

interface NoticeWatchOptions extends FactsOptions {
  readonly tell: Tell;
  readonly log: Log;
  readonly readHold: () => Promise<HoldNow>;
  readonly intervalMs?: number;
}

export type NoticeWatch = ReturnType<typeof createNoticeWatch>;

const INTERVAL_MS = 10_000;

export function createNoticeWatch(options: NoticeWatchOptions) {
  const { jobs, clock, log, intervalMs = INTERVAL_MS } = options;
  const gathered = createNoticeFacts(options);
  /** Since when each cause is found, by its key. */
  const foundMs = new Map<string, number>();

  /** What is known of a cause now; undefined: nothing, or it has not lasted long enough yet. */
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

  async function look(signal: AbortSignal): Promise<void> {
    if (gathered.role !== 'stands-by') await options.tell(causesOf, signal);
  }

  async function causesOf(told: readonly ToldCause[]): Promise<KnownCauses> {
    const hold = await options.readHold();
    const { heard, ofJobs } = gathered.now(hold, told);
    const isUnplanned = ofJobs.some((ofJob) => typeof JOB_CAUSES['not-planned']!.find(ofJob) !== 'string');
    const ofFleet = { hold, heard, isUnplanned };
    // A process that cannot know whether it plans knows nothing of the jobs.
    const rows = Object.entries(JOB_CAUSES).filter(
      ([kind]) => gathered.role === 'plans' || kind === 'not-planned',
    );
    const known = [
      ...Object.entries(FLEET_CAUSES).map(([kind, row]) => knownOf(kind, row, ofFleet)),
      ...ofJobs.flatMap((ofJob) => rows.map(([kind, row]) => knownOf(kind, row, ofJob, ofJob.job.name))),
      // A job that no longer exists has no causes, except those that another version has reported.
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

  return {
    onEvent: gathered.onEvent,
    /** One check. Throws what the store, Redis and the delivery throw. */
    look,
    /** Check periodically until the signal is aborted. Never rejects. */
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

const textAbout = (text: string, job: string | undefined) => (job === undefined ? text : `${job}: ${text}`);
const endOf = ({ end }: { readonly end: string }, job: string | undefined) => textAbout(end, job);

/** The notices of a scheduler process, by its settings. Undefined without NOTIFY_URL. `intervalMs` is for tests. */
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
