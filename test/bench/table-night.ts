/** One night of a fleet into an empty lake, as `run` does it; prints what it asked of the store, and the log that it left. */
import { openApp } from '../../src/app.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import { exportJobs } from '../../src/export/run/run-jobs.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import type { ObjectStore } from '../../src/store/store.ts';

const [date] = process.argv.slice(2) as [string];
const { env } = process;
const calls = new Map<string, number>();

/** Lists are counted as calls: each is a page here. */
function counted(store: ObjectStore): ObjectStore {
  return new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        calls.set(String(name), (calls.get(String(name)) ?? 0) + 1);
        return value.apply(target, args);
      };
    },
  });
}

const config = loadConfig({ ...env });
const app = await openApp(config, env, silentLog, { wrapStore: counted });
const startedMs = performance.now();
let published = 0;
await exportJobs(
  app.ports,
  {
    ...{ jobs: config.jobs, from: date, to: addDays(date, 1), vessels: [] },
    ...{ force: false, allowShrink: false, takeover: false, concurrency: 8 },
  },
  (event) => {
    if (event.kind === 'day-result' && event.result.status === 'published') published++;
  },
  new AbortController().signal,
);
const wallMs = performance.now() - startedMs;
await app.close();
process.stdout.write(`${JSON.stringify({ published, wallMs, calls: Object.fromEntries(calls) })}\n`);
