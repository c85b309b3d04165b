/** Holds the folder of a service's engine until it is killed, or its input ends. */
import { createEngine } from '../../src/service/data/engine.ts';

const engine = createEngine(undefined);
await engine.connect();
process.stdout.write('open\n');
process.stdin.on('end', () => void engine.close().then(() => process.exit())).resume();
