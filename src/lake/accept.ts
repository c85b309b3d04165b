/**
 * Somebody says that something is right as it is. What is warned of a vessel: of days that wait for series, and of the last
 * published one. Or, once for a job, that series may go which its `select` does not mean any more: it is said of the `select`
 * that the job has, and of what is published by then; what `select` still means, and the source has lost, it does not cover.
 */
import type { ApiVersion, Clock, ComparedSeries, Job, Log, Receipt } from '../core/model/index.ts';
import { momentText } from '../core/model/index.ts';
import { selectHash, settingsHash } from '../core/plan/settings-hash.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, unlessDamaged } from './json.ts';
import { acceptedSelectKey } from './keys.ts';
import { listReceipts } from './ledger/ledger.ts';
import { scanLedger } from './ledger/ledger-index.ts';
import { receiptDates } from './ledger/newest-days.ts';
import { readNotes } from './notes.ts';
import { readFile, SELECT_ACCEPTANCE_FILE } from './shapes.ts';
import {
  describeWarning,
  isAccepted,
  isWarningAccepted,
  readAcceptance,
  WARNING_MEMBERS,
  Warnings,
  writeAcceptance,
} from './warnings.ts';

type Accepting =
  | { readonly state: 'nothing-to-accept' }
  | {
      readonly state: 'accepted' | 'accepted-before';
      /** The fewest series that are accepted; absent where nothing is said of their number. */
      readonly series?: number;
      readonly texts: readonly string[];
      /** Vessel-days that have waited for series, and may be published now. */
      readonly waiting: number;
    };

interface AcceptPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Whatever this clock says: who accepts has seen all that was there at these instants. */
function afterAll(clock: Clock, seen: readonly string[]): string {
  return [new Date(clock.nowMs()).toISOString(), ...seen].sort().at(-1)!;
}

/** A selection with fewer series than another: of a vessel-day that waits, or of the last one published. */
interface Loss {
  readonly waits: boolean;
  readonly selected: number;
  readonly comparedWith: ComparedSeries;
}

/** Accept what is warned of a vessel of a job; done twice it is accepted once. Throws what the store throws. */
export async function acceptWarning(ports: AcceptPorts, job: string, vessel: string): Promise<Accepting> {
  const { store, clock } = ports;
  const newest = await newestReceipt(ports, job, vessel);
  const { remark, warnings = [], selectedSeries: selected = 0 } = newest ?? {};
  const published = remark ? [{ waits: false, selected, comparedWith: remark.comparedWith }] : [];
  const losses: Loss[] = [...(await waitingLosses(ports, job, vessel)), ...published];
  if (losses.length + warnings.length === 0) return { state: 'nothing-to-accept' };
  const before = await readAcceptance(store, job, vessel);
  const open = losses.filter(({ selected, comparedWith }) => !isAccepted(before, comparedWith, selected));
  const { comparedWith } = open[0] ?? losses[0] ?? {};
  const series = Math.min(...losses.map(({ selected }) => selected));
  const texts = [
    ...(comparedWith ? [describeLoss(series, comparedWith)] : []),
    ...warnings.map(describeWarning),
  ];
  const said = { ...(comparedWith && { series }), texts };
  if (open.length === 0 && warnings.every((warning) => isWarningAccepted(before, warning)))
    return { state: 'accepted-before', ...said, waiting: 0 };
  const at = afterAll(
    clock,
    open.map((loss) => loss.comparedWith.finishedAt),
  );
  // What was accepted of their number before counts from when it was.
  const { selectHash } = comparedWith ?? {};
  const counted = { ...(comparedWith && { series, ...(selectHash && { selectHash }) }), at };
  const digests = Object.fromEntries(warnings.map(({ kind, digest }) => [kind, digest]));
  const kinds = { ...before?.warnings, ...digests };
  await writeAcceptance(store, {
    ...(open.length > 0 || before === undefined ? counted : before),
    ...{ acceptedVersion: 1, job, vessel },
    ...(Object.keys(kinds).length > 0 && { warnings: kinds }),
  });
  return { state: 'accepted', ...said, waiting: open.filter(({ waits }) => waits).length };
}

function describeLoss(series: number, { date, series: had, selectHash }: ComparedSeries): string {
  return selectHash === undefined
    ? `${series} series, where ${date} had ${had}`
    : `${series} series, without those of ${date} that are missing`;
}

