import { drawHistory } from './history.ts';
import { live } from './live.ts';

const from = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1);
const t = performance.now();
let faults = 0;
let events = 0;
const kinds = new Map<string, number[]>();
for (let seed = from; seed < from + count; seed++) {
  const lived = await live(drawHistory(seed, process.argv[4] as never), count === 1);
  events += lived.events;
  if (count === 1) console.log(lived.lines.join('\n'), lived.digest);
  if (lived.fault) {
    faults++;
    const k = lived.fault
      .replace(/\d{2,}/g, '#')
      .replace(/^.*?: /, '')
      .slice(0, 60);
    kinds.set(k, [...(kinds.get(k) ?? []), seed]);
    if (faults <= 10) console.log(seed, lived.fault.slice(0, 500));
  }
}
for (const [k, s] of kinds) console.log(s.length, k, s.slice(0, 8).join(' '));
console.log(count, 'histories', faults, 'faults', events, 'events', (performance.now() - t) / 1000, 's');
