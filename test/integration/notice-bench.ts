/** A scheduler, a worker and somebody who is told, in this process: real service, lake, Redis and listener; the test owns the time. */
import { cp, rm } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { AppOverrides } from '../../src/app.ts';
import type { Log, VesselDay } from '../../src/core/model/index.ts';
import { systemClock } from '../../src/core/model/index.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { openFleet } from '../../src/fleet/fleet.ts';
import type { NoticeWatch } from '../../src/fleet/notice-watch.ts';
import { openNoticeWatch } from '../../src/fleet/notice-watch.ts';
import type { Scheduler } from '../../src/fleet/scheduler.ts';
import { createScheduler } from '../../src/fleet/scheduler.ts';
import { startWork } from '../../src/fleet/work.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { createMetrics } from '../../src/runtime/monitoring/metrics.ts';
import type { TestRedis } from '../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../helpers/run.ts';
import {
  exportEnv,
  FEW_SERIES,
  mustExport,
  newLake,
  QUICK_LIMITS,
  startTestService,
  VESSEL,
  writeJobs,
} from '../helpers/run.ts';
import type { WebhookListener } from '../helpers/webhook-listener.ts';
import { startWebhookListener } from '../helpers/webhook-listener.ts';

/** The vessel-day of last night, half past six, when it has just become due, and a job that exports it. */
export const NIGHT: VesselDay = { job: 'measurements', vessel: VESSEL, date: '2026-01-07' };
export const MINUTE_MS = 60_000;
export const START_MS = Date.parse('2026-01-08T06:30:00Z');
export const NIGHTLY_JOB: JobFile = {
  ...FEW_SERIES,
  since: '2026-01-06',
  schedule: { cron: '15 6 * * *', settle: '6h' },
};

export interface NoticeBenchOptions {
  readonly service: TestService;
  /** A lake to begin with; it is copied. */
  readonly lakeDir: string;
  /** A lake that is there, in the place of the copy; it stays the caller's. */
  readonly place?: TestPlace;
  readonly job: JobFile;
  readonly redis: Pick<TestRedis, 'url'>;
  /** Of the keys in Redis. The limits of a new one make requests wait for two seconds: it may be used again. */
  readonly prefix: string;
  readonly startMs: number;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
  readonly overrides?: AppOverrides;
  /** What is told must be told although the lake, at times, can't be read: the error of such a look is kept. */
  readonly mayFail?: boolean;
}

