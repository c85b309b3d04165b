/** A scheduler and workers in this process, on a published lake, a real service and a real Redis; the test owns the date. */
import { cp, rm } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { Log } from '../../src/core/model/index.ts';
import { systemClock } from '../../src/core/model/index.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { openFleet } from '../../src/fleet/fleet.ts';
import type { QueuedDay } from '../../src/fleet/queue/vessel-day-queue.ts';
import type { SchedulerOptions } from '../../src/fleet/scheduler.ts';
import { createScheduler } from '../../src/fleet/scheduler.ts';
import { startWork } from '../../src/fleet/work.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { acceptService } from '../helpers/lake.ts';
import type { TestRedis } from '../helpers/redis.ts';
import { knowLimits } from '../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../helpers/run.ts';
import { exportEnv, newLake, QUICK_LIMITS, writeJobs } from '../helpers/run.ts';

export type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string };

export interface LookBackBenchOptions {
  readonly service: TestService;
  /** A lake to begin with; it is copied. */
  readonly lakeDir: string;
  readonly jobs: Readonly<Record<string, JobFile>>;
  readonly redis: TestRedis;
  readonly nowMs: number;
}

export interface LookBackBench extends AsyncDisposable {
  readonly lake: TestLake;
  readonly fleet: Fleet;
  readonly env: Readonly<Record<string, string>>;
  nowMs: number;
  /** Log lines with this text so far. */
  said(msg: string): LogLine[];
  /** Lines of level error so far. */
  errors(): LogLine[];
  /** Resolves once so many look-backs have ended; the last one's line. */
  lookedBack(times: number): Promise<LogLine>;
  /** Run a scheduler until the answer is called. */
  schedule(more?: Pick<SchedulerOptions, 'onEvent' | 'intervalMs'>): () => Promise<void>;
  /** Run a worker, one vessel-day at a time, until the answer is called. */
  work(): () => Promise<void>;
  /** Everything that waits or is under way, as it was queued, in the order in which it will be taken. */
  queued(): Promise<QueuedDay[]>;
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>;
  /** Vessel-days in the order in which they were published. */
  published(): string[];
  /** Remove every key, as a flush of a Redis of its own would. */
  flush(): Promise<void>;
}

export async function openLookBackBench(options: LookBackBenchOptions): Promise<LookBackBench> {
  const { service, redis } = options;
  const lake = await newLake();
  await cp(options.lakeDir, lake.dir, { recursive: true });
  await acceptService(lake.dir, service);
  const jobsDir = await writeJobs(options.jobs);
  const prefix = redis.newPrefix();
  await knowLimits(redis.url, prefix, service);
  const env = {
    ...exportEnv(service, lake.url, jobsDir),
    REDIS_URL: redis.url,
    REDIS_PREFIX: prefix,
    WORKER_CONCURRENCY: '1',
  };
  const config = loadConfig(env);
  const lines: LogLine[] = [];
  const keep = (level: string) => (fields: object, msg: string) => lines.push({ ...fields, level, msg });
  const log: Log = { debug() {}, info: keep('info'), warn: keep('warn'), error: keep('error') };
  let { nowMs } = options;
  const monotonicMs = () => systemClock.monotonicMs() + nowMs - options.nowMs;
  const clock = { ...systemClock, nowMs: () => nowMs, monotonicMs };
  const overrides = { clock, encoderThreads: 0 as const, clientLimits: QUICK_LIMITS };
  const fleet = await openFleet(config, env, log, overrides);
  const { queue } = fleet;
  const ends: (() => Promise<void>)[] = [];
  const said = (msg: string) => lines.filter((line) => line.msg === msg);
  let schedulers = 0;

  function endable(end: () => Promise<void>): () => Promise<void> {
    let ended: Promise<void> | undefined;
    const once = () => {
      ended ??= end();
      return ended;
    };
    ends.push(once);
    return once;
  }

  return {
    lake,
    fleet,
    env,
    get nowMs() {
      return nowMs;
    },
    set nowMs(ms) {
      nowMs = ms;
    },
    said,
    errors: () => lines.filter(({ level }) => level === 'error'),
    async lookedBack(times) {
      await expect.poll(() => said('looked back').length).toBe(times);
      return said('looked back').at(-1)!;
    },
    schedule(more = {}) {
      const stop = new AbortController();
      const scheduler = createScheduler({
        ...fleet.planning,
        jobs: config.jobs,
        state: createScheduleState(fleet.redis as Redis, prefix, `scheduler ${schedulers++}`),
        intervalMs: 50,
        ...more,
      });
      const ended = scheduler.run(stop.signal);
      return endable(() => {
        stop.abort();
        return ended;
      });
    },
    work() {
      const { worker } = startWork(config, fleet, log, () => {}, {
        worker: { countAgainDelaysMs: [], backoffMs: () => 10 },
      });
      return endable(() => worker.stop());
    },
    async queued() {
      const jobs = await queue.bull.getJobs(['active', 'waiting', 'prioritized', 'delayed'], 0, -1, true);
      return jobs.map(({ data }) => data);
    },
    async idle() {
      const inQueue = async () => {
        const { waiting, prioritized, active, delayed } = await queue.depth();
        return waiting + prioritized + active + delayed;
      };
      await expect.poll(inQueue).toBe(0);
    },
    published: () => said('published').map(({ vesselDay }) => String(vesselDay)),
    async flush() {
      const keys = await fleet.redis.keys(`${prefix}:*`);
      if (keys.length > 0) await fleet.redis.del(...keys);
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
      await fleet.close();
      await lake[Symbol.asyncDispose]();
      await rm(jobsDir, { recursive: true, force: true });
    },
  };
}
