/** What the lake says of a job's vessel-days: receipts, notes and claims. Nothing is asked of the service. */
import { messageOf } from '../errors.ts';
import type { Job, Note, VesselDay } from '../model/index.ts';
import {
  addDays,
  datesBetween,
  formatVesselDay,
  microsToDate,
  noteKey,
  parseClaimKey,
  parseReceiptKey,
  receiptKey,
} from '../model/index.ts';
import type { Coverage, CoveredReceipt } from '../plan/coverage.ts';
import { coverageOf } from '../plan/coverage.ts';
import { planVesselDays } from '../plan/due.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import { forEachAtOnce } from '../publish/at-once.ts';
import { isLive, readClaims } from '../publish/claim.ts';
import { lastReceiptDates, readNote } from '../publish/ledger.ts';
import type { LedgerAnswer } from '../publish/ledger-index.ts';
import { readLedger } from '../publish/ledger-index.ts';
import type { ExportPorts } from './ports.ts';

export type StatusPorts = Pick<ExportPorts, 'store' | 'clock' | 'self' | 'log' | 'apiVersion'>;

export interface StatusRequest {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Undefined: those that the lake knows on these dates. */
  readonly vessels: readonly string[] | undefined;
}

export interface JobStatus {
  readonly vessels: readonly string[];
  /** By date and then vessel. */
  readonly cells: readonly Coverage[];
  /** How many receipts were fetched, and how many the index knew. */
  readonly fetched: number;
  readonly fromIndex: number;
}

const GETS_AT_ONCE = 32;

/** Throws what the store throws; files that cannot be read are failed vessel-days. */
export async function readJobStatus(
  ports: StatusPorts,
  job: Job,
  request: StatusRequest,
): Promise<JobStatus> {
  const dates = datesBetween(request.from, request.to);
  const only = request.vessels === undefined ? {} : { vessels: new Set(request.vessels) };
  const isAsked = ({ date, vessel }: VesselDay) =>
    date >= request.from && date < request.to && only.vessels?.has(vessel) !== false;
  const ledger = await readLedger<CoveredReceipt>({
    store: ports.store,
    job: job.name,
    dates,
    ...only,
    writeIndex: true,
    log: ports.log,
    project: ({ settingsHash, rows, finishedAt }) => ({ settingsHash, rows, finishedAt }),
  });
  const claims = await readClaimStates(ports, job, isAsked);
  const notes = await readNotes(ports, job, isAsked);
  for (const { day, error } of ledger.damaged) notes.set(noteKey(day), damagedNote(day, error));
  const vessels = request.vessels ?? vesselsIn(ledger, [...claims.values(), ...notes.values()]);
  const cells = await coverDays(ports, job, { ...request, vessels }, { ledger, claims, notes });
  return { vessels, cells, fetched: ledger.fetched, fromIndex: ledger.fromIndex };
}

interface LakeFacts {
  readonly ledger: LedgerAnswer<CoveredReceipt>;
  /** By receipt key. */
  readonly claims: ReadonlyMap<string, VesselDay & { readonly state: 'live' | 'left' }>;
  /** By note key. */
  readonly notes: ReadonlyMap<string, Note>;
}

async function coverDays(
  ports: StatusPorts,
  job: Job,
  range: { readonly vessels: readonly string[]; readonly from: string; readonly to: string },
  { ledger, claims, notes }: LakeFacts,
): Promise<Coverage[]> {
  const nowMs = ports.clock.nowMs();
  const planned = planVesselDays({
    ...range,
    job,
    nowMs,
    settingsHash: settingsHash(job, ports.apiVersion),
    receiptOf: (day) => ledger.receipts.get(receiptKey(day)),
  });
  const captured = job.dataset === 'metadata' ? await capturedVessels(ports, job, nowMs) : undefined;
  return planned.map(({ day, state }) =>
    coverageOf({
      day,
      // A snapshot that equals the last one leaves no trace.
      planned: state === 'missing' && captured?.has(day.vessel) === true ? 'not-due' : state,
      receipt: ledger.receipts.get(receiptKey(day)),
      note: notes.get(noteKey(day)),
      claim: claims.get(receiptKey(day))?.state,
    }),
  );
}

/** Vessels that have a snapshot. */
async function capturedVessels(ports: StatusPorts, job: Job, nowMs: number): Promise<Map<string, string>> {
  return await lastReceiptDates(ports.store, job.name, addDays(microsToDate(nowMs * 1_000), 1));
}

async function readClaimStates(
  ports: StatusPorts,
  job: Job,
  isAsked: (day: VesselDay) => boolean,
): Promise<Map<string, VesselDay & { state: 'live' | 'left' }>> {
  const days = new Map<string, VesselDay>();
  for await (const { key } of ports.store.list(`_checkpoints/${job.name}/`)) {
    const claim = parseClaimKey(key);
    if (claim !== undefined && isAsked(claim.day)) days.set(receiptKey(claim.day), claim.day);
  }
  const states = new Map<string, VesselDay & { state: 'live' | 'left' }>();
  await forEachAtOnce(days, GETS_AT_ONCE, async ([key, day]) => {
    try {
      const claims = await readClaims(ports.store, day);
      const live = claims.some((claim) => isLive(claim, ports));
      if (claims.length > 0) states.set(key, { ...day, state: live ? 'live' : 'left' });
    } catch (error) {
      ports.log.warn(
        { vesselDay: formatVesselDay(day), error: messageOf(error) },
        'its claim cannot be read',
      );
    }
  });
  return states;
}

async function readNotes(
  ports: StatusPorts,
  job: Job,
  isAsked: (day: VesselDay) => boolean,
): Promise<Map<string, Note>> {
  const days: VesselDay[] = [];
  for await (const { key } of ports.store.list(`_notes/${job.name}/`)) {
    // Notes are named as receipts are.
    const day = parseReceiptKey(key.replace(/^_notes\//, '_ledger/'));
    if (day !== undefined && isAsked(day)) days.push(day);
  }
  const notes = new Map<string, Note>();
  await forEachAtOnce(days, GETS_AT_ONCE, async (day) => {
    try {
      const note = await readNote(ports.store, day);
      if (note !== undefined) notes.set(noteKey(day), note);
    } catch (error) {
      notes.set(noteKey(day), damagedNote(day, error));
    }
  });
  return notes;
}

/** A file that cannot be read, as the reason why its vessel-day has failed. */
function damagedNote(day: VesselDay, error: unknown): Note {
  const at = '9999-12-31T23:59:59.999Z';
  return { noteVersion: 1, ...day, state: 'failed', code: 'damaged-file', message: messageOf(error), at };
}

function vesselsIn(ledger: LedgerAnswer<unknown>, others: readonly VesselDay[]): string[] {
  const vessels = new Set(others.map(({ vessel }) => vessel));
  for (const key of ledger.receipts.keys()) vessels.add(parseReceiptKey(key)!.vessel);
  return [...vessels].sort();
}
