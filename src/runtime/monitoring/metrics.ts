/** Prometheus metrics of one process: `vessel_export_…`, seconds and bytes. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { onKinds } from '../../core/event-stream.ts';

const PREFIX = 'vessel_export_';

export interface MetricSources {
  /** Requests that may be in flight now, over all processes that share the credential. */
  readonly concurrencyLimit: () => number;
  readonly depth: () => Promise<Readonly<Record<string, number>>>;
  readonly active: () => number;
  /** Age of the oldest of them, and of the oldest request under way; 0 where there is none. */
  readonly oldestVesselDayMs: () => number;
  readonly oldestRequestMs: () => number;
  readonly takesWrites: () => Promise<boolean>;
  /** Undefined while that cannot be known. */
  readonly isHeld: () => Promise<boolean | undefined>;
}

interface OfJob<Kind extends string> {
  readonly kind: Kind;
  readonly job: string;
}

export type MeasuredEvent =
  | { readonly kind: 'request'; readonly status?: number; readonly ms: number }
  /** A vessel-day of the queue has ended: `published`, `failed`, `handed-back`, … */
  | (OfJob<'day-outcome'> & {
      readonly outcome: string;
      readonly rows?: number | undefined;
      readonly seconds?: number;
    })
  | { readonly kind: 'encoded'; readonly seconds: number }
  | { readonly kind: 'uploaded'; readonly seconds: number; readonly sizeBytes: number }
  /** What planning found missing, or what is left of it: how many vessel-days, and the oldest date. */
  | (OfJob<'missing'> & { readonly missing: number; readonly oldest: string | undefined })
  /** Vessels that the last discovery left out, or named by what is no IMO number. */
  | (OfJob<'discovered'> & { readonly troubles: readonly object[] })
  /** How many vessel-days of a job are in the failed set, and how many are refused, as the lake has it. */
  | (OfJob<'failed'> & { readonly failed: number; readonly refused: number })
  | (OfJob<'warned'> & { readonly open: readonly object[] })
  | OfJob<'job-planned'>
  /** Vessels whose last snapshot that a schedule asked for was not taken, nor one since. */
  | (OfJob<'snapshots'> & { readonly late: readonly object[] })
  /** What a look-back found: vessel-days by state, those of none too. */
  | (OfJob<'looked-back'> & { readonly found: Readonly<Record<string, number>> })
  | (OfJob<'look-back-failed'> & { readonly times: number })
  /** Backfills whose last look failed, with the reason of each. */
  | { readonly kind: 'stuck-backfills'; readonly stuck: ReadonlyMap<string, string> }
  | { readonly kind: 'planning-failed' }
  /** Does this process plan? Undefined: it cannot know now. What another plans is that one's to show. */
  | { readonly kind: 'lead'; readonly leads: boolean | undefined }
  /** Somebody was not let in to the page: the password was `wrong`, or the address `locked` out. */
  | { readonly kind: 'web-login-failed'; readonly outcome: 'wrong' | 'locked' };

export type Metrics = ReturnType<typeof createMetrics>;

const DAY_SECONDS = [1, 3, 10, 30, 60, 180, 600, 1_800, 3_600, 10_800];
const REQUEST_SECONDS = [0.05, 0.1, 0.3, 1, 3, 10, 30, 120];
const STEP_SECONDS = [0.05, 0.1, 0.3, 1, 3, 10, 30];

