/**
 * `npm run hostile`: sends hostile inputs at the query service, the page and the exporter, prints what held and what did
 * not, and exits with 1 where anything did not.
 *
 *   --only NAME    categories whose names begin so; may be given again
 *   --face NAME    service, page or exporter alone
 *   --short        one input of each category, as the tests do
 *   --list         print what would be sent
 */
import { parseArgs } from 'node:util';
import type { Sent } from './input.ts';
import type { Choice, FaceName } from './run-hostile.ts';
import { FACES, listInputs, runHostile } from './run-hostile.ts';

interface Tally {
  readonly face: string;
  readonly category: string;
  sent: number;
  notHeld: number;
  peakBytes: number;
  slowestMs: number;
  elapsedMs: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      face: { type: 'string' },
      short: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const { only, short: isShort, face } = values;
  if (face !== undefined && !FACES.includes(face as FaceName))
    throw new Error(`--face: got '${face}', expected ${FACES.join(' or ')}`);
  const choice: Choice = { isShort, only, ...(face === undefined ? {} : { face: face as FaceName }) };
  const listed = listInputs(choice);
  if (listed.length === 0) throw new Error(`--only: no category begins with '${only.join(`' or '`)}'`);
  if (values.list) {
    for (const { face: side, category, name } of listed) console.log(`${side}\t${category}\t${name}`);
    return 0;
  }
  const tallies = new Map<string, Tally>();
  await runHostile(choice, (sent, side) => {
    count(tallies, sent, side);
    if (sent.finding !== undefined)
      console.log(`not held  ${side}, ${sent.category}: ${sent.name}\n          ${sent.finding}`);
  });
  return print([...tallies.values()]);
}

function count(tallies: Map<string, Tally>, sent: Sent, face: string): void {
  const key = `${face} ${sent.category}`;
  let tally = tallies.get(key);
  if (tally === undefined) {
    // Who waits for minutes sees that it goes on.
    console.error(`${face}: ${sent.category}`);
    tally = { face, category: sent.category, sent: 0, notHeld: 0, peakBytes: 0, slowestMs: 0, elapsedMs: 0 };
    tallies.set(key, tally);
  }
  tally.sent++;
  tally.elapsedMs += sent.elapsedMs;
  tally.peakBytes = Math.max(tally.peakBytes, sent.peakBytes);
  tally.slowestMs = Math.max(tally.slowestMs, sent.slowestMs);
  if (sent.finding !== undefined) tally.notHeld++;
}

function print(tallies: readonly Tally[]): number {
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
  console.log(
    `\n${'face'.padEnd(10)}${'category'.padEnd(30)}${'held'.padStart(6)}${'not held'.padStart(10)}${'peak'.padStart(9)}${'time'.padStart(8)}`,
  );
  for (const { face, category, sent, notHeld, peakBytes, slowestMs, elapsedMs } of tallies) {
    const health = slowestMs === 0 ? '' : `  slowest /health ${Math.round(slowestMs)} ms`;
    console.log(
      `${face.padEnd(10)}${category.padEnd(30)}${String(sent - notHeld).padStart(6)}${String(notHeld).padStart(10)}${megabytes(peakBytes).padStart(9)}${`${Math.round(elapsedMs / 1000)} s`.padStart(8)}${health}`,
    );
  }
  const sent = tallies.reduce((sum, tally) => sum + tally.sent, 0);
  const notHeld = tallies.reduce((sum, tally) => sum + tally.notHeld, 0);
  const peak = (face: string) =>
    megabytes(Math.max(0, ...tallies.filter((tally) => tally.face === face).map((tally) => tally.peakBytes)));
  console.log(
    `\n${sent} inputs: ${sent - notHeld} held, ${notHeld} not held; most memory: ${FACES.map((face) => `${face} ${peak(face)}`).join(', ')}`,
  );
  return notHeld === 0 ? 0 : 1;
}

// So that what was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
process.exitCode = await main();
