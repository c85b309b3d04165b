/** Somebody says that a vessel may have so few series as it has: of a day that waits for more, or of the last published one. */
import type { Clock, ComparedSeries, Log } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { unlessDamaged } from './json.ts';
import { keyPrefix, parseNoteKey } from './keys.ts';
import { readNote, receiptDates } from './ledger.ts';
import { readLedger } from './ledger-index.ts';
import { createRemarks, isAccepted, REMARK_MEMBERS, readAcceptance, writeAcceptance } from './remarks.ts';

/** What became of it. */
type Accepting =
  | { readonly state: 'nothing-to-accept' }
  | {
      readonly state: 'accepted' | 'accepted-before';
      /** The fewest series that are accepted. */
      readonly series: number;
      /** What the vessel had before. */
      readonly comparedWith: ComparedSeries;
      /** Vessel-days that have waited for series, and may be published now. */
      readonly waiting: number;
    };

interface AcceptPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A selection with fewer series than another: of a vessel-day that waits, or of the last one published. */
interface Loss {
  readonly waits: boolean;
  readonly selected: number;
  readonly comparedWith: ComparedSeries;
}

/** Accept what is missing of a vessel of a job; done twice it is accepted once. Throws what the store throws. */
export async function acceptRemark(ports: AcceptPorts, job: string, vessel: string): Promise<Accepting> {
  const { store, clock } = ports;
  const losses = [...(await waitingLosses(ports, job, vessel)), ...(await publishedLoss(ports, job, vessel))];
  if (losses.length === 0) return { state: 'nothing-to-accept' };
  const series = Math.min(...losses.map(({ selected }) => selected));
  const before = await readAcceptance(store, job, vessel);
  const open = losses.filter(({ selected, comparedWith }) => !isAccepted(before, comparedWith, selected));
  const { comparedWith } = open[0] ?? losses[0]!;
  if (open.length === 0) return { state: 'accepted-before', series, comparedWith, waiting: 0 };
  // Whatever this clock says: who accepts has seen all of these days.
  const seen = losses.map((loss) => loss.comparedWith.finishedAt);
  const at = [new Date(clock.nowMs()).toISOString(), ...seen].sort().at(-1)!;
  await writeAcceptance(store, { acceptedVersion: 1, job, vessel, series, at });
  return { state: 'accepted', series, comparedWith, waiting: open.filter(({ waits }) => waits).length };
}

/** What was accepted, or that there was nothing, as a sentence. */
export function describeAccepting(accepting: Accepting): string {
  if (accepting.state === 'nothing-to-accept')
    return 'nothing to accept: no day waits for series, and the last one published has no remark';
  const { state, series, comparedWith, waiting } = accepting;
  const what = `${series} series, where ${comparedWith.date} had ${comparedWith.series}`;
  if (state === 'accepted-before') return `accepted before: ${what}`;
  const days = `${waiting} vessel-day${waiting === 1 ? '' : 's'}`;
  const next = waiting === 0 ? '' : `; ${days} that waited will be published when tried next`;
  return `accepted: ${what}${next}`;
}

async function waitingLosses({ store }: AcceptPorts, job: string, vessel: string): Promise<Loss[]> {
  const losses: Loss[] = [];
  for await (const { key } of store.list(keyPrefix('note', job))) {
    const day = parseNoteKey(key);
    const waiting = day?.vessel === vessel ? (await unlessDamaged(readNote(store, day)))?.waiting : undefined;
    if (waiting !== undefined)
      losses.push({ waits: true, selected: waiting.selectedSeries, comparedWith: waiting.comparedWith });
  }
  return losses;
}

/** What the vessel's newest receipt says. */
async function publishedLoss({ store, log }: AcceptPorts, job: string, vessel: string): Promise<Loss[]> {
  const dates = (await receiptDates(store, job, { vessel })).get(vessel) ?? [];
  const remarks = createRemarks();
  const question = { store, job, dates, vessels: new Set([vessel]), writeIndex: false, log };
  await readLedger({ ...question, members: REMARK_MEMBERS, project: (receipt) => remarks.add(receipt) });
  return remarks.newest().map(({ remark, selectedSeries }) => ({
    waits: false,
    selected: selectedSeries,
    comparedWith: remark.comparedWith,
  }));
}
