/**
 * Reconcile: which vessel-days of a look-back are not what the source has now. Reads the ledger, asks for totals
 * by day, and compares; what differs is asked once more by the hour, as an export would ask. Writes nothing but
 * the ledger's index.
 */
import { DataError, HttpStatusError, messageOf, RetriableError, type VesselExportError } from '../errors.ts';
import type { RequestStats } from '../fetch/exchange.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { Job, VesselDay } from '../model/index.ts';
import { datesBetween, dateToMicros, MICROS_PER_DAY, receiptKey } from '../model/index.ts';
import { planVesselDays } from '../plan/due.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import { forEachAtOnce } from '../publish/at-once.ts';
import { readLedger } from '../publish/ledger-index.ts';
import { totalsDigest } from '../verify/day-totals.ts';
import type { ReconciledReceipt, ReconcileFinding } from './compare-day.ts';
import { compareDay, isUnchanged } from './compare-day.ts';
import { findVessels } from './export-jobs.ts';
import type { LookbackTotals, LookbackVessel } from './lookback.ts';
import { askLookback, groupVessels } from './lookback.ts';
import type { ExportPorts } from './ports.ts';
import { resolveSeries } from './source.ts';
import type { SourceContext } from './source-context.ts';

export interface ReconcileRequest {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** In the place of the job's own vessels; empty: its own. */
  readonly vessels: readonly string[];
  /** Vessels asked for at once. */
  readonly concurrency: number;
}

/** A vessel that could not be asked for: nothing is known of its days. */
export interface UnaskedVessel {
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
  /** Vessel-days whose receipts were compared with the source. */
  readonly compared: number;
  /** What differs, by date and vessel. */
  readonly findings: readonly ReconcileFinding[];
  readonly unasked: readonly UnaskedVessel[];
}

/** Vessels whose series are held at once. */
const VESSELS_AT_ONCE = 64;

/** Compare one job's look-back with the source. Throws what every vessel would meet too. */
export async function reconcileJob(
  ports: ExportPorts,
  job: Job,
  request: ReconcileRequest,
  signal: AbortSignal,
  stats: RequestStats = createRequestStats(),
): Promise<JobReconciliation> {
  const base = { job: job.name, from: request.from, to: request.to };
  const reason = whyNot(job);
  if (reason !== null) return { ...base, reason, vessels: 0, compared: 0, findings: [], unasked: [] };
  const vessels = request.vessels.length > 0 ? request.vessels : await findVessels(ports, job, signal, stats);
  const { findings, toCompare, compared } = await readState(ports, job, { ...request, vessels });
  const unasked: UnaskedVessel[] = [];
  const open: Open = { ports, job, signal, stats, findings, unasked, toCompare };
  const names = [...toCompare.keys()];
  for (let at = 0; at < names.length; at += VESSELS_AT_ONCE)
    await compareVessels(open, names.slice(at, at + VESSELS_AT_ONCE), request.concurrency);
  const order = (a: VesselDay, b: VesselDay) =>
    a.date < b.date || (a.date === b.date && a.vessel < b.vessel) ? -1 : 1;
  findings.sort((a, b) => order(a.day, b.day));
  return { ...base, reason: null, vessels: vessels.length, compared, findings, unasked };
}

function whyNot(job: Job): string | null {
  if (job.dataset === 'metadata') return 'metadata has no history at the service: nothing to compare with';
  if (job.verify === 'off')
    return "verify: off asks no statistics, so nothing is known to compare with; use 'exact' or 'at-least'";
  return null;
}

/** What the ledger says: what is not published at all, and the receipts to compare, by vessel. */
interface LedgerState {
  readonly findings: ReconcileFinding[];
  readonly toCompare: ReadonlyMap<string, ReadonlyMap<string, ReconciledReceipt>>;
  readonly compared: number;
}

