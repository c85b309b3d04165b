/** What the lake says of a job's vessel-days: receipts, notes and claims. Nothing is asked of the service. */

import { forEachAtOnce } from '../../core/concurrency.ts';
import { ConfigError } from '../../core/errors.ts';
import type { Job, Log, ProcessId, VesselDay } from '../../core/model/index.ts';
import { datesBetween, formatVesselDay } from '../../core/model/index.ts';
import type { DayRange } from '../../core/plan/due.ts';
import { readAskedDays } from '../../lake/asked-days.ts';
import { claimedDays, findClaims, isLive } from '../../lake/claims/claims.ts';
import { DayMap } from '../../lake/ledger/day-map.ts';
import { scanLedger } from '../../lake/ledger/ledger-index.ts';
import type { PlanPorts } from '../../lake/ledger/planned-days.ts';
import { plannedDays } from '../../lake/ledger/planned-days.ts';
import type { KnownNote, KnownNotes } from '../../lake/notes.ts';
import { damagedNote, readNotes } from '../../lake/notes.ts';
import type { OpenRemark } from '../../lake/remarks.ts';
import { createRemarks } from '../../lake/remarks.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { Coverage } from './cells.ts';
import { coverageOf } from './cells.ts';
import type { CoveredReceipts, KeptReceipt } from './covered-receipts.ts';
import { KEPT_MEMBERS } from './covered-receipts.ts';
import type { StatusMemory } from './status-memory.ts';
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
  const notes = await readNotes(ports.store, job.name, { before: memory.notes, isAsked });
  memory.notes = notes;
  const damaged = new DayMap<KnownNote>();
  for (const { day, error } of ledger.damaged) damaged.set(day, damagedNote(day, error));
  const vessels = request.vessels ?? vesselsIn(receipts.vesselsOn(dates), [claims, notes, damaged]);
  expectFew(request, vessels.length, dates.length);
  const cells = await coverDays(ports, job, { ...request, vessels }, { receipts, claims, notes, damaged });
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
  readonly notes: KnownNotes;
  /** Of receipts that cannot be read. */
  readonly damaged: DayMap<KnownNote>;
}

async function coverDays(
  ports: StatusPorts,
  job: Job,
  range: DayRange & Pick<StatusRequest, 'isCurrent'>,
  { receipts, claims, notes, damaged }: LakeFacts,
): Promise<Iterable<Coverage>> {
  const isPublished = (day: Pick<VesselDay, 'vessel' | 'date'>) => receipts.has(day);
  const openState = await readAskedDays(ports, job, { ...range, isPublished });
  return {
    *[Symbol.iterator]() {
      for (const { day, state, receipt } of plannedDays(ports, job, range, receipts)) {
        const [note, claim] = [damaged.get(day) ?? notes.get(day)?.note, claims.get(day)?.state];
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

function vesselsIn(
  published: ReadonlySet<string>,
  others: readonly Pick<DayMap<unknown>, 'vessels'>[],
): string[] {
  return [...new Set([...published, ...others.flatMap((days) => [...days.vessels()])])].sort();
}
