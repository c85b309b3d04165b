/** `accept`: a vessel may have so few series as it has. */
import { ConfigError } from '../errors.ts';
import { unlessDamaged } from '../lake/json.ts';
import { keyPrefix, parseNoteKey } from '../lake/keys.ts';
import { listReceipts, readNote } from '../lake/ledger.ts';
import { readLedger } from '../lake/ledger-index.ts';
import {
  createRemarks,
  isAccepted,
  REMARK_MEMBERS,
  readAcceptance,
  writeAcceptance,
} from '../lake/remarks.ts';
import type { Clock, ComparedSeries, Log } from '../model/index.ts';
import { systemClock, VESSEL_ID } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { countOf } from '../terminal/format.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import { openLake } from './open.ts';
import type { Item, OutputOptions } from './results.ts';
import { openOutput } from './results.ts';

type AcceptOptions = Pick<OutputOptions, 'json'>;

type Accepted = Item<'accept', 'vessels'>;

/** Accept what is missing of some vessels of a job; the exit code. `overrides` are for tests. */
export async function acceptCommand(
  context: CommandContext,
  job: string,
  vessels: readonly string[],
  options: AcceptOptions,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<number> {
  const wrong = vessels.find((vessel) => !VESSEL_ID.test(vessel));
  if (wrong !== undefined)
    throw new ConfigError('usage', `got '${wrong}', expected a vessel such as IMO9321483`);
  const output = openOutput(context.stdout, 'accept', options);
  const lake = await openLake(context, [job], false, {});
  const accepted: Accepted[] = [];
  try {
    for (const vessel of vessels) accepted.push(await accept(lake, clock, job, vessel));
  } finally {
    await lake.close();
  }
  for (const item of accepted) output.add('vessels', item);
  output.end({});
  if (output.isText)
    writeText(
      context.stdout,
      accepted.map(({ vessel, message }) => `${job}/${vessel}: ${message}\n`).join(''),
    );
  return accepted.some(({ state }) => state === 'nothing-to-accept') ? EXIT_FAILED : EXIT_OK;
}

/** A selection with fewer series than another: of a vessel-day that waits, or of the last one published. */
interface Loss {
  readonly waits: boolean;
  readonly selected: number;
  readonly comparedWith: ComparedSeries;
}

interface Lake {
  readonly store: ObjectStore;
  readonly log: Log;
}

async function accept(lake: Lake, clock: Clock, job: string, vessel: string): Promise<Accepted> {
  const losses = [...(await waitingLosses(lake, job, vessel)), ...(await publishedLoss(lake, job, vessel))];
  if (losses.length === 0) {
    const message = 'nothing to accept: no day waits for series, and the last one published has no remark';
    return { job, vessel, state: 'nothing-to-accept', message };
  }
  const series = Math.min(...losses.map(({ selected }) => selected));
  const before = await readAcceptance(lake.store, job, vessel);
  const open = losses.filter(({ selected, comparedWith }) => !isAccepted(before, comparedWith, selected));
  const { comparedWith } = open[0] ?? losses[0]!;
  const what = `${series} series, where ${comparedWith.date} had ${comparedWith.series}`;
  if (open.length === 0)
    return { job, vessel, series, state: 'accepted-before', message: `accepted before: ${what}` };
  // Whatever this clock says: who accepts has seen all of these days.
  const seen = losses.map((loss) => loss.comparedWith.finishedAt);
  const at = [new Date(clock.nowMs()).toISOString(), ...seen].sort().at(-1)!;
  await writeAcceptance(lake.store, { acceptedVersion: 1, job, vessel, series, at });
  const waiting = open.filter(({ waits }) => waits).length;
  const next = waiting === 0 ? '' : `; run publishes what waits (${countOf(waiting, 'vessel-day')})`;
  return { job, vessel, series, state: 'accepted', message: `accepted: ${what}${next}` };
}

async function waitingLosses({ store }: Lake, job: string, vessel: string): Promise<Loss[]> {
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
async function publishedLoss({ store, log }: Lake, job: string, vessel: string): Promise<Loss[]> {
  const dates: string[] = [];
  for await (const { day } of listReceipts(store, job)) if (day.vessel === vessel) dates.push(day.date);
  const remarks = createRemarks();
  const question = { store, job, dates, vessels: new Set([vessel]), writeIndex: false, log };
  await readLedger({ ...question, members: REMARK_MEMBERS, project: (receipt) => remarks.add(receipt) });
  return remarks.newest().map(({ remark, selectedSeries }) => ({
    waits: false,
    selected: selectedSeries,
    comparedWith: remark.comparedWith,
  }));
}
