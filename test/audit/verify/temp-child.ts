/** Holds a temp folder of a deep verify until it is killed: `temp-child.ts FOLDER LAKE_URL`. */
import { openTempObjects } from '../../../src/audit/verify/temp-objects.ts';

const [, , parent, lakeUrl] = process.argv;
await openTempObjects(parent!, lakeUrl!);
process.stdout.write('open\n');
process.stdin.on('end', () => process.exit()).resume();
