import { drawHistory } from './history.ts';
import { createWorld, fromSeed } from './world.ts';

const seed = Number(process.argv[2] ?? 1);
const h = drawHistory(seed);
const w = await fromSeed(seed, async () => {
  const w = createWorld(h, true);
  await w.scheduler.run(() => false);
  return w;
});
console.log(w.lines.join('\n'));
console.log(
  w.digest(),
  w.scheduler.events,
  w.changes.length,
  w.ended.map((e) => `${e.act.name} ${e.error ?? ''}`),
);