export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: PREFIX + name, help, buckets, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers });
  /** Only the scheduler that leads has samples of these. */
  const ofLeader: Gauge[] = [];
  const leaderGauge = <L extends string>(...of: [name: string, help: string, ...labelNames: L[]]) => {
    ofLeader.push(gauge(...of));
    ofLeader.at(-1)!.remove({});
    return ofLeader.at(-1)! as Gauge<L>;
  };

  const vesselDays = counter('vessel_days_total', 'vessel-days by outcome', 'job', 'outcome');
  const rows = counter('rows_total', 'rows published', 'job');
  const uploadedBytes = counter('uploaded_bytes_total', 'bytes of parts uploaded');
  const requestsHelp = 'requests to the query service by status; 0: no response';
  const requests = counter('requests_total', requestsHelp, 'status');
  const rateLimited = counter('rate_limited_total', 'responses with status 429');
  const daySeconds = histogram('vessel_day_seconds', 'time of a published vessel-day', DAY_SECONDS);
  const requestSeconds = histogram('request_seconds', 'time of a request and its body', REQUEST_SECONDS);
  const encodeSeconds = histogram('encode_seconds', 'time to sort and encode a row group', STEP_SECONDS);
  const uploadSeconds = histogram('upload_seconds', 'time to upload a part', STEP_SECONDS);
  const missingHelp = 'vessel-days that were due when last planned and have no receipt yet';
  const missing = leaderGauge('missing_vessel_days', missingHelp, 'job');
  const oldestHelp = 'start of the oldest missing day; 0: none';
  const oldest = leaderGauge('oldest_missing_timestamp_seconds', oldestHelp, 'job');
  const unsettledHelp = 'vessels that the last discovery left out or misnamed';
  const unsettled = leaderGauge('unsettled_vessels', unsettledHelp, 'job');
  const failedHelp = 'vessel-days that failed for good and are in the failed set';
  const failedDays = leaderGauge('failed_vessel_days', failedHelp, 'job');
  const refusedHelp = 'vessel-days of which the source now has fewer readings; the published ones stay';
  const refusedDays = leaderGauge('refused_vessel_days', refusedHelp, 'job');
  const warned = leaderGauge('warned_vessels', 'vessels with a warning that is not accepted', 'job');
  const plannedHelp = 'when the job was last planned, or checked to be planned';
  const lookedAt = leaderGauge('planned_timestamp_seconds', plannedHelp, 'job');
  const failures = counter('planning_failures_total', 'failed attempts of the scheduler to plan a job');
  const webHelp = 'sign-ins at the page that failed, or were rejected during a lockout';
  const webFailures = counter('web_login_failures_total', webHelp, 'outcome');
  const leader = gauge('scheduler_leader', '1 in the scheduler that plans, 0 in standby schedulers');
  // Only schedulers say it.
  leader.remove();
  const lookedBackHelp = 'vessel-days that the last look-back found, by state';
  const lookedBack = gauge('look_back_vessel_days', lookedBackHelp, 'job', 'state');
  const lookedBackAt = gauge('look_back_timestamp_seconds', 'when the last look-back ended', 'job');
  const failingHelp = 'look-backs of the job that failed since the last success';
  const lookBackFailures = leaderGauge('look_back_failures', failingHelp, 'job');
  const stuck = leaderGauge('stuck_backfills', 'backfills that could not continue at the last check');
  const lateHelp = 'vessels whose last scheduled snapshot of metadata was not taken';
  const lateSnapshots = leaderGauge('late_snapshots', lateHelp, 'job');
  readOnScrape(sources, registers);
  collectDefaultMetrics({ register: registry });

  return {
    registry,
    read: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
    onEvent: onKinds<MeasuredEvent>({
      request({ status = 0, ms }) {
        requests.inc({ status: String(status) });
        if (status === 429) rateLimited.inc();
        requestSeconds.observe(ms / 1_000);
      },
      'day-outcome'({ job, outcome, rows: published = 0, seconds }) {
        vesselDays.inc({ job, outcome });
        if (outcome !== 'published' || seconds === undefined) return;
        rows.inc({ job }, published);
        daySeconds.observe(seconds);
      },
      encoded: ({ seconds }) => encodeSeconds.observe(seconds),
      uploaded({ seconds, sizeBytes }) {
        uploadSeconds.observe(seconds);
        uploadedBytes.inc(sizeBytes);
      },
      missing({ job, missing: count, oldest: date }) {
        missing.set({ job }, count);
        oldest.set({ job }, date === undefined ? 0 : Date.parse(`${date}T00:00:00Z`) / 1_000);
      },
      failed({ job, failed, refused }) {
        failedDays.set({ job }, failed);
        refusedDays.set({ job }, refused);
      },
      warned: ({ job, open }) => warned.set({ job }, open.length),
      discovered: ({ job, troubles }) => unsettled.set({ job }, troubles.length),
      'job-planned': ({ job }) => lookedAt.setToCurrentTime({ job }),
      snapshots: ({ job, late }) => lateSnapshots.set({ job }, late.length),
      'look-back-failed': ({ job, times }) => lookBackFailures.set({ job }, times),
      'looked-back'({ job, found }) {
        for (const [state, count] of Object.entries(found)) lookedBack.set({ job, state }, count);
        lookedBackAt.setToCurrentTime({ job });
        lookBackFailures.set({ job }, 0);
      },
      'stuck-backfills': (event) => stuck.set(event.stuck.size),
      'planning-failed': () => failures.inc(),
      'web-login-failed': ({ outcome }) => webFailures.inc({ outcome }),
      lead({ leads }) {
        leader.set(leads ? 1 : 0);
        if (leads !== false) return;
        for (const each of ofLeader) {
          each.reset();
          each.remove({});
        }
      },
    }),
  };
}

/** Gauges whose values are looked up when somebody asks for them. */
function readOnScrape(sources: MetricSources, registers: Registry[]): void {
  type Collect = (gauge: Gauge) => void | Promise<void>;
  const gauge = (name: string, help: string, collect: Collect, labelNames: string[] = []) =>
    new Gauge({
      ...{ name: PREFIX + name, help, labelNames, registers },
      collect() {
        return collect(this);
      },
    });
  const everyone = 'requests that may be in flight now, over all processes that share the credential';
  gauge('cap', everyone, (own) => own.set(sources.concurrencyLimit()));
  gauge('active_vessel_days', 'vessel-days in progress in this process', (own) => own.set(sources.active()));
  const oldestDay = 'age of the oldest vessel-day in progress in this process; 0: none';
  gauge('oldest_vessel_day_seconds', oldestDay, (own) => own.set(sources.oldestVesselDayMs() / 1_000));
  const oldestRequest = 'age of the oldest request in flight in this process; 0: none';
  gauge('oldest_request_seconds', oldestRequest, (own) => own.set(sources.oldestRequestMs() / 1_000));
  gauge(
    'on_hold',
    '1 while the queue is on hold because of a fault that concerns every vessel-day',
    async (own) => {
      const isHeld = await sources.isHeld();
      // No sample where nobody knows: 0 would say that all is well.
      if (isHeld === undefined) own.remove();
      else own.set(isHeld ? 1 : 0);
    },
  );
  const writesHelp = '1 while Redis is reachable and accepts writes; 0 otherwise';
  gauge('redis_takes_writes', writesHelp, async (own) => own.set((await sources.takesWrites()) ? 1 : 0));
  const readDepth: Collect = async (own) => {
    const depth = Object.entries(await sources.depth());
    own.reset();
    for (const [state, count] of depth) own.set({ state }, count);
  };
  gauge('queue_vessel_days', 'vessel-days in the queue by state', readDepth, ['state']);
}
