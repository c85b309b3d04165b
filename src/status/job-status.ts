/** What the lake says of a job's vessel-days: receipts, notes and claims. Nothing is asked of the service. */

import { forEachAtOnce } from '../concurrency.ts';
import { DataError } from '../errors.ts';
import { claimedDays, findClaims, isLive } from '../lake/claims.ts';
import { DayMap } from '../lake/day-map.ts';
import { keyPrefix, parseNoteKey } from '../lake/keys.ts';
import { lastReceiptDates, readNote } from '../lake/ledger.ts';
import type { LedgerAnswer } from '../lake/ledger-index.ts';
import { readLedger } from '../lake/ledger-index.ts';
import type { PlanPorts } from '../lake/planned-days.ts';
import { plannedDays } from '../lake/planned-days.ts';
import type { OpenRemark } from '../lake/remarks.ts';
import { createRemarks, REMARK_MEMBERS } from '../lake/remarks.ts';
import type { Job, Log, Note, ProcessId, VesselDay } from '../model/index.ts';
import { addDays, datesBetween, formatVesselDay, microsToDate } from '../model/index.ts';
import type { DayRange } from '../plan/due.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Coverage, CoveredReceipt } from './cells.ts';
import { coverageOf } from './cells.ts';

interface StatusPorts extends PlanPorts {
  readonly store: ObjectStore;
  readonly self: ProcessId;
  readonly log: Log;
}

interface StatusRequest {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Undefined: those that the lake knows on these dates. */
  readonly vessels: readonly string[] | undefined;
}

interface JobStatus {
  readonly vessels: readonly string[];
  /** By date and then vessel; made as they are taken, for a year of a fleet has hundreds of thousands. */
  readonly cells: Iterable<Coverage>;
  /** What the vessels' newest receipts of these dates say, and nobody has accepted. */
  readonly remarks: readonly OpenRemark[];
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
  const remarks = createRemarks();
  const ledger = await readLedger({
    store: ports.store,
    job: job.name,
    dates,
    ...only,
    writeIndex: true,
    log: ports.log,
    members: ['settingsHash', 'proof', 'rows', 'finishedAt', 'unlisted', ...REMARK_MEMBERS],
    project(receipt): CoveredReceipt {
      remarks.add(receipt);
      const { settingsHash, proof, rows, finishedAt, unlisted } = receipt;
      return { settingsHash, proof, rows, finishedAt, ...(unlisted && { unlisted }) };
    },
  });
  const claims = await readClaimStates(ports, job, isAsked);
  const notes = await readNotes(ports, job, isAsked);
  for (const { day, error } of ledger.damaged) notes.set(day, damagedNote(day, error));
  const vessels = request.vessels ?? vesselsIn(ledger, [...claims.values(), ...notes.values()]);
  const cells = await coverDays(ports, job, { ...request, vessels }, { ledger, claims, notes });
  const open = await remarks.open(ports.store);
  return { vessels, cells, remarks: open, fetched: ledger.fetched, fromIndex: ledger.fromIndex };
}

interface LakeFacts {
  readonly ledger: LedgerAnswer<CoveredReceipt>;
  readonly claims: DayMap<VesselDay & { readonly state: 'live' | 'left' }>;
  readonly notes: DayMap<Note>;
}

async function coverDays(
  ports: StatusPorts,
  job: Job,
  range: DayRange,
  { ledger, claims, notes }: LakeFacts,
): Promise<Iterable<Coverage>> {
  const captured = job.dataset === 'metadata' ? await capturedVessels(ports, job) : undefined;
  return {
    *[Symbol.iterator]() {
      for (const { day, state, receipt } of plannedDays(ports, job, range, ledger.receipts))
        yield coverageOf({
          day,
          // A snapshot that equals the last one leaves no trace.
          planned: state === 'missing' && captured?.has(day.vessel) === true ? 'not-due' : state,
          receipt,
          note: notes.get(day),
          claim: claims.get(day)?.state,
        });
    },
  };
}

/** Vessels that have a snapshot. */
async function capturedVessels({ store, clock }: StatusPorts, job: Job): Promise<Map<string, string>> {
  return await lastReceiptDates(store, job.name, addDays(microsToDate(clock.nowMs() * 1_000), 1));
}

async function readClaimStates(
  ports: StatusPorts,
  job: Job,
  isAsked: (day: VesselDay) => boolean,
): Promise<LakeFacts['claims']> {
  const days = (await claimedDays(ports.store, job.name)).filter(isAsked);
  const states = new DayMap<VesselDay & { state: 'live' | 'left' }>();
  await forEachAtOnce(days, GETS_AT_ONCE, async (day) => {
    const claims = await findClaims(ports.store, day);
    const damage = claims.find((claim) => claim.damage)?.damage;
    const isRunning = claims.some(({ file }) => file !== undefined && isLive(file, ports));
    if (damage !== undefined)
      ports.log.warn({ vesselDay: formatVesselDay(day), error: damage.message }, 'its claim cannot be read');
    else if (claims.length > 0) states.set(day, { ...day, state: isRunning ? 'live' : 'left' });
  });
  return states;
}

async function readNotes(
  ports: StatusPorts,
  job: Job,
  isAsked: (day: VesselDay) => boolean,
): Promise<DayMap<Note>> {
  const days: VesselDay[] = [];
  for await (const { key } of ports.store.list(keyPrefix('note', job.name))) {
    const day = parseNoteKey(key);
    if (day !== undefined && isAsked(day)) days.push(day);
  }
  const notes = new DayMap<Note>();
  await forEachAtOnce(days, GETS_AT_ONCE, async (day) => {
    try {
      const note = await readNote(ports.store, day);
      if (note !== undefined) notes.set(day, note);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      notes.set(day, damagedNote(day, error));
    }
  });
  return notes;
}

/** A file that cannot be read, as the reason why its vessel-day has failed. */
function damagedNote(day: VesselDay, error: DataError): Note {
  const at = '9999-12-31T23:59:59.999Z';
  return { noteVersion: 1, ...day, state: 'failed', code: 'damaged-file', message: error.message, at };
}

function vesselsIn(ledger: LedgerAnswer<unknown>, others: readonly VesselDay[]): string[] {
  const vessels = new Set(others.map(({ vessel }) => vessel));
  for (const vessel of ledger.receipts.vessels()) vessels.add(vessel);
  return [...vessels].sort();
}
