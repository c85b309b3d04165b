/** A build of the product with one defect: `node planted-child.ts NAME SEEDS` prints the first seed that finds it, and how. */
import { registerHooks } from 'node:module';
import { MUTANTS } from './mutants.ts';

const [name = '', seeds = '2000'] = process.argv.slice(2);
const mutant = MUTANTS.find((one) => one.name === name);
if (mutant === undefined) throw new Error(`no planted defect is called ${name}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/src/${mutant.file}`)) return loaded;
    const text = Buffer.from(loaded.source as Uint8Array).toString();
    if (!text.includes(mutant.find)) throw new Error(`${mutant.file} does not have what '${name}' replaces`);
    return { ...loaded, source: text.replace(mutant.find, () => mutant.put) };
  },
});
const { drawHistory } = await import('./history.ts');
const { live } = await import('./live.ts');
const { drawFleetHistory } = await import('./fleet-history.ts');
const { liveFleet } = await import('./fleet-live.ts');
const { only } = mutant;
const liveSeed = (seed: number) =>
  only === 'fleet' ? liveFleet(drawFleetHistory(seed)) : live(drawHistory(seed, only));
for (let seed = 1; seed <= Number(seeds); seed++) {
  const { fault } = await liveSeed(seed);
  if (fault === undefined) continue;
  process.stdout.write(`${seed} ${fault.replaceAll('\n', ' ')}\n`);
  break;
}
process.exit(0);
