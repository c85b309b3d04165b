/** A build of the product with one defect: `node planted-child.ts NAME SEEDS [tell]` prints the first seed that finds it, and how. */
import { registerHooks } from 'node:module';
import { MUTANTS, planted } from './mutants.ts';
import type { Living } from './shrink.ts';

const [name = '', seeds = '2000', tell] = process.argv.slice(2);
const mutant = MUTANTS.find((one) => one.name === name);
if (mutant === undefined) throw new Error(`no planted defect is called ${name}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/src/${mutant.file}`)) return loaded;
    const text = Buffer.from(loaded.source as Uint8Array).toString();
    return { ...loaded, source: planted(mutant, text) };
  },
});
const { drawHistory } = await import('./history.ts');
const { drawFleetHistory } = await import('./fleet-history.ts');
const { FLEET_HISTORIES } = await import('./fleet-shrink.ts');
const { HISTORIES, tellShortest } = await import('./shrink.ts');
const { only } = mutant;

/** Does this history find it? Then it is told. */
async function finds<H>(seed: number, history: H, how: Living<H>): Promise<boolean> {
  const { fault } = await how.live(history);
  if (fault === undefined) return false;
  process.stdout.write(`${seed} ${fault.replaceAll('\n', ' ')}\n`);
  if (tell !== undefined) process.stdout.write(await tellShortest(history, fault, how));
  return true;
}

for (let seed = 1; seed <= Number(seeds); seed++) {
  const isFound =
    only === 'fleet'
      ? await finds(seed, drawFleetHistory(seed), FLEET_HISTORIES)
      : await finds(seed, drawHistory(seed, only), HISTORIES);
  if (isFound) break;
}
process.exit(0);
