/** A fleet for a test: a service, a Redis of its own, a lake, and worker and scheduler processes that can be killed. */

import type { ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { BackfillOptions } from '../../src/cli/commands/backfill.ts';
import { backfillChangeCommand, backfillCommand } from '../../src/cli/commands/backfill.ts';
import type { CommandContext } from '../../src/cli/commands/context.ts';
import { gcCommand } from '../../src/cli/commands/gc.ts';
import type { StatusOptions } from '../../src/cli/commands/status.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import type { VesselDay } from '../../src/core/model/index.ts';
import { addDays, datesBetween, systemClock } from '../../src/core/model/index.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { BucketServer } from '../helpers/bucket-server.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { expectExactDay, lakeFiles, receiptOf } from '../helpers/lake.ts';
import { knowLimits, startOwnRedis } from '../helpers/redis.ts';
import type { JobFile, TestServiceOptions } from '../helpers/run.ts';
import { exportEnv, newLake, startProgram, startTestService, writeJobs } from '../helpers/run.ts';
import { copyLake } from '../helpers/s3.ts';
import { expectTableAgrees } from '../helpers/table.ts';
import { startFaultProxy } from '../store/fault-proxy.ts';
import type { FleetChildPlan } from './fleet-child.ts';

export const JOB = 'measurements';

export interface FleetOptions {
  readonly service?: TestServiceOptions;
  readonly job?: JobFile;
  readonly env?: Readonly<Record<string, string>>;
  /** Put the lake into a bucket of this server, over a line that can misbehave; default: a folder. */
  readonly bucketServer?: BucketServer | undefined;
}

export interface FleetProcess {
  readonly child: ChildProcess;
  readonly output: string;
  /** Resolves when the output matches; rejects when the process ends before. */
  until(shape: RegExp): Promise<void>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export type FleetBench = Awaited<ReturnType<typeof openFleetBench>>;

export async function openFleetBench(options: FleetOptions = {}) {
  const service = await startTestService(options.service);
  const select = (options.job?.select as string[] | undefined) ?? ['flat/{vessel}/S*'];
  const redis = await startOwnRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  await knowLimits(redis.url, 'vessel-export', service);
  const lake = await newLake();
  const bucket = options.bucketServer && (await openBucket(options.bucketServer));
  const jobsDir = await writeJobs({
    [JOB]: {
      dataset: 'measurements',
      vessels: { discover: 'flat/*/*' },
      select,
      ...options.job,
    },
  });
  const env = {
    ...exportEnv(service, bucket?.url ?? lake.url, jobsDir),
    ...bucket?.env,
    LOG_LEVEL: 'info',
    REDIS_URL: redis.url,
    HTTP_PORT: '0',
    WORKER_CONCURRENCY: '4',
    ...options.env,
  };
  const connection = await openRedis(redis.url);
  const queue = openVesselDayQueue({ redis: connection.openForQueue(), prefix: 'vessel-export' });
  const processes: FleetProcess[] = [];
  const untilIdle = () =>
    expect.poll(() => queue.depth()).toMatchObject({ active: 0, waiting: 0, prioritized: 0 });
  type Perform = (context: CommandContext) => Promise<number>;
  async function perform(command: Perform, signal = new AbortController().signal) {
    const texts = { stdout: '', said: '' };
    const screen = (...names: (keyof typeof texts)[]) => ({
      columns: 200,
      write: (text: string) => {
        for (const name of names) texts[name] += text;
      },
    });
    const screens = { stdout: screen('stdout', 'said'), stderr: screen('said') };
    return { code: await command({ env, signal, ...screens }), ...texts };
  }
  return {
    service,
    redis,
    /** The lake's folder. */
    lakeDir: lake.dir,
    /** The line to the bucket. */
    line: bucket?.line,
    queue,
    start(plan: FleetChildPlan, more: Readonly<Record<string, string>> = {}) {
      const started = startProcess({ ...env, ...more, FLEET_CHILD: JSON.stringify(plan) });
      processes.push(started);
      return started;
    },
    /** `vessel-export backfill` in this process; its exit code and what it said. */
    backfill: (command: BackfillOptions, signal?: AbortSignal) =>
      perform((context) => backfillCommand(context, JOB, command, { encoderThreads: 0 }, 200), signal),
    /** `vessel-export backfill cancel`; what is under way ends. */
    async cancel(id: string) {
      const cancel: Perform = (context) =>
        backfillChangeCommand('cancel')(context, [id], { encoderThreads: 0 });
      expect((await perform(cancel)).code).toBe(0);
      await expect.poll(() => queue.depth()).toMatchObject({ active: 0, prioritized: 0 });
    },
    /** How many receipts the lake has; asked without the line. */
    async receiptCount() {
      const store = await openStore(bucket?.url ?? lake.url, { ...env, ...bucket?.directEnv });
      let count = 0;
      for await (const _ of store.list(`_ledger/${JOB}/`)) count++;
      await store.close();
      return count;
    },
    /** `vessel-export gc --yes`, two days on. */
    async collectGarbage() {
      const clock = { ...systemClock, nowMs: () => Date.now() + 2 * 86_400_000 };
      expect((await perform((context) => gcCommand(context, { yes: true }, { clock }))).code).toBe(0);
    },
    /** The job's table, its receipts and its objects say the same: in a delta lake. */
    async expectTable() {
      const store = await openStore(bucket?.url ?? lake.url, { ...env, ...bucket?.directEnv });
      await expectTableAgrees(store, JOB).finally(() => store.close());
    },
    /** `vessel-export verify --deep` of the whole lake in this process. */
    verify: () => perform((context) => verifyCommand(context, [], { deep: true })),
    /** The first date from this on on which no vessel-day has been exported. */
    async firstOpenDate(from: string) {
      const keys = [...(await lakeFiles(lake.dir)).keys()];
      const dates = new Set(keys.map((key) => /^_ledger\/.*\/date=([\d-]+)\//.exec(key)?.[1]));
      let date = from;
      while (dates.has(date)) date = addDays(date, 1);
      return date;
    },
    /** `vessel-export status` in this process; what it printed. */
    status: (range: StatusOptions) => perform((context) => statusCommand(context, [], range)),
    /** Nothing waits in the queue, and nothing is under way. For as long as a worker lives: it takes what the dead left. */
    untilIdle,
    /**
     * Every day of the range, of every vessel, is in the lake as the service has it, and nothing else is left. With
     * `readTo` the readings of the days before it are compared, and of those after it the receipts only.
     */
    async expectExact(vessels: readonly string[], from: string, to: string, readTo = to) {
      await untilIdle();
      await bucket?.copyTo(lake.dir);
      for (const date of datesBetween(from, readTo)) {
        for (const vessel of vessels) {
          const day = { job: JOB, vessel, date };
          const expressions = select.map((expression) => expression.replace('{vessel}', vessel));
          await expectExactDay(service, { lakeDir: lake.dir, day, expressions });
        }
      }
      await expectNothingElse(lake.dir, vessels, datesBetween(from, to));
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of processes) child.kill('SIGKILL');
      await Promise.all(processes.map(({ ended }) => ended));
      await connection.close();
      await redis.stop();
      await service.close();
      await bucket?.close();
      await lake[Symbol.asyncDispose]();
      await rm(jobsDir, { recursive: true, force: true });
    },
  };
}

/** A bucket over a line that can misbehave; it is looked into without that line. */
async function openBucket(server: BucketServer) {
  const { bucket, drop } = await server.newBucket();
  const line = await startFaultProxy(server.origin);
  const url = server.urlOf(bucket);
  const directEnv = server.envAt(server.origin);
  return {
    url,
    env: server.envAt(line.endpoint),
    directEnv,
    line,
    copyTo: (dir: string) => copyLake(url, directEnv, dir),
    async close() {
      await line[Symbol.asyncDispose]();
      await drop();
    },
  };
}

/** Objects, receipts and details of these vessel-days, and no claim, upload, note or definition. */
async function expectNothingElse(dir: string, vessels: readonly string[], dates: readonly string[]) {
  const days: VesselDay[] = dates.flatMap((date) => vessels.map((vessel) => ({ job: JOB, vessel, date })));
  const objects = new Set(days.map(objectKey));
  const files = await lakeFiles(dir);
  const isTable = /"delta"/.test(String(files.get('_lake.json')));
  // What the dead have uploaded, and replaced files: gc removes them after the retention.
  const isTableFile = (key: string) =>
    isTable && /^[^_].*\/(_delta_log\/.*|[0-9a-f]{16}\.parquet)$/.test(key);
  const keys = [...files.keys()].filter((key) => key !== '_lake.json' && !isTableFile(key));
  expect(keys.filter((key) => !objects.has(key) && !/^_(ledger|detail|index)\//.test(key))).toEqual([]);
  expect(keys.filter((key) => key.startsWith('_ledger/'))).toHaveLength(days.length);
  for (const day of days) expect(await receiptOf(dir, day)).toMatchObject({ proof: 'exact' });
}

function startProcess(env: Readonly<Record<string, string>>): FleetProcess {
  const command = [process.execPath, join(import.meta.dirname, 'fleet-child.ts')];
  const started = startProgram(command, { ...COMPILE_CACHE, ...env });
  return {
    child: started.process,
    get output() {
      return started.stdout + started.stderr;
    },
    until: (shape) => started.until('stderr', shape),
    ended: started.ended.then(({ code, signal }) => ({ code, signal })),
  };
}

/** How many vessel-days a process has published, by its log. */
export function publishedBy({ output }: FleetProcess): string[] {
  return [...output.matchAll(/"vesselDay":"([^"]+)".*"msg":"published"/g)].map((match) => match[1]!);
}

/** A number that a worker or a scheduler shows at `/metrics`; NaN: it is not there. `name` with its labels. */
export async function metricOf(shown: FleetProcess, name: string): Promise<number> {
  const text = await (await fetch(`${httpOf(shown)}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? Number.NaN);
}

/** What it answers at `/ready`. */
export async function readinessOf(shown: FleetProcess): Promise<unknown> {
  return await (await fetch(`${httpOf(shown)}/ready`)).json();
}

function httpOf({ output }: FleetProcess): string {
  return (JSON.parse(/^.*"http":.*$/m.exec(output)![0]) as { http: string }).http;
}
