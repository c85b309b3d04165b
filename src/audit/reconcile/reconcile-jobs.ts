/**
 * Reconcile: which vessel-days of a look-back are not what the source has now. Reads the ledger, asks for totals
 * by day, and compares; what differs is asked once more by the hour, as an export would ask. Writes nothing but
 * the ledger's index.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { DataError, HttpStatusError, messageOf, RetriableError } from '../../core/errors.ts';
import type { Job, VesselDay } from '../../core/model/index.ts';
import { datesBetween, dateToMicros, MICROS_PER_DAY } from '../../core/model/index.ts';
import type { DayRange } from '../../core/plan/due.ts';
import { totalsDigest } from '../../core/proof/day-totals.ts';
import { findVessels } from '../../export/job-vessels.ts';
import type { ExportPorts } from '../../export/ports.ts';
import { DayMap } from '../../lake/ledger/day-map.ts';
import { readLedger } from '../../lake/ledger/ledger-index.ts';
import { plannedDays } from '../../lake/ledger/planned-days.ts';
import { createSourceContext, type SourceContext } from '../../source/context.ts';
import { createRequestStats, type RequestStats } from '../../source/fetch/exchange.ts';
import type { FailureStreak } from '../../source/fetch/retry.ts';
import { resolveSeries } from '../../source/series.ts';
import type { LookbackTotals, LookbackVessel } from '../../source/totals-by-day.ts';
import { askLookback, groupVessels } from '../../source/totals-by-day.ts';
import type { PublishedDay, ReconcileFinding } from './compare-day.ts';
import { findDifference, PUBLISHED_MEMBERS } from './compare-day.ts';

/** A vessel that could not be asked for, by its name or, cleaned, by what is none: nothing is known of its days. */
interface UnaskedVessel {
  readonly vessel: string;
  readonly code: string;
  readonly message: string;
}

export interface JobReconciliation {
  readonly job: string;
  readonly from: string;
  readonly to: string;
  /** Why the job cannot be reconciled; null when it can. */
  readonly reason: string | null;
  readonly vessels: number;
  /** Vessel-days whose receipts were compared with the source, and those that could not be. */
  readonly compared: number;
  readonly notCompared: number;
  readonly findings: readonly ReconcileFinding[];
  readonly unasked: readonly UnaskedVessel[];
  readonly wasCompared: (day: VesselDay) => boolean;
  readonly unlisted: ReadonlySet<string>;
}

/** Vessels whose series and totals are held at once. */
const VESSELS_HELD = 64;

const NOTHING_ASKED = {
  ...{ vessels: 0, compared: 0, notCompared: 0, findings: [], unasked: [] },
  wasCompared: () => false,
  unlisted: new Set<string>(),
};

/** Compare one job's look-back with the source. Throws what every vessel would meet too. */
export async function reconcileJob(
  ports: ExportPorts,
  job: Job,
  request: DayRange & { readonly concurrency: number },
  signal: AbortSignal,
  stats: RequestStats = createRequestStats(),
): Promise<JobReconciliation> {
  const { from, to, concurrency } = request;
  const base = { job: job.name, from, to };
  const reason = whyIncomparable(job);
  if (reason !== null) return { ...base, reason, ...NOTHING_ASKED };
  const { vessels, unlisted, troubles } = await findVessels(ports, job, request, signal, stats);
  const { findings, toCompare, published } = await readToCompare(ports, job, { vessels, from, to });
  // A vessel that is not listed is asked for by its name, like the others.
  const unasked: UnaskedVessel[] = troubles.filter(({ code }) => code === 'malformed-imo');
  const contextOf = (vessel: string, date: string) =>
    createSourceContext(ports, job, { job: job.name, vessel, date }, signal, stats);
  const found = { findings, toCompare, published, unasked, compared: 0 };
  const lookback: Lookback = { ports, contextOf, signal, concurrency, ...found };
  const names = [...toCompare.keys()];
  for (let at = 0; at < names.length; at += VESSELS_HELD)
    await compareTotals(lookback, await resolveVessels(lookback, names.slice(at, at + VESSELS_HELD)));
  const placeOf = ({ day }: ReconcileFinding) => `${day.date}/${day.vessel}`;
  findings.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const { compared } = lookback;
  const notCompared = [...toCompare.values()].reduce((sum, dates) => sum + dates.length, 0) - compared;
  const counts = { vessels: vessels.length, compared, notCompared };
  const silent = new Set(unasked.map(({ vessel }) => vessel));
  const wasCompared = ({ vessel, date }: VesselDay) =>
    !silent.has(vessel) && toCompare.get(vessel)?.includes(date) === true;
  return { ...base, reason: null, ...counts, findings, unasked, wasCompared, unlisted };
}

function whyIncomparable(job: Job): string | null {
  if (job.dataset === 'metadata') return 'metadata has no history at the service: nothing to compare with';
  if (job.verify === 'off')
    return "verify: off requests no statistics, so there is nothing to compare with; use 'exact' or 'at-least'";
  return null;
}

