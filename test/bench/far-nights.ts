/**
 * What a firing of a job's schedule costs in a large fleet whose past days are published:
 *
 *   node test/bench/far-nights.ts [vessels, default 10000] [days, default 30] [no-index]
 *
 * Prints one JSON line: planning and queueing the newest night in a scheduler that begins, and in one that has planned the
 * night before; nothing takes vessel-days out of the queue, so that each night fills it. The lake has an index, as workers
 * leave it, unless `no-index` is said.
 */
import { addDays, silentLog, systemClock } from '../../src/core/model/index.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { createNightly } from '../../src/fleet/nightly.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { measureScript } from './child.ts';
import { API_VERSION, PublishedDays } from './instant-lake.ts';

const PREFIX = 'figures';
const FROM = '2026-01-01';
const HALF_DAY_MS = 43_200_000;

const [vessels = 10_000, days = 30] = process.argv.slice(2, 4).map(Number);
const range = { vessels, from: FROM, to: addDays(FROM, days + 2) };

await using folder = await newTempFolder();
const published = new PublishedDays(folder.path, range);
// All days but the two whose nights are planned here.
published.begin((date) => date < days);
if (!process.argv.includes('no-index')) {
  const script = new URL('instant-index.ts', import.meta.url);
  const args = [JSON.stringify({ dir: folder.path, range })];
  await measureScript(script, args, {}, new AbortController().signal);
}
const idleRssMb = Math.round(process.memoryUsage.rss() / 1e6);
await using server = await startOwnRedis();
const connection = await openRedis(server.url);
const redis = connection.openForQueue();
const queue = openVesselDayQueue({ redis, prefix: PREFIX });
const store = published.openStore(folder.path);
const job = { ...published.job, schedule: { cron: '15 6 * * *', timezone: 'UTC', settleMs: 0 } };
let nowMs = Date.parse(addDays(FROM, days + 1)) + HALF_DAY_MS;
const clock = { ...systemClock, nowMs: () => nowMs };
const nightly = createNightly(
  {
    ports: { store, clock, log: silentLog, apiVersion: API_VERSION } as unknown as ExportPorts,
    ...{ queue, ledger: createLedgerView(store), log: silentLog },
  },
  createScheduleState(redis, PREFIX, 'nights'),
);

async function planNight() {
  const [startedMs, { user, system }] = [performance.now(), process.cpuUsage()];
  const plan = await nightly.planIfFired(job, nowMs, new AbortController().signal);
  const used = process.cpuUsage({ user, system });
  return {
    ...plan,
    wallMs: Math.round(performance.now() - startedMs),
    cpuMs: Math.round((used.user + used.system) / 1_000),
    rssMb: Math.round(process.memoryUsage.rss() / 1e6),
  };
}

const first = await planNight();
nowMs += 2 * HALF_DAY_MS;
const next = await planNight();
const redisMb = Number(/^used_memory:(\d+)/m.exec(await connection.client.info('memory'))?.[1]) / 1e6;
const figures = { vesselDays: vessels * days, idleRssMb, first, next, redisMb: Number(redisMb.toFixed(1)) };
process.stdout.write(`${JSON.stringify(figures)}\n`);
await connection.close();
await store.close();
