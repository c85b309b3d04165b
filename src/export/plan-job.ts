/** What an export of a job would take: the ledger says what is to do, a few questions how large it is. */
import { parseInt64Text } from '../decode/index.ts';
import { HttpStatusError } from '../errors.ts';
import type { RequestStats } from '../fetch/exchange.ts';
import type { Job, Receipt, VesselDay } from '../model/index.ts';
import {
  addDays,
  datesBetween,
  dayRange,
  MICROS_PER_HOUR,
  microsToDate,
  receiptKey,
} from '../model/index.ts';
import type { CostEstimate, Experience, SampledDay, TimedFetch } from '../plan/cost.ts';
import { estimateCost, spread } from '../plan/cost.ts';
import type { DayState } from '../plan/due.ts';
import { planVesselDays } from '../plan/due.ts';
import { planWindowPages } from '../plan/pages.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import { forEachAtOnce } from '../publish/at-once.ts';
import { readLedger } from '../publish/ledger-index.ts';
import { findVessels } from './export-jobs.ts';
import type { ExportPorts } from './ports.ts';
import { askStatistics, resolveSeries } from './source.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';
import { PAGE_TARGET_WINDOWS } from './windows.ts';

export interface PlanRequest {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** In the place of the job's own vessels; empty: its own. */
  readonly vessels: readonly string[];
  readonly cap: number;
  readonly workers: number;
  readonly perMinute: number;
}

export interface JobPlan {
  readonly job: string;
  readonly from: string;
  readonly to: string;
  readonly vessels: number;
  readonly states: Readonly<Record<DayState, number>>;
  readonly cost: CostEstimate;
  readonly sampled: readonly SampledDay[];
  /** Vessel-days whose receipts say how long they took and how large they are. */
  readonly experience: Experience | null;
  readonly timed: (TimedFetch & { readonly vessel: string; readonly date: string }) | null;
}

const SAMPLED_VESSELS = 8;
const SAMPLED_DATES = 6;
/** Receipts before today that may tell how long a day takes. */
const EXPERIENCE_DAYS = 14;

/** Writes nothing, neither to the lake nor to its index. Throws what the client and the store throw. */
export async function planJob(
  ports: ExportPorts,
  job: Job,
  request: PlanRequest,
  signal: AbortSignal,
  stats: RequestStats,
): Promise<JobPlan> {
  const vessels = request.vessels.length > 0 ? request.vessels : await findVessels(ports, job, signal, stats);
  const { toDo, states, experience } = await readLedgerState(ports, job, { ...request, vessels });
  const sample: Sample = { ports, job, signal, stats, expressionsOf: new Map() };
  const { days, latencyMs } = await sampleDays(sample, toDo);
  const timed = experience === undefined ? await timeFetch(sample, days) : undefined;
  const windowMicros = job.windowMicros;
  const cost = estimateCost({
    dataset: job.dataset,
    toDo: toDo.length,
    sampled: days,
    expressions: job.select.length,
    counted: job.dataset !== 'metadata' && job.verify !== 'off',
    pagesOf: ({ readings, series, date }) => {
      if (job.dataset === 'metadata') return 0;
      if (windowMicros === undefined) return Math.max(1, Math.ceil(readings / ports.pageTargetRows));
      return planWindowPages(dayRange(date), windowMicros, series, PAGE_TARGET_WINDOWS).length;
    },
    experience,
    timed,
    latencyMs,
    cap: request.cap,
    workers: request.workers,
    perMinute: request.perMinute,
  });
  return {
    job: job.name,
    from: request.from,
    to: request.to,
    vessels: vessels.length,
    states,
    cost,
    sampled: days,
    experience: experience ?? null,
    timed: timed ?? null,
  };
}

type KnownReceipt = Pick<Receipt, 'settingsHash' | 'rows' | 'startedAt' | 'finishedAt'> & {
  sizeBytes: number;
};

async function readLedgerState(
  ports: ExportPorts,
  job: Job,
  range: { readonly vessels: readonly string[]; readonly from: string; readonly to: string },
): Promise<{ toDo: VesselDay[]; states: Record<DayState, number>; experience: Experience | undefined }> {
  const nowMs = ports.clock.nowMs();
  const hash = settingsHash(job, ports.apiVersion);
  const today = microsToDate(nowMs * 1_000);
  const recent = datesBetween(addDays(today, -EXPERIENCE_DAYS), today);
  const { receipts, damaged } = await readLedger<KnownReceipt>({
    store: ports.store,
    job: job.name,
    dates: [...new Set([...datesBetween(range.from, range.to), ...recent])].sort(),
    vessels: new Set(range.vessels),
    writeIndex: false,
    log: ports.log,
    project: ({ settingsHash, rows, startedAt, finishedAt, object }) => ({
      settingsHash,
      rows,
      startedAt,
      finishedAt,
      sizeBytes: object?.sizeBytes ?? 0,
    }),
  });
  if (damaged[0] !== undefined) throw damaged[0].error;
  const receiptOf = (day: VesselDay) => receipts.get(receiptKey(day));
  const planned = planVesselDays({ ...range, job, nowMs, settingsHash: hash, receiptOf });
  const states: Record<DayState, number> = { missing: 0, stale: 0, done: 0, 'not-due': 0 };
  for (const { state } of planned) states[state]++;
  const toDo = planned.filter(({ state }) => state === 'missing' || state === 'stale').map(({ day }) => day);
  const known = [...receipts.values()].filter(({ settingsHash }) => settingsHash === hash);
  return { toDo, states, experience: experienceOf(known) };
}

