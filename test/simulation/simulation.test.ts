/** Some hundreds of histories of the simulated world; `npm run simulate` lives more, and finds planted defects. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { isLong } from '../helpers/tiers.ts';
import { describeStore } from '../store/conformance.ts';
import { misfitsOf, SUITE_SEEDS, type Visit } from './cells.ts';
import { type Crossing, DAMAGES, LEFTOVERS } from './damage.ts';
import { FOUND_IN_FLEETS } from './fleet-found.ts';
import { drawFleetHistory } from './fleet-history.ts';
import { liveFleet } from './fleet-live.ts';
import { FOUND } from './found.ts';
import { drawHistory } from './history.ts';
import { live } from './live.ts';
import { MUTANTS, planted } from './mutants.ts';
import { createPlace } from './place.ts';

/** In the long tier as many as visit all crossings of damages and leftovers too. */
const SEEDS = isLong ? Array.from({ length: 5_000 }, (_, at) => at + 1) : SUITE_SEEDS;
/** A history of a fleet takes half a second. */
const FLEET_SEEDS = isLong ? 500 : 6;
/** They take ten seconds of CPU, of which a busy machine gives little. */
const BOUND_MS = 900_000;
const SRC = resolve(import.meta.dirname, '../../src');

describeStore('simulated, without faults', async () => createPlace());
describeStore('simulated, with no condition on completing or removing', async () =>
  createPlace('no-complete'),
);

test('whatever processes, clocks, store and source do, every oracle holds', {
  timeout: BOUND_MS,
}, async () => {
  const faults: string[] = [];
  const visits = new Map<Visit, number>();
  const crossings = new Map<Crossing, number>();
  for (const seed of SEEDS) {
    const { fault } = await live(drawHistory(seed), { visits, crossings });
    if (fault !== undefined) faults.push(`npm run simulate -- --from ${seed} --seeds 1: ${fault}`);
  }
  expect(faults).toEqual([]);
  if (isLong) expect(crossings.size, 'damages × leftovers').toBe(DAMAGES.length * LEFTOVERS.length);
  expect(misfitsOf(visits)).toEqual([]);
});

test('whatever befalls a fleet, all is published in the end, and people are told once', {
  timeout: BOUND_MS,
}, async () => {
  const faults: string[] = [];
  for (let seed = 1; seed <= FLEET_SEEDS; seed++) {
    const { fault } = await liveFleet(drawFleetHistory(seed));
    if (fault !== undefined)
      faults.push(`npm run simulate -- --only fleet --from ${seed} --seeds 1: ${fault}`);
  }
  expect(faults).toEqual([]);
});

test('the same seed is the same history', async () => {
  for (const seed of [3, 44, 237, 507]) {
    const { digest } = await live(drawHistory(seed));
    expect((await live(drawHistory(seed))).digest).toBe(digest);
  }
  const { digest } = await liveFleet(drawFleetHistory(3));
  expect((await liveFleet(drawFleetHistory(3))).digest).toBe(digest);
});

test.each(FOUND)('$what', async ({ history }) => {
  expect((await live(history)).fault).toBeUndefined();
});

test.each(FOUND_IN_FLEETS)('$what', async ({ history }) => {
  expect((await liveFleet(history)).fault).toBeUndefined();
});

test.each(MUTANTS)('there is a place to plant: $name', (mutant) => {
  const text = readFileSync(join(SRC, mutant.file), 'utf8');
  expect(planted(mutant, text)).not.toBe(text);
});