async function readState(
  ports: ExportPorts,
  job: Job,
  range: { readonly vessels: readonly string[]; readonly from: string; readonly to: string },
): Promise<LedgerState> {
  const { receipts, damaged } = await readLedger<ReconciledReceipt>({
    store: ports.store,
    job: job.name,
    dates: datesBetween(range.from, range.to),
    vessels: new Set(range.vessels),
    writeIndex: true,
    log: ports.log,
    project: ({ settingsHash, rows, epoch, proof, finishedAt, source, detail }) => ({
      settingsHash,
      rows,
      epoch,
      proof,
      finishedAt,
      source,
      detail,
    }),
  });
  const broken = new Map(damaged.map(({ day, error }) => [receiptKey(day), error]));
  const findings: ReconcileFinding[] = [];
  const toCompare = new Map<string, Map<string, ReconciledReceipt>>();
  let compared = 0;
  const receiptOf = (day: VesselDay) => receipts.get(receiptKey(day));
  const planned = planVesselDays({
    ...range,
    job,
    nowMs: ports.clock.nowMs(),
    settingsHash: settingsHash(job, ports.apiVersion),
    receiptOf,
  });
  for (const { day, state } of planned) {
    const receipt = receiptOf(day);
    const fault = broken.get(receiptKey(day));
    const plain = { day, changes: [], published: null, now: null };
    if (fault !== undefined) findings.push({ ...plain, state: 'unreadable', message: fault.message });
    else if (state === 'missing') findings.push({ ...plain, state, message: 'never published' });
    else if (state === 'stale')
      findings.push({ ...plain, state, message: 'published with other settings of the job' });
    else if (receipt !== undefined) {
      const days = toCompare.get(day.vessel) ?? new Map<string, ReconciledReceipt>();
      toCompare.set(day.vessel, days.set(day.date, receipt));
      compared++;
    }
  }
  return { findings, toCompare, compared };
}

interface Open {
  readonly ports: ExportPorts;
  readonly job: Job;
  readonly signal: AbortSignal;
  readonly stats: RequestStats;
  readonly findings: ReconcileFinding[];
  readonly unasked: UnaskedVessel[];
  readonly toCompare: LedgerState['toCompare'];
}

function contextOf({ ports, job, signal, stats }: Open, vessel: string, date: string): SourceContext {
  const day = { job: job.name, vessel, date };
  return { client: ports.client, job, day, log: ports.log, signal, stats };
}

/** Resolve the series of some vessels, ask for their totals in as few requests as may be, and compare. */
async function compareVessels(open: Open, names: readonly string[], concurrency: number): Promise<void> {
  const vessels: LookbackVessel[] = [];
  await forEachAtOnce(names, concurrency, async (vessel) => {
    const dates = [...open.toCompare.get(vessel)!.keys()].sort();
    await orUnasked(open, [vessel], async () => {
      const { idOf, expressions } = await resolveSeries(contextOf(open, vessel, dates[0]!));
      const range = {
        fromMicros: dateToMicros(dates[0]!),
        toMicros: dateToMicros(dates.at(-1)!) + MICROS_PER_DAY,
      };
      vessels.push({ vessel, series: { idOf, expressions }, range });
    });
  });
  // Answers come in any order; requests are to be the same every time.
  vessels.sort((a, b) => (a.vessel < b.vessel ? -1 : 1));
  await forEachAtOnce(groupVessels(vessels), concurrency, async (group) => {
    const [first] = group;
    await orUnasked(
      open,
      group.map(({ vessel }) => vessel),
      async () => {
        const dates = open.toCompare.get(first!.vessel)!.keys();
        const context = contextOf(open, first!.vessel, dates.next().value!);
        const totals = await askLookback(context, group);
        for (const vessel of group) await compareVessel(open, vessel, totals);
      },
    );
  });
}

/** What one vessel meets does not keep the others from being compared. */
async function orUnasked(open: Open, vessels: readonly string[], ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    const ofThese =
      error instanceof DataError || error instanceof HttpStatusError || error instanceof RetriableError;
    if (!ofThese || open.signal.aborted) throw error;
    const { code } = error as VesselExportError;
    for (const vessel of vessels) open.unasked.push({ vessel, code, message: messageOf(error) });
  }
}

async function compareVessel(open: Open, vessel: LookbackVessel, totals: LookbackTotals): Promise<void> {
  for (const [date, receipt] of open.toCompare.get(vessel.vessel)!) {
    const now = totals.of(vessel.vessel, date)!;
    const digest = totalsDigest(now);
    if (isUnchanged(receipt, digest)) continue;
    const context = contextOf(open, vessel.vessel, date);
    const finding = await compareDay(open.ports, context, vessel.series, receipt, { now, digest });
    if (finding !== undefined) open.findings.push(finding);
  }
}
