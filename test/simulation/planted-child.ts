/** A build of the product with one defect: `node planted-child.ts NAME SEEDS [tell]` prints the first seed that finds it, and how. */
import { registerHooks } from 'node:module';
import { MUTANTS, planted } from './mutants.ts';

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
const { live } = await import('./live.ts');
const { tellShortest } = await import('./shrink.ts');
for (let seed = 1; seed <= Number(seeds); seed++) {
  const history = drawHistory(seed, mutant.only);
  const { fault } = await live(history);
  if (fault === undefined) continue;
  process.stdout.write(`${seed} ${fault.replaceAll('\n', ' ')}\n`);
  if (tell !== undefined) process.stdout.write(await tellShortest(history, fault));
  break;
}
process.exit(0);
