/**
 * What planning and queueing cost, against an exporter that only writes receipts:
 *
 *   node test/bench/planning.ts [days, default 100: with 1,000 vessels 100,000 vessel-days]
 *
 * Prints one JSON line: milliseconds per vessel-day in the process that plans, the peak of Redis' memory (bounded
 * by the top-up), a scan of the ledger of 1,000 vessels × 30 days, the first time and again, and a firing that looks at
 * all of it, in a scheduler that begins and the next night.
 */

import { pathToFileURL } from 'node:url';
import { addDays, type Job, silentLog, systemClock } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { createBackfillDriver } from '../../src/fleet/backfills.ts';
import { createNightly } from '../../src/fleet/nightly.ts';
import { createBacklog } from '../../src/fleet/open-days.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { startVesselDayWorker } from '../../src/fleet/queue/vessel-day-worker.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { receiptKey } from '../../src/lake/keys.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { openStore } from '../../src/store/open-store.ts';
import { watched } from '../chaos/watched.ts';
import { makeReceipt } from '../helpers/ledger.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { newTempFolder } from '../helpers/temp.ts';

const VESSELS = Array.from({ length: 1_000 }, (_, n) => `IMO${9_100_000 + n}`);
const FROM = '2025-01-01';
const LOOK_MS = 500;
const JOB: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: VESSELS,
  select: ['flat/{vessel}/*'],
  transport: 'ndjson',
  verify: 'exact',
};

const days = Number(process.argv[2] ?? 100);
const hash = settingsHash(JOB, '2026-09-10');
const folder = await newTempFolder();
const server = await startOwnRedis();
const connection = await openRedis(server.url);
const redis = connection.openForQueue();
const store = await openStore(pathToFileURL(folder.path).href, {});
const queue = openVesselDayQueue({ redis, prefix: 'figures' });
let exported = 0;
const worker = startVesselDayWorker({
  redis,
  prefix: 'figures',
  concurrency: 50,
  clock: systemClock,
  random: Math.random,
  log: silentLog,
  perform: async (day) => {
    await store.put(receiptKey(day), jsonBytes(makeReceipt(day, { settingsHash: hash })));
    exported++;
  },
  onFault: async () => true,
  onTrouble: () => {},
});

async function redisBytes(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await connection.client.info('memory'))?.[1]);
}

async function planAll(): Promise<{ planMs: number; peakBytes: number }> {
  const ports = { store, clock: systemClock, log: silentLog, apiVersion: '2026-09-10' };
  const ledger = createLedgerView(store);
  const driver = createBackfillDriver(
    { ports: ports as unknown as ExportPorts, queue, ledger, log: silentLog },
    {
      backfillVersion: 1,
      id: 'figures',
      job: JOB.name,
      from: FROM,
      to: addDays(FROM, days),
      vessels: [],
      allowShrink: false,
      paused: false,
      createdAt: '',
    },
    JOB,
  );
  let planMs = 0;
  let peakBytes = 0;
  for (;;) {
    const startedMs = performance.now();
    const { finished } = await driver.step(new AbortController().signal);
    planMs += performance.now() - startedMs;
    peakBytes = Math.max(peakBytes, await redisBytes());
    if (finished) return { planMs, peakBytes };
    if (exported > VESSELS.length * days)
      throw new Error(
        `${exported} exports of ${VESSELS.length * days} vessel-days: what has a receipt is done again`,
      );
    await systemClock.sleep(LOOK_MS);
  }
}

async function scanLedger(): Promise<{ firstMs: number; againMs: number }> {
  const coverage = createBacklog({
    ports: { clock: systemClock, apiVersion: '2026-09-10' },
    job: JOB,
    vessels: VESSELS,
    from: FROM,
    to: addDays(FROM, 30),
    ledger: createLedgerView(store),
  });
  const startedMs = performance.now();
  await coverage.refresh();
  const firstMs = performance.now() - startedMs;
  await coverage.refresh();
  return { firstMs, againMs: performance.now() - startedMs - firstMs };
}

/** Firings of a job that has published all of it: of a scheduler that begins, and of the next night. */
async function planNights(): Promise<{ firstMs: number; nextMs: number }> {
  let nowMs = Date.parse(addDays(FROM, days)) + 43_200_000;
  const ports = {
    store,
    clock: { ...systemClock, nowMs: () => nowMs },
    log: silentLog,
    apiVersion: '2026-09-10',
  };
  const nightly = createNightly(
    { ports: ports as unknown as ExportPorts, queue, ledger: createLedgerView(store), log: silentLog },
    createScheduleState(redis, 'figures', 'nights'),
  );
  const job = { ...JOB, schedule: { cron: '15 6 * * *', timezone: 'UTC', settleMs: 0 } };
  const planMs = async () => {
    const startedMs = performance.now();
    await nightly.planIfFired(job, nowMs, new AbortController().signal);
    return performance.now() - startedMs;
  };
  const firstMs = await planMs();
  nowMs += 86_400_000;
  return { firstMs, nextMs: await planMs() };
}

const idleBytes = await redisBytes();
const startedMs = performance.now();
const { planMs, peakBytes } = await watched(planAll(), {
  howFar: async () => `${exported} of ${VESSELS.length * days} exports`,
  lastWords: () => '',
  say: (line) => process.stderr.write(`${line}\n`),
});
const seconds = (performance.now() - startedMs) / 1_000;
const { firstMs, againMs } = await scanLedger();
// What the next night queues is not to be exported.
await worker.stop();
const nights = await planNights();
const vesselDays = VESSELS.length * days;
const figures = {
  vesselDays,
  exported,
  seconds: Math.round(seconds),
  planMsPerVesselDay: Number((planMs / vesselDays).toFixed(2)),
  redisPeakMb: Number(((peakBytes - idleBytes) / 1e6).toFixed(1)),
  ledgerScanMs: {
    vesselDays: VESSELS.length * Math.min(days, 30),
    firstMs: Math.round(firstMs),
    againMs: Math.round(againMs),
  },
  firingMs: { vesselDays, firstMs: Math.round(nights.firstMs), nextNightMs: Math.round(nights.nextMs) },
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await connection.close();
await store.close();
await server.stop();
await folder.remove();
