/**
 * `npm run soak`: the service of a made-up fleet, and that of a lake, under honest and hostile clients. Exits with 1
 * where an honest answer was wrong, or where memory, handles or temporary files grew after the first minute.
 *
 *   --minutes N    how long in all, default 10; half of it each
 */
import { parseArgs } from 'node:util';
import { runSoak } from './run-soak.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= 24 * 60))
  throw new Error(`--minutes: got '${values.minutes}', expected more than 0`);
// So that what was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
let faults = 0;
for (const { name, soaked, findings } of await runSoak({ forMs: minutes * 60_000 })) {
  const { honest, hostile, peakBytes, samples, handlesBefore, handlesAfter } = soaked;
  console.log(
    `${name}: ${honest} honest requests, ${soaked.wrong.length} of them wrong, beside ${hostile} hostile inputs; most memory ${Math.round(peakBytes / 2 ** 20)} MB; handles ${handlesBefore} before, ${Math.max(...samples.map(({ handles }) => handles))} at most, ${handlesAfter} after; temporary files and folders ${samples[0]?.tempFiles} at first, ${samples.at(-1)?.tempFiles} at the end`,
  );
  for (const finding of findings.slice(0, 20)) console.log(`  not held: ${finding}`);
  faults += findings.length;
}
process.exitCode = faults === 0 ? 0 : 1;
