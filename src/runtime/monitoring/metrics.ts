/** Prometheus metrics of one process: `vessel_export_…`, seconds and bytes. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { VesselDay } from '../../core/model/index.ts';

const PREFIX = 'vessel_export_';

export interface MetricSources {
  /** Requests that may be in flight now, over everyone who shares the credential. */
  readonly concurrencyLimit: () => number;
  /** Vessel-days in the queue by state. */
  readonly depth: () => Promise<Readonly<Record<string, number>>>;
  /** Vessel-days under way in this process. */
  readonly active: () => number;
  /** Age of the oldest of them, and of the oldest request under way; 0 where there is none. */
  readonly oldestVesselDayMs: () => number;
  readonly oldestRequestMs: () => number;
  /** Is Redis in reach, and does it take writes? */
  readonly takesWrites: () => Promise<boolean>;
  /** Undefined while that cannot be known. */
  readonly isHeld: () => Promise<boolean | undefined>;
}

export type Metrics = ReturnType<typeof createMetrics>;

const DAY_SECONDS = [1, 3, 10, 30, 60, 180, 600, 1_800, 3_600, 10_800];
const REQUEST_SECONDS = [0.05, 0.1, 0.3, 1, 3, 10, 30, 120];
const STEP_SECONDS = [0.05, 0.1, 0.3, 1, 3, 10, 30];

export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: PREFIX + name, help, labelNames: [...labelNames], registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: PREFIX + name, help, buckets, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name: PREFIX + name, help, labelNames: [...labelNames], registers });

  const vesselDays = counter('vessel_days_total', 'vessel-days by how they ended', ['job', 'outcome']);
  const rows = counter('rows_total', 'rows published', ['job']);
  const uploadedBytes = counter('uploaded_bytes_total', 'bytes of parts uploaded');
  const requests = counter('requests_total', 'requests to the query service by status; 0: none came', [
    'status',
  ]);
  const rateLimited = counter('rate_limited_total', 'answers 429');
  const daySeconds = histogram('vessel_day_seconds', 'time of a published vessel-day', DAY_SECONDS);
  const requestSeconds = histogram('request_seconds', 'time of a request and its body', REQUEST_SECONDS);
  const encodeSeconds = histogram('encode_seconds', 'time to sort and encode a row group', STEP_SECONDS);
  const uploadSeconds = histogram('upload_seconds', 'time to upload a part', STEP_SECONDS);
  const missingHelp = 'vessel-days that were due when last planned and have no receipt yet';
  const missing = gauge('missing_vessel_days', missingHelp, ['job']);
  const oldest = gauge('oldest_missing_timestamp_seconds', 'start of the oldest missing day; 0: none', [
    'job',
  ]);
  const unsettled = gauge('unsettled_vessels', 'vessels that the last discovery left out or misnamed', [
    'job',
  ]);
  const failedHelp = 'vessel-days that failed for good and stand in the failed set';
  const failedDays = gauge('failed_vessel_days', failedHelp, ['job']);
  const refusedHelp = 'vessel-days that the source has fewer readings of; the published ones stay';
  const refusedDays = gauge('refused_vessel_days', refusedHelp, ['job']);
  const remarked = gauge('remarked_vessels', 'vessels with a remark that nobody has accepted', ['job']);
  const lookedAt = gauge(
    'planned_timestamp_seconds',
    'when the job was last planned, or found to be planned',
    ['job'],
  );
  const failures = counter('planning_failures_total', 'looks of the scheduler at a job that failed');
  const webHelp = 'sign-ins at the page that were wrong, or not looked at while locked out';
  const webFailures = counter('web_login_failures_total', webHelp, ['outcome']);
  const leader = gauge('scheduler_leader', '1 in the scheduler that plans, 0 in those that stand by');
  // Only schedulers say it.
  leader.remove();
  const lookedBack = gauge('look_back_vessel_days', 'vessel-days that the last look-back found, by state', [
    'job',
    'state',
  ]);
  const lookedBackAt = gauge('look_back_timestamp_seconds', 'when the last look-back ended', ['job']);
  const failingHelp = 'look-backs of the job that have failed since one has ended';
  const lookBackFailures = gauge('look_back_failures', failingHelp, ['job']);
  const stuck = gauge('stuck_backfills', 'backfills that could not go on at the last look');
  stuck.remove();
  const lateHelp = 'vessels whose last snapshot of metadata that a schedule asked for was not taken';
  const lateSnapshots = gauge('late_snapshots', lateHelp, ['job']);
  readOnScrape(sources, registers);
  collectDefaultMetrics({ register: registry });

  return {
    /** The exposition text and its content type. */
    read: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
    onRequest({ status = 0, ms }: { readonly status?: number; readonly ms: number }): void {
      requests.inc({ status: String(status) });
      if (status === 429) rateLimited.inc();
      requestSeconds.observe(ms / 1_000);
    },
    /** A vessel-day has ended: `published`, `failed`, `handed-back`, … */
    onVesselDay(
      { job }: Pick<VesselDay, 'job'>,
      outcome: string,
      facts?: { readonly rows?: number | undefined; readonly seconds: number },
    ): void {
      vesselDays.inc({ job, outcome });
      if (outcome !== 'published' || facts === undefined) return;
      rows.inc({ job }, facts.rows ?? 0);
      daySeconds.observe(facts.seconds);
    },
    onEncoded: (seconds: number): void => encodeSeconds.observe(seconds),
    onUploaded(seconds: number, sizeBytes: number): void {
      uploadSeconds.observe(seconds);
      uploadedBytes.inc(sizeBytes);
    },
    /** What planning found missing, or what is left of it: how many vessel-days, and the oldest date. */
    onPlanned(job: string, count: number, date: string | undefined): void {
      missing.set({ job }, count);
      oldest.set({ job }, date === undefined ? 0 : Date.parse(`${date}T00:00:00Z`) / 1_000);
    },
    /** How many vessel-days of a job are in the failed set, and how many are refused, as the lake has it. */
    onFailed(job: string, failed: number, refused: number): void {
      failedDays.set({ job }, failed);
      refusedDays.set({ job }, refused);
    },
    /** How many vessels have a remark that nobody has accepted. */
    onRemarked: (job: string, vessels: number): void => remarked.set({ job }, vessels),
    /** How many vessels the last discovery left out, or named by what is no IMO number. */
    onDiscovered: (job: string, troubles: number): void => unsettled.set({ job }, troubles),
    /** A job was planned, or found to be planned. */
    onLooked: (job: string): void => lookedAt.setToCurrentTime({ job }),
    /** Of how many vessels the last snapshot that a schedule asked for was not taken. */
    onSnapshots: (job: string, late: number): void => lateSnapshots.set({ job }, late),
    /** How many look-backs of a job have failed since one has ended. */
    onLookBackFailed: (job: string, times: number): void => lookBackFailures.set({ job }, times),
    /** Of how many backfills the last look failed. */
    onStuckBackfills: (count: number): void => stuck.set(count),
    /** Something could not be planned. */
    onFailure: (): void => failures.inc(),
    /** Somebody was not let in to the page: the password was `wrong`, or the address `locked` out. */
    onWebLoginFailed: (outcome: 'wrong' | 'locked'): void => webFailures.inc({ outcome }),
    /** Does this process plan? Undefined: it cannot know now. What another plans is that one's to show. */
    onLead(leads: boolean | undefined): void {
      leader.set(leads ? 1 : 0);
      if (leads !== false) return;
      const shownByTheLeader = [missing, oldest, lookedAt, unsettled, remarked, failedDays, refusedDays];
      for (const each of [...shownByTheLeader, lateSnapshots, lookBackFailures]) each.reset();
      stuck.remove();
    },
    /** What a look-back found: vessel-days by state, those of none too. */
    onLookedBack(job: string, counts: Readonly<Record<string, number>>): void {
      for (const [state, count] of Object.entries(counts)) lookedBack.set({ job, state }, count);
      lookedBackAt.setToCurrentTime({ job });
      lookBackFailures.set({ job }, 0);
    },
  };
}

