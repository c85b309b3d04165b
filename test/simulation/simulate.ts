/**
 * `npm run simulate -- --seeds N [--from N] [--only plain|delta|upkeep]`: lives that many histories; of one that fails it prints
 * the shortest history that still does. `--planted`: a line for each planted defect, with the seed that has found it;
 * `--planted --name NAME`: only that one, and the shortest history that finds it. Ends with 1 where a history fails, a cell of
 * the table was never visited by a thousand, or a defect is not found.
 */
import { parseArgs } from 'node:util';
import { misfitsOf, SEEDS_FOR_ALL_CELLS, tellVisits, type Visit } from './cells.ts';
import { type Crossing, tellCrossings } from './damage.ts';
import { drawHistory, PROFILES, type Profile } from './history.ts';
import { live } from './live.ts';
import { findPlanted } from './planted.ts';
import { tellShortest } from './shrink.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    planted: { type: 'boolean', default: false },
    name: { type: 'string' },
  },
});
const only = values.only as Profile | undefined;
if (only !== undefined && !PROFILES.includes(only)) {
  process.stderr.write(`--only: found ${only}, expected one of ${PROFILES.join(', ')}\n`);
  process.exit(2);
}
const [from, seeds] = [Number(values.from), Number(values.seeds)];
const isSound = values.planted ? await findPlanted(values.name) : await simulate();
process.exit(isSound ? 0 : 1);

async function simulate(): Promise<boolean> {
  const beganMs = performance.now();
  let [events, failed] = [0, 0];
  const visits = new Map<Visit, number>();
  const crossings = new Map<Crossing, number>();
  for (let seed = from; seed < from + seeds; seed++) {
    const history = drawHistory(seed, only);
    const { events: lived, fault } = await live(history, { visits, crossings });
    events += lived;
    if (fault === undefined) continue;
    failed++;
    process.stdout.write(`seed ${seed}: ${fault}\n\n${await tellShortest(history, fault)}\n`);
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