/** What the ledger says: what is not published at all, and what to compare. */
interface LedgerFindings {
  readonly findings: ReconcileFinding[];
  readonly toCompare: ReadonlyMap<string, readonly string[]>;
  readonly published: Pick<DayMap<PublishedDay>, 'get'>;
}

async function readToCompare(ports: ExportPorts, job: Job, range: DayRange): Promise<LedgerFindings> {
  const { store, log } = ports;
  const { receipts: published, damaged } = await readLedger({
    ...{ store, log, job: job.name, vessels: new Set(range.vessels), writeIndex: true },
    dates: datesBetween(range.from, range.to),
    members: PUBLISHED_MEMBERS,
  });
  const faults = new DayMap<DataError>();
  for (const { day, error } of damaged) faults.set(day, error);
  const findings: ReconcileFinding[] = [];
  const toCompare = new Map<string, string[]>();
  for (const { day, state, receipt } of plannedDays(ports, job, range, published)) {
    const fault = faults.get(day);
    const plain = { day, changes: [], published: null, now: null };
    if (fault !== undefined) findings.push({ ...plain, state: 'unreadable', message: fault.message });
    else if (state === 'missing') findings.push({ ...plain, state, message: 'never published' });
    else if (state === 'stale')
      findings.push({
        ...plain,
        state,
        message: 'published with other settings of the job, or with a weaker proof than it requires now',
      });
    else if (receipt !== undefined) {
      const dates = toCompare.get(day.vessel) ?? [];
      toCompare.set(day.vessel, dates);
      if (dates.at(-1) !== day.date) dates.push(day.date);
    }
  }
  return { findings, toCompare, published };
}

interface Lookback extends LedgerFindings {
  readonly ports: ExportPorts;
  readonly contextOf: (vessel: string, date: string) => SourceContext;
  readonly signal: AbortSignal;
  readonly concurrency: number;
  readonly unasked: UnaskedVessel[];
  /** The row of failures that ended the group before. */
  ended?: FailureStreak | undefined;
  compared: number;
}

/** The series of vessels, in a fixed order: answers come in any, and requests are to be the same every time. */
async function resolveVessels(lookback: Lookback, names: readonly string[]): Promise<LookbackVessel[]> {
  const { contextOf, toCompare, concurrency } = lookback;
  const vessels: LookbackVessel[] = [];
  await forEachAtOnce(names, concurrency, async (vessel) => {
    const dates = toCompare.get(vessel)!;
    await orUnasked(lookback, [vessel], async () => {
      const { idOf, expressions } = await resolveSeries(contextOf(vessel, dates[0]!));
      const range = {
        fromMicros: dateToMicros(dates[0]!),
        toMicros: dateToMicros(dates.at(-1)!) + MICROS_PER_DAY,
      };
      vessels.push({ vessel, series: { idOf, expressions }, range });
    });
  });
  return vessels.sort((a, b) => (a.vessel < b.vessel ? -1 : 1));
}

/** Ask for the totals of vessels in as few requests as may be, and compare. */
async function compareTotals(lookback: Lookback, vessels: readonly LookbackVessel[]): Promise<void> {
  const { contextOf, toCompare, concurrency } = lookback;
  await forEachAtOnce(groupVessels(vessels), concurrency, async (group) => {
    const members = group.map(({ vessel }) => vessel);
    await orUnasked(lookback, members, async () => {
      const [firstDate] = toCompare.get(members[0]!)!;
      const context = contextOf(members[0]!, firstDate!);
      // Where requests of another group have failed to the end, one that fails too says enough.
      if (lookback.ended !== undefined) Object.assign(context.streak, lookback.ended, { isOver: false });
      const totals = await askLookback(context, group).finally(() => {
        lookback.ended = context.streak.isOver ? context.streak : undefined;
      });
      for (const one of group)
        await orUnasked(lookback, [one.vessel], () => compareVessel(lookback, one, totals));
    });
  });
}

/** What one vessel meets does not keep the others from being compared. */
async function orUnasked(
  { unasked, signal }: Lookback,
  vessels: readonly string[],
  ask: () => Promise<void>,
): Promise<void> {
  try {
    await ask();
  } catch (error) {
    const ofThese =
      error instanceof DataError || error instanceof HttpStatusError || error instanceof RetriableError;
    if (!ofThese || signal.aborted) throw error;
    for (const vessel of vessels) unasked.push({ vessel, code: error.code, message: messageOf(error) });
  }
}

async function compareVessel(
  lookback: Lookback,
  { vessel, series }: LookbackVessel,
  totals: LookbackTotals,
): Promise<void> {
  const { ports, contextOf, findings, toCompare, published } = lookback;
  for (const date of toCompare.get(vessel)!) {
    const receipt = published.get({ vessel, date })!;
    const now = totals(vessel, date)!;
    const digest = totalsDigest(now);
    // The cheap comparison is all that an unchanged day needs.
    if (receipt.totalsSha256 !== digest) {
      const counted = { now, digest };
      const finding = await findDifference(ports, contextOf(vessel, date), series, receipt, counted);
      if (finding !== undefined) findings.push(finding);
    }
    lookback.compared++;
  }
}
