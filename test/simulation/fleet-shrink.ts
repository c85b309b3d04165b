/** Shorter histories of a fleet. */
import type { FleetHistory } from './fleet-history.ts';
import { liveFleet } from './fleet-live.ts';
import type { Living } from './shrink.ts';

export const FLEET_HISTORIES: Living<FleetHistory> = {
  live: liveFleet,
  shorter: shorterFleet,
  // What was drawn is kept as it is.
  tell: () => [],
};

/** Every history that lacks one thing, the largest things first. */
function* shorterFleet(history: FleetHistory): Generator<FleetHistory> {
  const without = <T>(all: readonly T[], one: T) => all.filter((other) => other !== one);
  const { processes, people, losses, illnesses, changes, store, service } = history;
  for (const one of processes) yield { ...history, processes: without(processes, one) };
  for (const one of people) yield { ...history, people: without(people, one) };
  for (const one of losses) yield { ...history, losses: without(losses, one) };
  for (const one of illnesses) yield { ...history, illnesses: without(illnesses, one) };
  for (const one of changes) yield { ...history, changes: without(changes, one) };
  if (history.vessels.length > 1) yield { ...history, vessels: history.vessels.slice(0, -1) };
  if (history.layout === 'delta') yield { ...history, layout: 'plain' };
  for (const kind of Object.keys(store) as (keyof typeof store)[])
    if (store[kind] > 0) yield { ...history, store: { ...store, [kind]: 0 } };
  for (const kind of Object.keys(service) as (keyof typeof service)[])
    if (service[kind] > 0) yield { ...history, service: { ...service, [kind]: 0 } };
  for (const kind of ['twice', 'undelivered'] as const)
    if (history[kind] > 0) yield { ...history, [kind]: 0 };
  if (history.lasting !== 'none') yield { ...history, lasting: 'none' };
  yield* simplerProcesses(history);
}

function* simplerProcesses(history: FleetHistory): Generator<FleetHistory> {
  const { processes } = history;
  for (const one of processes)
    for (const name of ['step', 'killAfter', 'pauseAfter', 'stopMs'] as const) {
      const { [name]: found, ...simpler } = one;
      if (found === undefined) continue;
      yield { ...history, processes: processes.map((other) => (other === one ? simpler : other)) };
    }
  for (const one of processes) {
    const simpler = { ...one, aheadMs: 0, select: 0 as const };
    if (one.aheadMs !== 0 || one.select === 1)
      yield { ...history, processes: processes.map((other) => (other === one ? simpler : other)) };
  }
}
