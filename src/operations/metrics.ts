/** Prometheus metrics of one process: `vessel_export_…`, seconds and bytes. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { VesselDay } from '../model/index.ts';

const PREFIX = 'vessel_export_';

export interface MetricSources {
  /** Requests that may be in flight now, over everyone who shares the credential. */
  readonly cap: () => number;
  /** Vessel-days in the queue by state. */
  readonly depth: () => Promise<Readonly<Record<string, number>>>;
  /** Vessel-days under way in this process. */
  readonly active?: () => number;
  readonly isHeld: () => boolean;
}

export interface Metrics {
  /** The exposition text and its content type. */
  read(): Promise<{ text: string; contentType: string }>;
  onRequest(report: { readonly status?: number; readonly ms: number }): void;
  /** A vessel-day has ended: `published`, `failed`, `handed-back`, … */
  onVesselDay(day: Pick<VesselDay, 'job'>, outcome: string, facts?: VesselDayFacts): void;
  onEncoded(seconds: number): void;
  onUploaded(seconds: number, sizeBytes: number): void;
  /** What planning found missing: how many vessel-days, and the oldest date. */
  onPlanned(job: string, missing: number, oldest: string | undefined): void;
  /** What a look-back found: vessel-days by state, those of none too. */
  onLookedBack(job: string, found: Readonly<Record<string, number>>): void;
}

export interface VesselDayFacts {
  readonly rows?: number | undefined;
  readonly seconds?: number | undefined;
}

const DAY_SECONDS = [1, 3, 10, 30, 60, 180, 600, 1_800, 3_600, 10_800];
const REQUEST_SECONDS = [0.05, 0.1, 0.3, 1, 3, 10, 30, 120];
const STEP_SECONDS = [0.05, 0.1, 0.3, 1, 3, 10, 30];

export function createMetrics(sources: MetricSources): Metrics {
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
  const missing = gauge('missing_vessel_days', 'vessel-days due and without receipt, as last planned', [
    'job',
  ]);
  const oldest = gauge('oldest_missing_timestamp_seconds', 'start of the oldest missing day; 0: none', [
    'job',
  ]);
  const lookedBack = gauge('look_back_vessel_days', 'vessel-days that the last look-back found, by state', [
    'job',
    'state',
  ]);
  const lookedBackAt = gauge('look_back_timestamp_seconds', 'when the last look-back ended', ['job']);
  readOnScrape(sources, registers);
  collectDefaultMetrics({ register: registry });

  return {
    read: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
    onRequest({ status = 0, ms }) {
      requests.inc({ status: String(status) });
      if (status === 429) rateLimited.inc();
      requestSeconds.observe(ms / 1_000);
    },
    onVesselDay({ job }, outcome, facts = {}) {
      vesselDays.inc({ job, outcome });
      if (outcome !== 'published') return;
      rows.inc({ job }, facts.rows ?? 0);
      if (facts.seconds !== undefined) daySeconds.observe(facts.seconds);
    },
    onEncoded: (seconds) => encodeSeconds.observe(seconds),
    onUploaded(seconds, sizeBytes) {
      uploadSeconds.observe(seconds);
      uploadedBytes.inc(sizeBytes);
    },
    onPlanned(job, count, date) {
      missing.set({ job }, count);
      oldest.set({ job }, date === undefined ? 0 : Date.parse(`${date}T00:00:00Z`) / 1_000);
    },
    onLookedBack(job, found) {
      for (const [state, count] of Object.entries(found)) lookedBack.set({ job, state }, count);
      lookedBackAt.setToCurrentTime({ job });
    },
  };
}

/** Gauges whose values are looked up when somebody asks for them. */
function readOnScrape(sources: MetricSources, registers: Registry[]): void {
  new Gauge({
    name: `${PREFIX}cap`,
    help: 'requests that may be in flight now, over everyone who shares the credential',
    registers,
    collect() {
      this.set(sources.cap());
    },
  });
  new Gauge({
    name: `${PREFIX}active_vessel_days`,
    help: 'vessel-days under way in this process',
    registers,
    collect() {
      this.set(sources.active?.() ?? 0);
    },
  });
  new Gauge({
    name: `${PREFIX}on_hold`,
    help: '1 while a fault that concerns every vessel-day holds the queue',
    registers,
    collect() {
      this.set(sources.isHeld() ? 1 : 0);
    },
  });
  new Gauge({
    name: `${PREFIX}queue_vessel_days`,
    help: 'vessel-days in the queue by state',
    labelNames: ['state'],
    registers,
    async collect() {
      for (const [state, count] of Object.entries(await sources.depth())) this.set({ state }, count);
    },
  });
}
