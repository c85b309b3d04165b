/** A queue of vessel-days, and worker processes, as users start them, that empty it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { readReceipt } from '../../src/lake/ledger.ts';
import type { VesselDay } from '../../src/model/index.ts';
import { formatVesselDay } from '../../src/model/index.ts';
import type { VesselDayQueue } from '../../src/queue/vessel-day-queue.ts';
import { openVesselDayQueue } from '../../src/queue/vessel-day-queue.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { createLocalStore } from '../../src/store/local.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import type { BenchServer } from './child.ts';
import { queryEnv } from './contenders.ts';
import { VESSEL } from './prepared-day.ts';

/** Between looks at the queue. */
const LOOK_MS = 20;

export interface Fleet {
  readonly name: string;
  /** One worker each, on these cores as `taskset` takes them, or wherever there is room. */
  readonly workers: readonly { readonly cores?: string }[];
  /** Requests at once, of all workers together. */
  readonly concurrencyLimit: number;
  /** Of each worker. */
  readonly vesselDaysAtOnce: number;
}

/** Vessel-days of one vessel, and who serves them. */
export interface FleetLoad {
  readonly server: BenchServer;
  readonly days: readonly VesselDay[];
}

export interface FleetRun {
  readonly seconds: number;
  readonly rows: number;
}

/**
 * From the first vessel-day in the queue until the last one is out of it; the workers are ready before. Throws when
 * a vessel-day fails, or is without a receipt in the end.
 */
export async function runFleet(
  load: FleetLoad,
  fleet: Fleet,
  dir: string,
  signal: AbortSignal,
): Promise<FleetRun> {
  const [lakeDir, jobsDir] = [join(dir, 'lake'), join(dir, 'jobs')];
  await writeJobFiles(load, jobsDir);
  await using redis = await startOwnRedis();
  const env = {
    ...queryEnv(load.server),
    LAKE_URL: pathToFileURL(lakeDir).href,
    JOBS_DIR: jobsDir,
    REDIS_URL: redis.url,
    QUERY_MAX_CONCURRENCY: String(fleet.concurrencyLimit),
    WORKER_CONCURRENCY: String(fleet.vesselDaysAtOnce),
    HTTP_PORT: '0',
  };
  const connection = await openRedis(redis.url);
  const workers = fleet.workers.map(({ cores }) => startWorker(cores, env, signal));
  try {
    await Promise.all(workers.map(({ ready }) => ready));
    const queue = openVesselDayQueue({ redis: connection.openForQueue(), prefix: 'vessel-export' });
    const startedMs = performance.now();
    await queue.add(load.days.map((day) => ({ ...day, kind: 'backfill' })));
    await untilEmpty(queue, signal);
    const seconds = (performance.now() - startedMs) / 1_000;
    await queue.close();
    return { seconds, rows: await countRows(load.days, lakeDir) };
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
    await connection.close();
    await rm(dir, { recursive: true, force: true });
  }
}

async function writeJobFiles({ days }: FleetLoad, jobsDir: string): Promise<void> {
  await mkdir(jobsDir, { recursive: true });
  const text = `dataset: measurements\nvessels: [${VESSEL}]\nselect: ["flat/{vessel}/*"]\n`;
  for (const job of new Set(days.map((day) => day.job))) await writeFile(join(jobsDir, `${job}.yaml`), text);
}

async function untilEmpty(queue: VesselDayQueue, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const { waiting, prioritized, active, delayed, failed } = await queue.depth();
    if (failed > 0) throw new Error(`a vessel-day failed: ${(await queue.deadLetters())[0]?.message}`);
    if (waiting + prioritized + active + delayed === 0) return;
    await sleep(LOOK_MS);
  }
}

async function countRows(days: readonly VesselDay[], lakeDir: string): Promise<number> {
  const store = createLocalStore(lakeDir);
  let rows = 0;
  for (const day of days) {
    const receipt = await readReceipt(store, day);
    if (receipt === undefined) throw new Error(`${formatVesselDay(day)} left the queue without a receipt`);
    rows += receipt.rows;
  }
  return rows;
}

/** `vessel-export worker` in a process of its own. */
function startWorker(cores: string | undefined, env: Readonly<Record<string, string>>, signal: AbortSignal) {
  const command = [process.execPath, new URL('../../src/bin.js', import.meta.url).pathname, 'worker'];
  const [program, ...args] = cores === undefined ? command : ['taskset', '-c', cores, ...command];
  const child = spawn(program!, args, {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  // An abort is an error too; what matters is that the process is gone.
  child.on('error', () => {});
  const ended = once(child, 'close');
  const lines: string[] = [];
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stderr! }).on('line', (line) => {
    lines.push(line);
    if (line.includes('worker is ready')) resolve();
  });
  void ended.then(() => reject(new Error(`a worker ended too early:\n${lines.slice(-5).join('\n')}`)));
  return {
    ready,
    end: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