/** Gauges whose values are looked up when somebody asks for them. */
function readOnScrape(sources: MetricSources, registers: Registry[]): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: PREFIX + name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  const everyone = 'requests that may be in flight now, over everyone who shares the credential';
  gauge('cap', everyone, sources.concurrencyLimit);
  gauge('active_vessel_days', 'vessel-days under way in this process', sources.active);
  const oldestDay = 'age of the oldest vessel-day under way in this process; 0: none is';
  gauge('oldest_vessel_day_seconds', oldestDay, () => sources.oldestVesselDayMs() / 1_000);
  const oldestRequest = 'age of the oldest request under way in this process; 0: none is';
  gauge('oldest_request_seconds', oldestRequest, () => sources.oldestRequestMs() / 1_000);
  const onHold = '1 while a fault that concerns every vessel-day holds the queue';
  new Gauge({
    name: `${PREFIX}on_hold`,
    help: onHold,
    registers,
    async collect() {
      const isHeld = await sources.isHeld();
      // No sample where nobody knows: 0 would say that all is well.
      if (isHeld === undefined) this.remove();
      else this.set(isHeld ? 1 : 0);
    },
  });
  new Gauge({
    name: `${PREFIX}redis_takes_writes`,
    help: '1 while Redis is in reach and takes writes; 0 while it is not, or is full or read-only',
    registers,
    async collect() {
      this.set((await sources.takesWrites()) ? 1 : 0);
    },
  });
  new Gauge({
    name: `${PREFIX}queue_vessel_days`,
    help: 'vessel-days in the queue by state',
    labelNames: ['state'],
    registers,
    async collect() {
      const depth = Object.entries(await sources.depth());
      this.reset();
      for (const [state, count] of depth) this.set({ state }, count);
    },
  });
}
