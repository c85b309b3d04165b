/** A queue of vessel-days, and worker processes, as users start them, that empty it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { VesselDay } from '../../src/core/model/index.ts';
import { formatVesselDay } from '../../src/core/model/index.ts';
import type { VesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { readReceipt } from '../../src/lake/ledger/ledger.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import type { BenchServer } from './child.ts';
import { queryEnv, writeJob } from './contenders.ts';

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
  /** CPU of all workers by the name of the thread, from the first vessel-day on; empty where there is no `/proc`. */
  readonly threadSeconds: ReadonlyMap<string, number>;
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
  for (const job of new Set(load.days.map((day) => day.job))) await writeJob(jobsDir, undefined, job);
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
    const pids = workers.map(({ pid }) => pid);
    const before = threadSeconds(pids);
    const startedMs = performance.now();
    await queue.add(load.days.map((day) => ({ ...day, kind: 'backfill' })));
    await untilEmpty(queue, signal);
    const seconds = (performance.now() - startedMs) / 1_000;
    const after = threadSeconds(pids);
    await queue.close();
    const used = [...after].map(([name, cpu]) => [name, cpu - (before.get(name) ?? 0)] as const);
    return { seconds, rows: await countRows(load.days, lakeDir), threadSeconds: new Map(used) };
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
    await connection.close();
    await rm(dir, { recursive: true, force: true });
  }
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

/** CPU that the threads of some processes have used since they began. */
function threadSeconds(pids: readonly number[]): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const pid of pids) {
    if (!existsSync(`/proc/${pid}/task`)) continue;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const read = (file: string) => readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'utf8');
      const name = thread === String(pid) ? 'main' : read('comm').trim();
      seconds.set(name, (seconds.get(name) ?? 0) + Number(read('schedstat').split(' ')[0]) / 1e9);
    }
  }
  return seconds;
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
    // taskset becomes what it starts.
    pid: child.pid!,
    ready,
    end: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
