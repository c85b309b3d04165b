/** What the lake says of a job's vessel-days: receipts, notes and claims. Nothing is asked of the service. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { ConfigError, DataError } from '../../core/errors.ts';
import type { Job, Log, Note, ProcessId, VesselDay } from '../../core/model/index.ts';
import { addDays, datesBetween, formatVesselDay, momentText } from '../../core/model/index.ts';
import type { DayRange } from '../../core/plan/due.ts';
import { readAskedDays } from '../../lake/asked-days.ts';
import { claimedDays, type FoundClaim, findClaims, isLive } from '../../lake/claims/claims.ts';
import { orDamage } from '../../lake/json.ts';
import { DayMap } from '../../lake/ledger/day-map.ts';
import { readNote, readReceipt } from '../../lake/ledger/ledger.ts';
import { scanLedger } from '../../lake/ledger/ledger-index.ts';
import { type PlanPorts, plannedDays } from '../../lake/ledger/planned-days.ts';
import { damagedNote, type KnownNotes, readNotes } from '../../lake/notes.ts';
import { type OpenWarnings, Warnings } from '../../lake/warnings.ts';
import type { ObjectStore } from '../../store/store.ts';
import { type Coverage, type CoveredReceipt, coverageOf, type LakeFacts } from './cells.ts';
import { createStatusMemory, KEPT_MEMBERS, type KeptReceipt, type StatusMemory } from './status-memory.ts';

interface StatusPorts extends PlanPorts {
  readonly store: ObjectStore;
  readonly self: ProcessId;
  readonly log: Log;
}

interface StatusRequest extends Pick<DayRange, 'from' | 'to'> {
  /** Undefined: those that the lake knows on these dates. */
  readonly vessels: readonly string[] | undefined;
  /** True: these are the vessels that the job exports now, as the service lists them. */
  readonly isCurrent?: boolean;
  /** More than so many are refused, as soon as it is seen that there are more. */
  readonly mostVesselDays?: number;
}

interface JobStatus {
  readonly vessels: readonly string[];
  /** By date and then vessel; made as they are taken, for a year of a fleet has hundreds of thousands. */
  readonly cells: Iterable<Coverage>;
  /** What the vessels' newest receipts of these dates say, and nobody has accepted. */
  readonly warnings: readonly OpenWarnings[];
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
    receipts.set(receipt, receipt);
    if (vesselsSeen.size === vesselsSeen.add(receipt.vessel).size) return;
    expectFew(request, vesselsSeen.size, dates.length);
  };
  expectFew(request, vesselsSeen.size, dates.length);
  const { store, log } = ports;
  const question = { store, log, job: job.name, ...only, members: KEPT_MEMBERS, writeIndex: true, take };
  const ledger = await memory.look(ports, job.name, dates, (unknown, isKnown) =>
    scanLedger({ ...question, dates: unknown, isKnown }),
  );
  const warnings = new Warnings();
  for (const date of dates) for (const receipt of receipts.on(date)) warnings.add(receipt);
  const claims = await readClaimStates(ports, job, isAsked);
  const notes = await readNotes(ports.store, job.name, { before: memory.notes, isAsked });
  memory.notes = notes;
  const damaged = new DayMap<Note>();
  for (const { day, error } of ledger.damaged) damaged.set(day, damagedNote(day, error));
  const facts = [receipts, claims, notes, damaged];
  const vessels = request.vessels ?? [...new Set(facts.flatMap((days) => [...days.vessels()]))].sort();
  expectFew(request, vessels.length, dates.length);
  const cells = await coverDays(
    ports,
    job,
    { ...request, vessels },
    { receipts: covered(receipts), claims, notes, damaged },
  );
  const open = await warnings.open(ports.store);
  return { vessels, cells, warnings: open, fetched: ledger.fetched, fromIndex: ledger.fromIndex };
}

function expectFew({ from, to, mostVesselDays = Infinity }: StatusRequest, vessels: number, dates: number) {
  if (vessels * dates <= mostVesselDays) return;
  const [found, most] = [vessels * dates, mostVesselDays].map((count) => count.toLocaleString('en-US'));
  throw new ConfigError(
    'too-many-vessel-days',
    `${from} to ${to}: found ${vessels} vessels or more on ${dates} days, which is ${found} vessel-days, expected at most ${most}; request fewer days`,
  );
}

