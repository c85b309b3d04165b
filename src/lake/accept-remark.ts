/** Somebody says that what is remarked of a vessel is right: of days that wait for series, and of the last published one. */
import type { Clock, ComparedSeries, Log } from '../core/model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { unlessDamaged } from './json.ts';
import { keyPrefix, parseNoteKey } from './keys.ts';
import { readNote } from './ledger/ledger.ts';
import { readLedger } from './ledger/ledger-index.ts';
import { receiptDates } from './ledger/newest-days.ts';
import {
  createRemarks,
  describeRemark,
  isAccepted,
  isWarningAccepted,
  REMARK_MEMBERS,
  readAcceptance,
  writeAcceptance,
} from './remarks.ts';

/** What became of it. */
type Accepting =
  | { readonly state: 'nothing-to-accept' }
  | {
      readonly state: 'accepted' | 'accepted-before';
      /** The fewest series that are accepted; absent where nothing is said of their number. */
      readonly series?: number;
      /** What was accepted, as sentences. */
      readonly texts: readonly string[];
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

/** Accept what is remarked of a vessel of a job; done twice it is accepted once. Throws what the store throws. */
export async function acceptRemark(ports: AcceptPorts, job: string, vessel: string): Promise<Accepting> {
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
    ...warnings.map(describeRemark),
  ];
  const said = { ...(comparedWith && { series }), texts };
  if (open.length === 0 && warnings.every((warning) => isWarningAccepted(before, warning)))
    return { state: 'accepted-before', ...said, waiting: 0 };
  // Whatever this clock says: who accepts has seen all of these days.
  const seen = open.map((loss) => loss.comparedWith.finishedAt);
  const at = [new Date(clock.nowMs()).toISOString(), ...seen].sort().at(-1)!;
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

/** What was accepted, or that there was nothing, as a sentence. */
export function describeAccepting(accepting: Accepting): string {
  if (accepting.state === 'nothing-to-accept')
    return 'nothing to accept: no day waits for series, and the last one published has no remark';
  const { state, texts, waiting } = accepting;
  const what = texts.join('. ');
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

/** The vessel's newest receipt, where it remarks anything. */
async function newestReceipt({ store, log }: AcceptPorts, job: string, vessel: string) {
  const dates = (await receiptDates(store, job, { vessel })).get(vessel) ?? [];
  const remarks = createRemarks();
  const question = { store, job, dates, vessels: new Set([vessel]), writeIndex: false, log };
  await readLedger({ ...question, members: REMARK_MEMBERS, project: (receipt) => remarks.add(receipt) });
  return remarks.newest()[0];
}
