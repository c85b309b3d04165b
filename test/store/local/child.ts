/**
 * A process of its own that writes to a local store. Arguments: a mode, the root, a key, then
 *   race NAME COUNT        says "ready", waits for a line, lets COUNT racers put, prints the winners as JSON
 *   overwrite BYTES        says "ready" after the first put, then goes on until it is killed; prints a failure
 *   put BYTES              puts once; prints "ok" or the error's code
 *   stopped-put VERSION    stops itself (SIGSTOP) between comparing and renaming; prints whether it then replaced it
 *   stopped-part           says "ready" with an upload of one part that is kept in memory, waits for a line,
 *                          sends part 2 and completes; prints the error's code
 */
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { createInterface } from 'node:readline';
import { createLocalStore } from '../../../src/store/local/local.ts';

const [mode, root = '', key = '', ...rest] = process.argv.slice(2);
const store = createLocalStore(root);
const codeOf = (error: unknown) => (error as { code?: string }).code ?? String(error);

async function ready(extra = ''): Promise<void> {
  console.log(`ready${extra}`);
  await once(createInterface({ input: process.stdin }), 'line');
  process.stdin.destroy();
}

switch (mode) {
  case 'race': {
    const racers = Array.from({ length: Number(rest[1]) }, (_, i) => `${rest[0]}-${i}`);
    await ready();
    const won = await Promise.all(racers.map((racer) => store.putIfAbsent(key, Buffer.from(racer))));
    console.log(JSON.stringify(racers.filter((_, i) => won[i])));
    break;
  }
  case 'overwrite': {
    const versions = ['a', 'b'].map((letter) => Buffer.alloc(Number(rest[0]), letter));
    try {
      for (let round = 0; ; round++) {
        await store.put(key, versions[round % 2]!);
        if (round === 0) console.log('ready');
      }
    } catch (error) {
      console.log(codeOf(error));
    }
    break;
  }
  case 'put':
    console.log(await store.put(key, Buffer.alloc(Number(rest[0]), 'x')).then(() => 'ok', codeOf));
    break;
  case 'stopped-put': {
    const rename = fs.rename;
    fs.rename = async (from, to) => {
      process.kill(process.pid, 'SIGSTOP');
      await rename(from, to);
    };
    syncBuiltinESMExports();
    const written = await store.putIf(key, Buffer.from('of the stopped one'), rest[0]!);
    console.log(written === undefined ? 'not replaced' : 'replaced');
    break;
  }
  case 'stopped-part': {
    const upload = await store.begin(key, 'stale');
    const first = await store.append(upload, 1, Buffer.from('stale 1'));
    await ready(` ${JSON.stringify({ upload, first })}`);
    const codes = [
      await store.append(upload, 2, Buffer.from('stale 2')).then(() => 'ok', codeOf),
      await store.publish(upload, [first]).then(() => 'ok', codeOf),
    ];
    console.log(codes.join(' '));
    break;
  }
  default:
    throw new Error(`unknown mode ${mode}`);
}
