/**
 * What it takes to plan far past one night, against an exporter that takes no time:
 *
 *   node test/bench/far-backfill.ts [vessels, default 1000] [days, default 3650] [most to export, default all] [index]
 *
 * A backfill of which every second vessel-day is published, planned and topped up as the scheduler does it, with a
 * real queue in a real Redis. Prints one JSON line: the first look at the ledger, what planning took a vessel-day (of the
 * process, in which nothing else runs), memory as it went on, and Redis' peak. With `index` the lake has
 * one, as for a scheduler that takes over.
 */
import { addDays, silentLog, systemClock } from '../../src/core/model/index.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { createBackfillDriver } from '../../src/fleet/backfills.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { measureScript, startServer } from './child.ts';
import { API_VERSION, PublishedDays } from './instant-lake.ts';
import type { InstantWork } from './instant-worker.ts';

const PREFIX = 'figures';
const FROM = '2016-01-01';
const LOOK_MS = 200;
/** Memory is looked at so many times on the way. */
const SAMPLES = 10;

const [vessels = 1_000, days = 3_650, most = Number.POSITIVE_INFINITY] = process.argv.slice(2, 5).map(Number);
const range = { vessels, from: FROM, to: addDays(FROM, days) };
const vesselDays = vessels * days;
await using folder = await newTempFolder();
const published = new PublishedDays(folder.path, range);
const before = published.begin((date, vessel) => (date + vessel) % 2 === 0);
if (process.argv.includes('index')) {
  const args = [JSON.stringify({ dir: folder.path, range })];
  await measureScript(new URL('instant-index.ts', import.meta.url), args, {}, new AbortController().signal);
}
await using server = await startOwnRedis();
const work: InstantWork = { redisUrl: server.url, prefix: PREFIX, dir: folder.path, range };
await using _worker = await startServer('instant-worker.ts', [JSON.stringify(work)]);
const connection = await openRedis(server.url);
const queue = openVesselDayQueue({ redis: connection.openForQueue(), prefix: PREFIX });
const store = published.openStore(folder.path);

async function redisBytes(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await connection.client.info('memory'))?.[1]);
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const megabytes = (bytes: number) => Math.round(bytes / 1e6);

const ports = { store, clock: systemClock, log: silentLog, apiVersion: API_VERSION };
const driver = createBackfillDriver(
  {
    ports: ports as unknown as ExportPorts,
    queue,
    ledger: createLedgerView(store),
    log: silentLog,
  },
  {
    ...{ backfillVersion: 1, id: 'figures', job: published.job.name, from: range.from, to: range.to },
    ...{ vessels: [], allowShrink: false, paused: false, createdAt: '' },
  },
  published.job,
);

const idleRedis = await redisBytes();
const idleRss = process.memoryUsage.rss();
let [planMs, planCpuMs, redisPeak] = [0, 0, 0];
let exported = 0;
let firstLook: { wallMs: number; cpuMs: number } | undefined;
const rssMb: number[] = [];
const startedMs = performance.now();
for (;;) {
  const [wallBefore, cpuBefore] = [performance.now(), cpuMs()];
  const progress = await driver.step(new AbortController().signal);
  const [wallMs, ownCpuMs] = [performance.now() - wallBefore, cpuMs() - cpuBefore];
  firstLook ??= { wallMs: Math.round(wallMs), cpuMs: Math.round(ownCpuMs) };
  planMs += wallMs;
  planCpuMs += ownCpuMs;
  redisPeak = Math.max(redisPeak, await redisBytes());
  exported = progress.done - before;
  const wanted = Math.min(most, vesselDays - before);
  if (exported >= (rssMb.length * wanted) / SAMPLES) rssMb.push(megabytes(process.memoryUsage.rss()));
  if (progress.finished || exported >= most) break;
  await systemClock.sleep(LOOK_MS);
}
const figures = {
  ...{ vesselDays, before, exported },
  seconds: Math.round((performance.now() - startedMs) / 1_000),
  firstLook,
  planMsPerVesselDay: Number((planMs / (before + exported)).toFixed(3)),
  planCpuMsPerVesselDay: Number((planCpuMs / (before + exported)).toFixed(3)),
  idleRssMb: megabytes(idleRss),
  rssMb,
  redisPeakMb: Number(((redisPeak - idleRedis) / 1e6).toFixed(1)),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await connection.close();
await store.close();