function experienceOf(receipts: readonly KnownReceipt[]): Experience | undefined {
  if (receipts.length === 0) return undefined;
  const sum = (of: (receipt: KnownReceipt) => number) => receipts.reduce((total, one) => total + of(one), 0);
  return {
    vesselDays: receipts.length,
    rows: sum(({ rows }) => rows),
    sizeBytes: sum(({ sizeBytes }) => sizeBytes),
    durationMs: sum(({ startedAt, finishedAt }) => Date.parse(finishedAt) - Date.parse(startedAt)),
  };
}

interface Sample {
  readonly ports: ExportPorts;
  readonly job: Job;
  readonly signal: AbortSignal;
  readonly stats: RequestStats;
  /** Of the vessels that were sampled. */
  readonly expressionsOf: Map<string, readonly string[]>;
}

function contextOf({ ports, job, signal, stats }: Sample, day: VesselDay): SourceContext {
  return { client: ports.client, job, day, log: ports.log, signal, stats };
}

/** Ask for the counts of a few vessel-days, evenly spread over vessels and dates. */
async function sampleDays(
  sample: Sample,
  toDo: readonly VesselDay[],
): Promise<{ days: SampledDay[]; latencyMs: number }> {
  const { clock } = sample.ports;
  const byVessel = Map.groupBy(toDo, ({ vessel }) => vessel);
  const days: SampledDay[] = [];
  let durationMs = 0;
  let questions = 0;
  await forEachAtOnce(spread([...byVessel.keys()].sort(), SAMPLED_VESSELS), 1, async (vessel) => {
    const asked = spread(byVessel.get(vessel)!, SAMPLED_DATES);
    const startedMs = clock.monotonicMs();
    const series = await resolveSeries(contextOf(sample, asked[0]!));
    sample.expressionsOf.set(vessel, series.expressions);
    for (const day of asked) days.push(await sampleDay(contextOf(sample, day), series));
    durationMs += clock.monotonicMs() - startedMs;
    questions += sample.job.select.length + (sample.job.dataset === 'metadata' ? 0 : asked.length);
  });
  return { days, latencyMs: questions === 0 ? 0 : durationMs / questions };
}

async function sampleDay(context: SourceContext, series: ResolvedSeries): Promise<SampledDay> {
  const { job, day } = context;
  const { vessel, date } = day;
  if (job.dataset === 'metadata')
    return { vessel, date, readings: 0, rows: series.idOf.size, series: series.idOf.size };
  const range = dayRange(date);
  let found = { readings: 0, windows: 0 };
  await askStatistics(
    context,
    {
      expressions: series.expressions,
      range,
      aggregations: ['count'],
      window: job.window ?? '1d',
      windowEdges: 'whole',
    },
    () => {
      found = { readings: 0, windows: 0 };
      return {
        add: ({ timestampMicros, values }) => {
          const text = values.get('count');
          if (text === undefined || text === 'null') return;
          if (timestampMicros < range.fromMicros || timestampMicros >= range.toMicros) return;
          const count = parseInt64Text(text);
          found.readings += count;
          if (count > 0) found.windows++;
        },
        end: () => {},
      };
    },
  );
  const rows = job.dataset === 'statistics' ? found.windows : found.readings;
  return { vessel, date, readings: found.readings, rows, series: series.idOf.size };
}

/** Time one request for an hour of readings of the largest sampled day, where no receipt says how long days take. */
async function timeFetch(
  sample: Sample,
  days: readonly SampledDay[],
): Promise<(TimedFetch & { vessel: string; date: string }) | undefined> {
  const largest = days.reduce<SampledDay | undefined>(
    (most, day) => (day.readings > (most?.readings ?? 0) ? day : most),
    undefined,
  );
  if (sample.job.dataset !== 'measurements' || largest === undefined) return undefined;
  const { vessel, date } = largest;
  const expressions = sample.expressionsOf.get(vessel)!;
  const { fromMicros } = dayRange(date);
  const noon = fromMicros + 12 * MICROS_PER_HOUR;
  const range = { fromMicros: noon, toMicros: noon + MICROS_PER_HOUR };
  const { clock, client } = sample.ports;
  const startedMs = clock.monotonicMs();
  let lines = 0;
  try {
    await client.exchange(
      () => ({ family: 'measurements', expressions, format: 'ndjson', range, outputDomain: 'id' }),
      async ({ body }) => {
        lines = 0;
        for await (const chunk of body) lines += countLines(chunk);
      },
      { signal: sample.signal, stats: sample.stats },
    );
  } catch (error) {
    // Some answer 404 where there is nothing.
    if (error instanceof HttpStatusError && error.status === 404) return undefined;
    throw error;
  }
  return { vessel, date, rows: lines, durationMs: clock.monotonicMs() - startedMs };
}

function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) lines++;
  return lines;
}