interface JobFacts {
  readonly receipts: Pick<DayMap<CoveredReceipt>, 'get' | 'has'>;
  readonly claims: DayMap<LakeFacts['claim']>;
  readonly notes: KnownNotes;
  readonly damaged: DayMap<Note>;
}

async function coverDays(
  ports: StatusPorts,
  job: Job,
  range: DayRange & Pick<StatusRequest, 'isCurrent'>,
  { receipts, claims, notes, damaged }: JobFacts,
): Promise<Iterable<Coverage>> {
  const isPublished = (day: Pick<VesselDay, 'vessel' | 'date'>) => receipts.has(day);
  const openState = await readAskedDays(ports, job, { ...range, isPublished });
  return {
    *[Symbol.iterator]() {
      for (const { day, state, receipt } of plannedDays(ports, job, range, receipts)) {
        const [note, claim] = [damaged.get(day) ?? notes.get(day)?.note, claims.get(day)];
        const planned = receipt === undefined ? openState(day, state) : state;
        yield coverageOf({ day, planned, receipt, note, claim });
      }
    },
  };
}

async function readClaimStates(
  ports: StatusPorts,
  job: Job,
  isAsked: (day: VesselDay) => boolean,
): Promise<JobFacts['claims']> {
  const days = (await claimedDays(ports.store, job.name)).filter(isAsked);
  const states = new DayMap<LakeFacts['claim']>();
  await forEachAtOnce(days, GETS_AT_ONCE, async (day) => {
    const claims = await findClaims(ports.store, day);
    const vesselDay = formatVesselDay(day);
    for (const { damage } of claims)
      if (damage) ports.log.warn({ vesselDay, error: damage.message }, 'its claim cannot be read');
    const state = claimStateOf(claims, ports);
    if (state !== undefined) states.set(day, state);
  });
  return states;
}

function claimStateOf(
  claims: readonly FoundClaim[],
  ports: Pick<StatusPorts, 'clock' | 'self'>,
): LakeFacts['claim'] {
  const files = claims.flatMap(({ file }) => (file === undefined ? [] : [file]));
  if (files.some((file) => isLive(file, ports))) return 'live';
  return files.length > 0 ? 'left' : undefined;
}

function covered(receipts: StatusMemory['receipts']): JobFacts['receipts'] {
  return {
    has: (day) => receipts.has(day),
    get(day) {
      const receipt = receipts.get(day);
      return receipt && { ...receipt, finishedAt: momentText(receipt.finished) };
    },
  };
}

/** The same for one vessel-day, file by file, without a look at any other. Throws what the store throws. */
export async function readDayStatus(ports: Omit<StatusPorts, 'log'>, job: Job, day: VesselDay) {
  const { store } = ports;
  const [foundReceipt, foundNote, claims] = await Promise.all([
    orDamage(readReceipt(store, day)),
    orDamage(readNote(store, day)),
    findClaims(store, day),
  ]);
  const found = [foundReceipt, foundNote, ...claims.map(({ damage }) => damage)];
  const damages = found.filter((one) => one instanceof DataError);
  const receipt = foundReceipt instanceof DataError ? undefined : foundReceipt;
  const unread = [foundReceipt, foundNote].find((one) => one instanceof DataError);
  const note = unread === undefined ? (foundNote as Note | undefined) : damagedNote(day, unread);
  const range = { from: day.date, to: addDays(day.date, 1), vessels: [day.vessel] };
  const [one] = plannedDays(ports, job, range, { get: () => receipt });
  const isPublished = () => receipt !== undefined;
  const openState = isPublished() ? undefined : await readAskedDays(ports, job, { ...range, isPublished });
  const planned = openState?.(day, one!.state) ?? one!.state;
  const coverage = coverageOf({ day, planned, receipt, note, claim: claimStateOf(claims, ports) });
  return { coverage, receipt, note, claims, damages };
}