export function describeAccepting(accepting: Accepting): string {
  if (accepting.state === 'nothing-to-accept')
    return 'nothing to accept: no day waits for series, and the last one published has no warning';
  const { state, texts, waiting } = accepting;
  const what = texts.join('. ');
  if (state === 'accepted-before') return `accepted before: ${what}`;
  const days = `${waiting} vessel-day${waiting === 1 ? '' : 's'}`;
  const next = waiting === 0 ? '' : `; ${days} that waited will be published when tried next`;
  return `accepted: ${what}${next}`;
}

async function waitingLosses({ store }: AcceptPorts, job: string, vessel: string): Promise<Loss[]> {
  const notes = await readNotes(store, job, { isAsked: (day) => day.vessel === vessel });
  const inOrder = Array.from(notes.values(), ({ note }) => note).sort((a, b) => (a.date < b.date ? -1 : 1));
  return inOrder.flatMap(({ waiting }) =>
    waiting ? [{ waits: true, selected: waiting.selectedSeries, comparedWith: waiting.comparedWith }] : [],
  );
}

async function newestReceipt({ store, log }: AcceptPorts, job: string, vessel: string) {
  const dates = (await receiptDates(store, job, { vessel })).get(vessel) ?? [];
  const warnings = new Warnings();
  const question = { store, job, dates, vessels: new Set([vessel]), writeIndex: false, log };
  await scanLedger({ ...question, members: WARNING_MEMBERS, take: (receipt) => warnings.add(receipt) });
  return warnings.newest()[0];
}

interface SelectAcceptance {
  readonly acceptedVersion: 1;
  readonly job: string;
  readonly selectHash: string;
  readonly at: string;
}

/** May series go which the job's `select` does not mean any more: from this published day, or from any? */
export async function isSelectAccepted(
  store: Pick<ObjectStore, 'get'>,
  job: Job,
  { finishedAt }: Pick<Receipt, 'finishedAt'> = { finishedAt: '' },
): Promise<boolean> {
  const accepted = await readSelectAcceptance(store, job);
  return accepted !== undefined && accepted.at >= finishedAt;
}

/** What was accepted of the `select` that the job has; a damaged file says nothing. */
async function readSelectAcceptance(
  store: Pick<ObjectStore, 'get'>,
  job: Job,
): Promise<SelectAcceptance | undefined> {
  const read = readFile<SelectAcceptance>(store, acceptedSelectKey(job.name), SELECT_ACCEPTANCE_FILE);
  const accepted = (await unlessDamaged(read))?.file;
  return accepted?.selectHash === selectHash(job) ? accepted : undefined;
}

/** What became of accepting a `select`: of how many published vessel-days other series may have been asked for. */
interface AcceptedSelect {
  readonly state: 'accepted' | 'accepted-before' | 'nothing-to-accept';
  readonly vesselDays: number;
  readonly message: string;
}

/** Accept it; done twice it is accepted once. Throws what the store throws. */
export async function acceptSelect(
  { store, log, clock, apiVersion }: AcceptPorts & { readonly apiVersion: ApiVersion },
  job: Job,
): Promise<AcceptedSelect> {
  const dates = new Set(await Array.fromAsync(listReceipts(store, job.name), ({ day }) => day.date));
  const present = settingsHash(job, apiVersion);
  let [vesselDays, newest] = [0, ''];
  await scanLedger({
    ...{ store, log, job: job.name, dates: [...dates].sort(), writeIndex: true },
    members: ['settingsHash', 'finished'],
    take({ settingsHash, finished }) {
      if (settingsHash === present) return;
      vesselDays++;
      const finishedAt = momentText(finished);
      if (finishedAt > newest) newest = finishedAt;
    },
  });
  const of = `${vesselDays} published vessel-day${vesselDays === 1 ? '' : 's'} with other settings`;
  if (vesselDays === 0)
    return {
      ...{ state: 'nothing-to-accept', vesselDays },
      message: 'nothing to accept: every published vessel-day has the settings that the job has now',
    };
  const before = await readSelectAcceptance(store, job);
  const what = `series that 'select' does not mean any more may go from ${of}`;
  if (before !== undefined && before.at >= newest)
    return { state: 'accepted-before', vesselDays, message: `accepted before: ${what}` };
  const at = afterAll(clock, [newest]);
  const accepted: SelectAcceptance = { acceptedVersion: 1, job: job.name, selectHash: selectHash(job), at };
  await store.put(acceptedSelectKey(job.name), jsonBytes(accepted));
  return {
    ...{ state: 'accepted', vesselDays },
    message: `accepted: ${what}. The next run or firing tries those that were refused again; 'backfill ${job.name} --failed' those of a backfill`,
  };
}
