/** What the lake says of a job's vessel-days: receipts, notes and claims. Nothing is asked of the service. */

import { forEachAtOnce } from '../concurrency.ts';
import { ConfigError, DataError } from '../errors.ts';
import { claimedDays, findClaims, isLive } from '../lake/claims.ts';
import { DayMap } from '../lake/day-map.ts';
import { keyPrefix, parseNoteKey } from '../lake/keys.ts';
import type { ReceiptVersion } from '../lake/ledger.ts';
import { isSameReceipt, lastReceiptDates, readNote } from '../lake/ledger.ts';
import { scanLedger } from '../lake/ledger-index.ts';
import type { PlanPorts } from '../lake/planned-days.ts';
import { plannedDays } from '../lake/planned-days.ts';
import type { OpenRemark } from '../lake/remarks.ts';
import { createRemarks } from '../lake/remarks.ts';
import type { Job, Log, Note, ProcessId, VesselDay } from '../model/index.ts';
import { addDays, datesBetween, formatVesselDay, microsToDate } from '../model/index.ts';
import type { DayRange } from '../plan/due.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Coverage } from './cells.ts';
import { coverageOf } from './cells.ts';
import type { CoveredReceipts, KeptReceipt } from './covered-receipts.ts';
import { KEPT_MEMBERS } from './covered-receipts.ts';
import type { KnownNote, StatusMemory } from './status-memory.ts';
import { createStatusMemory } from './status-memory.ts';

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
  /** More than so many are refused, as soon as it is seen that there are more. */
  readonly mostVesselDays?: number;
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

/**
 * Throws what the store throws, and ConfigError `too-many-vessel-days`; files that cannot be read are failed vessel-days. `memory`: what an earlier look at the
 * same job and vessels has left, for one look at a time; `cells` are to be taken before the next.
 */
export async function readJobStatus(
  ports: StatusPorts,
  job: Job,
  request: StatusRequest,
  memory: StatusMemory = createStatusMemory(),
): Promise<JobStatus> {
  const dates = datesBetween(request.from, request.to);
  const only = request.vessels === undefined ? {} : { vessels: new Set(request.vessels) };
  const isAsked = ({ date, vessel }: VesselDay) =>
    date >= request.from && date < request.to && only.vessels?.has(vessel) !== false;
  const { receipts } = memory;
  const vesselsSeen = new Set<string>(request.vessels);
  const take = (receipt: KeptReceipt) => {
    receipts.set(receipt);
    if (vesselsSeen.size === vesselsSeen.add(receipt.vessel).size) return;
    expectFew(request, vesselsSeen.size, dates.length);
  };
  expectFew(request, vesselsSeen.size, dates.length);
  const ledger = await memory.look(ports.clock.nowMs, (shown) =>
    scanLedger({
      store: ports.store,
      job: job.name,
      dates,
      ...only,
      writeIndex: true,
      log: ports.log,
      members: KEPT_MEMBERS,
      take,
      shown,
    }),
  );
  const remarks = createRemarks();
  for (const receipt of receipts.newestOn(job.name, dates)) remarks.add(receipt);
  const claims = await readClaimStates(ports, job, isAsked);
  const notes = await readNotes(ports, job, isAsked, memory);
  for (const { day, error } of ledger.damaged) notes.set(day, damagedNote(day, error));
  const vessels =
    request.vessels ?? vesselsIn(receipts.vesselsOn(dates), [...claims.values(), ...notes.values()]);
  expectFew(request, vessels.length, dates.length);
  const cells = await coverDays(ports, job, { ...request, vessels }, { receipts, claims, notes });
  const open = await remarks.open(ports.store);
  return { vessels, cells, remarks: open, fetched: ledger.fetched, fromIndex: ledger.fromIndex };
}

function expectFew({ from, to, mostVesselDays = Infinity }: StatusRequest, vessels: number, dates: number) {
  if (vessels * dates <= mostVesselDays) return;
  const [found, most] = [vessels * dates, mostVesselDays].map((count) => count.toLocaleString('en-US'));
  throw new ConfigError(
    'too-many-vessel-days',
    `${from} to ${to}: found ${vessels} vessels or more on ${dates} days, which is ${found} vessel-days, expected at most ${most}; ask for fewer days`,
  );
}

interface LakeFacts {
  readonly receipts: CoveredReceipts;
  readonly claims: DayMap<VesselDay & { readonly state: 'live' | 'left' }>;
  readonly notes: DayMap<KnownNote>;
}

async function coverDays(
  ports: StatusPorts,
  job: Job,
  range: DayRange,
  { receipts, claims, notes }: LakeFacts,
): Promise<Iterable<Coverage>> {
  const captured = job.dataset === 'metadata' ? await capturedVessels(ports, job) : undefined;
  return {
    *[Symbol.iterator]() {
      for (const { day, state, receipt } of plannedDays(ports, job, range, receipts))
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
  memory: StatusMemory,
): Promise<DayMap<KnownNote>> {
  const listed: (VesselDay & ReceiptVersion)[] = [];
  for await (const { key, sizeBytes, tag } of ports.store.list(keyPrefix('note', job.name))) {
    const day = parseNoteKey(key);
    if (day !== undefined && isAsked(day)) listed.push({ ...day, sizeBytes, tag });
  }
  const notes = new DayMap<KnownNote>();
  const listedNotes: StatusMemory['notes'] = new DayMap();
  await forEachAtOnce(listed, GETS_AT_ONCE, async ({ sizeBytes, tag, ...day }) => {
    const before = memory.notes.get(day);
    const isSame = before !== undefined && isSameReceipt(before, { sizeBytes, tag });
    const note = isSame ? before.note : await noteOf(ports, day);
    if (note === undefined) return;
    notes.set(day, note);
    listedNotes.set(day, { note, sizeBytes, tag });
  });
  memory.notes = listedNotes;
  return notes;
}

async function noteOf({ store }: StatusPorts, day: VesselDay): Promise<KnownNote | undefined> {
  try {
    const note = await readNote(store, day);
    return note && { ...day, state: note.state, code: note.code, message: note.message, at: note.at };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return damagedNote(day, error);
  }
}

/** A file that cannot be read, as the reason why its vessel-day has failed; later than anything that is known of it. */
export function damagedNote(day: VesselDay, { code, message }: DataError): Note {
  return { noteVersion: 1, ...day, state: 'failed', code, message, at: '9999-12-31T23:59:59.999Z' };
}

function vesselsIn(published: Iterable<string>, others: readonly VesselDay[]): string[] {
  return [...new Set([...published, ...others.map(({ vessel }) => vessel)])].sort();
}