/** `dir` is '' where it is no folder. */
export interface TestPlace {
  readonly url: string;
  readonly dir: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface NoticeBench extends AsyncDisposable {
  readonly lake: TestPlace;
  readonly fleet: Fleet;
  readonly env: Readonly<Record<string, string>>;
  readonly listener: WebhookListener;
  nowMs(): number;
  advance(ms: number): void;
  /** One look of the scheduler, and what people are told then; twice, as nothing may be told twice. */
  look(): Promise<string[]>;
  /** The same without the scheduler, which may be waiting for Redis. */
  lookForNews(): Promise<string[]>;
  /** Scheduler and notices begin anew, as after a restart or with another leader. */
  restart(): Promise<void>;
  /** Run a worker until the answer is called. */
  work(): () => Promise<void>;
  depth(): ReturnType<Fleet['queue']['depth']>;
  /** Log lines with this text so far. */
  said(msg: string): number;
}

const never = new AbortController().signal;
const JOB = 'measurements';

export async function openNoticeBench(options: NoticeBenchOptions): Promise<NoticeBench> {
  const { service, redis, prefix, startMs } = options;
  const copy = options.place === undefined ? await newLake() : undefined;
  if (copy !== undefined) await cp(options.lakeDir, copy.dir, { recursive: true });
  const lake: TestPlace = options.place ?? copy!;
  const jobsDir = await writeJobs({ [JOB]: options.job });
  const listener = await startWebhookListener();
  const env = {
    ...exportEnv(service, lake.url, jobsDir),
    REDIS_URL: redis.url,
    REDIS_PREFIX: prefix,
    WORKER_CONCURRENCY: '1',
    NOTIFY_URL: listener.url,
    NOTIFY_LATE_DAYS: '0',
    ...lake.env,
    ...options.env,
  };
  const config = loadConfig(env);
  const lines: string[] = [];
  const keep = (_: object, msg: string) => void lines.push(msg);
  const log: Log = { debug() {}, info: keep, warn: keep, error: keep };
  let shiftMs = 0;
  const nowMs = () => startMs + shiftMs;
  const clock = { ...systemClock, nowMs, monotonicMs: () => systemClock.monotonicMs() + shiftMs };
  const overrides = { clock, encoderThreads: 0 as const, clientLimits: QUICK_LIMITS, ...options.overrides };
  const fleet = await openFleet(config, env, log, overrides);
  const ends: (() => Promise<void>)[] = [];
  let schedulers = 0;
  let scheduler: Scheduler;
  let notices: NoticeWatch;

  function begin(): void {
    const watch = openNoticeWatch(config, fleet, log)!;
    notices = watch;
    scheduler = createScheduler({
      ...fleet.planning,
      onEvent: watch.onEvent,
      jobs: config.jobs,
      state: createScheduleState(fleet.redis as Redis, prefix, `scheduler ${schedulers++}`),
    });
    watch.onEvent({ kind: 'lead', leads: true });
  }
  begin();

  async function lookForNews(): Promise<string[]> {
    for (const _ of [1, 2])
      await notices.look(never).catch((error: unknown) => {
        if (options.mayFail !== true) throw error;
      });
    return listener.news();
  }

  return {
    lake,
    fleet,
    env,
    listener,
    nowMs,
    advance(ms) {
      shiftMs += ms;
    },
    async look() {
      await scheduler.look(never);
      return await lookForNews();
    },
    lookForNews,
    async restart() {
      await scheduler.stop();
      begin();
    },
    work() {
      const metrics = createMetrics({
        concurrencyLimit: () => 1,
        depth: () => fleet.queue.depth(),
        active: () => 0,
        oldestVesselDayMs: () => 0,
        oldestRequestMs: () => 0,
        takesWrites: async () => true,
        isHeld: async () => false,
      });
      const { worker, hold } = startWork(config, fleet, log, metrics.onEvent, {
        worker: { countAgainDelaysMs: [5, 5, 5], backoffMs: () => 5, maxWaitMs: 20 },
        hold: { pollMs: 20, probeMs: [20, 100] },
      });
      const stop = new AbortController();
      const watching = hold.watch(stop.signal);
      let ended: Promise<unknown> | undefined;
      const end = async () => {
        stop.abort();
        ended ??= Promise.all([worker.stop(), watching]);
        await ended;
      };
      ends.push(end);
      return end;
    },
    depth: () => fleet.queue.depth(),
    said: (msg) => lines.filter((line) => line === msg).length,
    async [Symbol.asyncDispose]() {
      await scheduler.stop();
      for (const end of ends) await end();
      for (const kind of ['vessel-days', 'schedule', 'notices']) {
        const keys = await fleet.redis.keys(`${prefix}:${kind}:*`);
        if (keys.length > 0) await fleet.redis.del(...keys);
      }
      await fleet.close();
      await listener[Symbol.asyncDispose]();
      await copy?.[Symbol.asyncDispose]();
      await rm(jobsDir, { recursive: true, force: true });
    },
  };
}

/** Later looks, a restart, another leader: nothing more is told. `minutes`: between the looks before the restart. */
export async function expectSilence(bench: NoticeBench, minutes: readonly number[] = [1, 6]): Promise<void> {
  for (const each of minutes) {
    bench.advance(each * MINUTE_MS);
    expect(await bench.look()).toEqual([]);
  }
  await bench.restart();
  expect(await bench.look()).toEqual([]);
  bench.advance(6 * MINUTE_MS);
  expect(await bench.look()).toEqual([]);
}

/** A service, and a lake that has the nights from `from` to the one before NIGHT. Both are the caller's to close. */
export async function publishNightsBefore(
  from: string,
  job: JobFile,
): Promise<{ readonly service: TestService; readonly base: TestLake }> {
  const base = await newLake();
  const service = await startTestService({ readingsPerDay: 1_000 });
  const clock = { ...systemClock, nowMs: () => Date.parse(`${NIGHT.date}T07:00:00Z`) };
  const args = { from, to: NIGHT.date };
  await mustExport({ service, lakeUrl: base.url, jobs: { [JOB]: job }, args, overrides: { clock } });
  return { service, base };
}

/** Resolves when nothing waits and nothing is under way. */
export async function idle({ depth }: NoticeBench): Promise<void> {
  const inQueue = async () => {
    const { waiting, prioritized, active, delayed } = await depth();
    return waiting + prioritized + active + delayed;
  };
  await expect.poll(inQueue).toBe(0);
}
