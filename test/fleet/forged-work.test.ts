/** A worker that is given forged vessel-days: they become neither keys of the lake nor labels of metrics. */
import { rm } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import { openFleet } from '../../src/fleet/fleet.ts';
import { startWork } from '../../src/fleet/work.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { createMetrics } from '../../src/runtime/monitoring/metrics.ts';
import { hostileNames } from '../helpers/hostile-text.ts';
import { lakeFiles } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import { DATE, exportEnv, FEW_SERIES, newLake, startTestService, VESSEL, writeJobs } from '../helpers/run.ts';

const server = await redisForTests();
afterAll(() => server?.stop());

test.skipIf(server === undefined)('forged vessel-days leave no note and at most one label', async () => {
  await using lake = await newLake();
  const service = await startTestService({ readingsPerDay: 1_000 });
  const jobsDir = await writeJobs({ measurements: FEW_SERIES });
  const redis = { REDIS_URL: server!.url, REDIS_PREFIX: server!.newPrefix(), WORKER_CONCURRENCY: '2' };
  const config = loadConfig({ ...exportEnv(service, lake.url, jobsDir), ...redis });
  const fleet = await openFleet(config, {}, silentLog, { encoderThreads: 0 });
  const { queue } = fleet;
  const metrics = createMetrics({
    concurrencyLimit: () => 1,
    depth: () => queue.depth(),
    active: () => 0,
    oldestVesselDayMs: () => 0,
    oldestRequestMs: () => 0,
    takesWrites: async () => true,
    isHeld: async () => false,
  });
  const day = { job: 'measurements', vessel: VESSEL, date: DATE, kind: 'nightly' } as const;
  const forged = [
    { ...day, vessel: '../../_receipts/x' },
    { ...day, vessel: `IMO9321483/${hostileNames.all}` },
    { ...day, job: 'a/../../b' },
  ];
  for (const [index, data] of forged.entries()) await queue.bull.add('nightly', data, { jobId: `x${index}` });
  const unknown = Array.from({ length: 50 }, (_, n) => ({ ...day, job: `job-${n}` }));
  await queue.add([...unknown, day]);
  const { worker } = startWork(config, fleet, silentLog, metrics.onEvent);
  try {
    await expect.poll(() => queue.depth()).toMatchObject({ waiting: 0, active: 0, failed: 50 });
    const { text } = await metrics.read();
    const labels = new Set([...text.matchAll(/^vessel_export_.*job="([^"]*)"/gm)].map(([, job]) => job));
    expect([...labels].sort()).toEqual(['(unknown)', 'measurements']);
    expect(text).toContain('vessel_days_total{job="(unknown)",outcome="failed"} 50');
    const keys = [...(await lakeFiles(lake.dir)).keys()];
    expect(keys.filter((key) => !key.includes(`vessel=${VESSEL}`) && key !== '_lake.json')).toEqual([]);
    expect(keys.filter((key) => key.startsWith('_notes/'))).toEqual([]);
    expect(keys.some((key) => key.startsWith('_ledger/measurements/'))).toBe(true);
  } finally {
    await worker.stop();
    await fleet.close();
    await service.close();
    await rm(jobsDir, { recursive: true });
  }
});
