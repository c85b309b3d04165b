/** From a history that fails to the shortest one that still does, by the same oracle: what can be left out is left out. */
import type { Act, History } from './history.ts';
import { type Lived, live } from './live.ts';
import { tellHistory } from './told.ts';
import type { Watching } from './world.ts';

/** Histories that are lived at most on the way. */
const MAX_TRIES = 250;

/** Histories of one kind: how one is lived and told, and every one that lacks one thing. */
export interface Living<H> {
  readonly live: (history: H, watching?: Watching) => Promise<Lived>;
  readonly tell: (history: H) => readonly string[];
  readonly shorter: (history: H) => Iterable<H>;
}

export const HISTORIES: Living<History> = { live, shorter, tell: tellHistory };

export async function shrink<H>(
  history: H,
  fault: string,
  { live, shorter }: Living<H>,
): Promise<{ history: H; fault: string }> {
  let shortest = { history, fault };
  let tries = 0;
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const candidate of shorter(shortest.history)) {
      if (++tries > MAX_TRIES) return shortest;
      const { fault: found } = await live(candidate);
      if (found === undefined || oracleOf(found) !== oracleOf(fault)) continue;
      shortest = { history: candidate, fault: found };
      hasChanged = true;
      break;
    }
  }
  return shortest;
}

/** The shortest, as a person reads it: what it was to be, what happened, and how to keep it. */
export async function tellShortest<H>(history: H, fault: string, how: Living<H>): Promise<string> {
  const shortest = await shrink(history, fault, how);
  const { lines } = await how.live(shortest.history, { isTold: true });
  const told = [...how.tell(shortest.history), '', ...lines, shortest.fault].join('\n');
  return `The shortest history that fails so:\n\n${told}\n\nTo keep it among those found: ${JSON.stringify(shortest.history)}\n`;
}

/** The oracle that a fault names, by its number, and what it says, but for names and numbers. */
function oracleOf(fault: string): string {
  return /(?:^|: )(\d: [a-z -]*)/.exec(fault)?.[1] ?? '';
}

/** Every history that lacks one thing, the largest things first. */
function* shorter(history: History): Generator<History> {
  const { acts, changes, dates, vessels, store, service } = history;
  for (const act of acts) if (acts.length > 1) yield { ...history, acts: acts.filter((one) => one !== act) };
  if (vessels.length > 1) yield { ...history, vessels: vessels.slice(0, 1) };
  if (dates.length > 1) yield { ...history, dates: dates.slice(0, 1) };
  for (const change of changes) yield { ...history, changes: changes.filter((one) => one !== change) };
  if (history.log) yield { ...history, log: undefined };
  if (history.abilities !== 'all') yield { ...history, abilities: 'all' };
  for (const [kind, rate] of Object.entries(store))
    if (rate > 0) yield { ...history, store: { ...store, [kind]: 0 } };
  for (const [kind, rate] of Object.entries(service))
    if (rate > 0) yield { ...history, service: { ...service, [kind]: 0 } };
  for (const act of acts)
    for (const simpler of simplerActs(act))
      yield { ...history, acts: acts.map((one) => (one === act ? simpler : one)) };
}

function* simplerActs(act: Act): Generator<Act> {
  for (const fate of ['step', 'killAfter', 'pauseAfter', 'stop'] as const) {
    const { [fate]: found, ...others } = act;
    if (found) yield others;
  }
  if (act.aheadMs !== 0) yield { ...act, aheadMs: 0 };
  for (const option of ['force', 'allowShrink', 'takeover'] as const)
    if (act[option]) yield { ...act, [option]: false };
  if (act.select === 1) yield { ...act, select: 0 };
  if (act.concurrency > 1) yield { ...act, concurrency: 1 };
}
