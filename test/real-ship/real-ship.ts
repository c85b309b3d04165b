/** `npm run real-ship -- FILE`: readings of a real ship, to be served by `vessel-export service --replay FILE`. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/errors.ts';
import { parseFrames } from './frames.ts';
import { linesOf, readingsOf } from './readings.ts';
import { fetchRecording, RECORDED_ON, RECORDING_PACKAGE, SHIP } from './recording.ts';

const USAGE = `usage: npm run real-ship -- FILE
Takes ${RECORDING_PACKAGE} from the registry and writes ten minutes of a real ship's readings to FILE (NDJSON).`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  });
  const [path] = positionals;
  if (values.help || path === undefined || positionals.length > 1) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const frames = parseFrames(await fetchRecording());
  const ship = readingsOf(frames, SHIP);
  await writeFile(path, linesOf(ship));
  process.stdout.write(
    `${frames.length} frames, ${ship.series.size} series and ${ship.readings.length} readings of IMO${SHIP.imo} on ${RECORDED_ON}: ${path}\n` +
      `Next: npx vessel-export service --replay ${path}\n`,
  );
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`real-ship: ${messageOf(error)}\n${USAGE}\n`);
  process.exitCode = 1;
}
