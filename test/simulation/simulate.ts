/**
 * `npm run simulate -- --seeds N [--from N] [--only plain|delta|upkeep|fleet]`: lives that many histories; of one that fails it
 * prints the shortest history that still does. `--planted`: a line for each planted defect, with the seed that has found it;
 * `--planted --name NAME`: only that one, and the shortest history that finds it. `--fleet VESSELSxDAYS`: what a
 * fleet of that size takes, as lines of JSON. Ends with 1 where a history fails, a cell of
 * the table was never visited by a thousand, or a defect is not found.
 */
import { parseArgs } from 'node:util';
import { misfitsOf, SEEDS_FOR_ALL_CELLS, tellVisits, type Visit } from './cells.ts';
import { type Crossing, tellCrossings } from './damage.ts';
import { drawFleetHistory } from './fleet-history.ts';
import { FLEET_HISTORIES } from './fleet-shrink.ts';
import { liveAtSize } from './fleet-size.ts';
import { drawHistory, PROFILES, type Profile } from './history.ts';
import { findPlanted } from './planted.ts';
import { HISTORIES, type Living, tellShortest } from './shrink.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    planted: { type: 'boolean', default: false },
    name: { type: 'string' },
    fleet: { type: 'string' },
  },
});
const KINDS = [...PROFILES, 'fleet'] as const;
const only = values.only as Profile | 'fleet' | undefined;
if (only !== undefined && !KINDS.includes(only)) {
  process.stderr.write(`--only: found ${only}, expected one of ${KINDS.join(', ')}\n`);
  process.exit(2);
}
const [from, seeds] = [Number(values.from), Number(values.seeds)];
/** A fleet's history takes as long as many others: one seed in so many has one too. */
const FLEET_EVERY = 25;
if (values.fleet !== undefined) await measureFleet(values.fleet);
const isSound = values.planted ? await findPlanted(values.name) : await simulate();
process.exit(isSound ? 0 : 1);

/** `100x10` and the like. */
async function measureFleet(size: string): Promise<never> {
  const [, vessels, days] = /^(\d{1,6})x(\d{1,4})$/.exec(size) ?? [];
  if (vessels === undefined) {
    process.stderr.write(`--fleet: found ${size}, expected VESSELSxDAYS, such as 100x30\n`);
    process.exit(2);
  }
  await liveAtSize(Number(vessels), Number(days), (part) =>
    process.stdout.write(`${JSON.stringify(part)}\n`),
  );
  process.exit(0);
}

async function simulate(): Promise<boolean> {
  const beganMs = performance.now();
  let [events, failed] = [0, 0];
  const visits = new Map<Visit, number>();
  const crossings = new Map<Crossing, number>();
  async function liveOne<H>(seed: number, history: H, how: Living<H>): Promise<void> {
    const { events: lived, fault } = await how.live(history, { visits, crossings });
    events += lived;
    if (fault === undefined) return;
    failed++;
    process.stdout.write(`seed ${seed}: ${fault}\n\n${await tellShortest(history, fault, how)}\n`);
  }
  for (let seed = from; seed < from + seeds; seed++) {
    if (only !== 'fleet') await liveOne(seed, drawHistory(seed, only), HISTORIES);
    if (only === 'fleet' || (only === undefined && seed % FLEET_EVERY === 0))
      await liveOne(seed, drawFleetHistory(seed), FLEET_HISTORIES);
  }
  const seconds = (performance.now() - beganMs) / 1_000;
  const { user, system } = process.cpuUsage();
  const pace = `${events} events, ${seconds.toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`;
  process.stdout.write(
    `${tellVisits(visits)}${tellCrossings(crossings)}${seeds} histories, ${failed} failed; ${pace}\n`,
  );
  const isMany = seeds >= SEEDS_FOR_ALL_CELLS && only === undefined;
  const misfits = misfitsOf(visits).filter((misfit) => isMany || !misfit.endsWith('never visited'));
  for (const misfit of misfits) process.stdout.write(`${misfit}\n`);
  return failed === 0 && misfits.length === 0;
}
