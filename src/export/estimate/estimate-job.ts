/** Estimates an export of a job: the ledger gives the missing days, a few requests their size. */
import { messageOf } from '../../core/errors.ts';
import type { Job } from '../../core/model/index.ts';
import {
  addDays,
  datesBetween,
  durationMsOf,
  formatVesselDay,
  microsToDate,
  momentText,
} from '../../core/model/index.ts';
import { type DayRange, type DayState, isToDo } from '../../core/plan/due.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import { EXPORT_TARGET_WINDOWS, planWindowSlices } from '../../core/plan/time-slices.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import { readPlannedDays } from '../../lake/ledger/planned-days.ts';
import type { RequestStats } from '../../source/fetch/exchange.ts';
import type { VesselTrouble } from '../events.ts';
import { findVessels } from '../job-vessels.ts';
import type { ExportPorts } from '../ports.ts';
import { type CostEstimate, type CostInput, type Experience, estimateCost, type SampledDay } from './cost.ts';
import { sampleDays, type TimedDay, timeFetch } from './sample.ts';

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
  readonly timed: TimedDay | null;
  readonly troubles: readonly VesselTrouble[];
}

/** Maximum of unreadable receipts that are named one by one. */
const SAID_AT_MOST = 20;
/** Days before today whose receipts are used for durations. */
const EXPERIENCE_DAYS = 14;

/** Without vessels: the job's own. Writes nothing, neither to the lake nor to its index. Throws what client and store throw. */
export async function estimateJob(
  ports: ExportPorts,
  job: Job,
  request: DayRange & Pick<CostInput, 'concurrencyLimit' | 'workers' | 'perMinute'>,
  signal: AbortSignal,
  stats: RequestStats,
): Promise<JobPlan> {
  const { from, to, concurrencyLimit, workers, perMinute } = request;
  const { vessels, unlisted, troubles } = await findVessels(ports, job, request, signal, stats);
  const { toDo, states, experience } = await readWorkload(ports, job, { vessels, from, to });
  const sampling = { ports, job, signal, stats };
  // A vessel that is not listed may have nothing to sample.
  const listed = toDo.filter(({ vessel }) => !unlisted.has(vessel));
  const sample = await sampleDays(sampling, listed);
  // A request is timed only if no receipt has a duration.
  const timed = experience === undefined ? await timeFetch(sampling, sample) : undefined;
  const cost = estimateCost({
    dataset: job.dataset,
    toDo: toDo.length,
    sampled: sample.days,
    expressions: job.select.length,
    counted: job.dataset !== 'metadata' && job.verify !== 'off',
    slicesOf: ({ readings, series, date }) => {
      if (job.dataset === 'metadata') return 0;
      if (job.dataset === 'measurements') return Math.max(1, Math.ceil(readings / ports.sliceTargetRows));
      return planWindowSlices(job, date, series, EXPORT_TARGET_WINDOWS).length;
    },
    ...{ experience, timed, latencyMs: sample.latencyMs, concurrencyLimit, workers, perMinute },
  });
  return {
    ...{ job: job.name, from, to, vessels: vessels.length, states, cost, sampled: sample.days },
    ...{ experience: experience ?? null, timed: timed ?? null, troubles },
  };
}

type KnownReceipt = IndexedPart<'rows' | 'started' | 'finished' | 'objectBytes'>;

async function readWorkload(ports: ExportPorts, job: Job, range: DayRange) {
  const today = microsToDate(ports.clock.nowMs() * 1_000);
  const { days, receipts, damaged } = await readPlannedDays(ports, job, range, {
    members: ['rows', 'started', 'finished', 'objectBytes'],
    writeIndex: false,
    moreDates: datesBetween(addDays(today, -EXPERIENCE_DAYS), today),
  });
  for (const { day, error } of damaged.slice(0, SAID_AT_MOST))
    ports.log.warn({ vesselDay: formatVesselDay(day) }, messageOf(error));
  const states: Record<DayState, number> = { missing: 0, stale: 0, done: 0, 'not-due': 0 };
  for (const { state } of days) states[state]++;
  const hash = settingsHash(job, ports.apiVersion);
  const known = [...receipts.values()].filter(({ settingsHash }) => settingsHash === hash);
  return { toDo: days.filter(isToDo).map(({ day }) => day), states, experience: experienceOf(known) };
}

function experienceOf(receipts: readonly KnownReceipt[]): Experience | undefined {
  if (receipts.length === 0) return undefined;
  const sum = (of: (receipt: KnownReceipt) => number) =>
    receipts.reduce((total, receipt) => total + of(receipt), 0);
  return {
    vesselDays: receipts.length,
    rows: sum(({ rows }) => rows),
    sizeBytes: sum(({ objectBytes }) => objectBytes),
    durationMs: sum(({ started, finished }) =>
      durationMsOf({ startedAt: momentText(started), finishedAt: momentText(finished) }),
    ),
  };
}
