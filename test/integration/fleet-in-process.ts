/** A fleet in this process: scheduler, worker and somebody who is told; real service, lake and Redis. The test owns the time. */
import { cp, rm } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { AppOverrides } from '../../src/app.ts';
import type { Log, VesselDay } from '../../src/core/model/index.ts';
import { systemClock } from '../../src/core/model/index.ts';
import { openFleet } from '../../src/fleet/fleet.ts';
import type { NoticeWatch } from '../../src/fleet/notice-watch.ts';
import { openNoticeWatch } from '../../src/fleet/notice-watch.ts';
import type { QueuedDay } from '../../src/fleet/queue/vessel-day-queue.ts';
import type { Scheduler, SchedulerOptions } from '../../src/fleet/scheduler.ts';
import { createScheduler } from '../../src/fleet/scheduler.ts';
import { startWork } from '../../src/fleet/work.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { acceptService } from '../helpers/lake.ts';
import type { TestRedis } from '../helpers/redis.ts';
import { knowLimits } from '../helpers/redis.ts';
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
import { startWebhookListener } from '../helpers/webhook-listener.ts';

const JOB = 'measurements';
export const MINUTE_MS = 60_000;
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string };

export interface InProcessOptions {
  readonly service: TestService;
  /** A lake to begin with; it is copied. */
  readonly lakeDir: string;
  /** A lake that is there, in the place of the copy; it stays the caller's. */
  readonly place?: TestPlace;
  /** The job `measurements`. */
  readonly job: JobFile;
  readonly redis: Pick<TestRedis, 'url'> & Partial<Pick<TestRedis, 'newPrefix'>>;
  readonly startMs: number;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
  readonly overrides?: AppOverrides;
}

/** `dir` is '' where it is no folder. */
export interface TestPlace {
  readonly url: string;
  readonly dir: string;
  readonly env?: Readonly<Record<string, string>>;
}

type More = Pick<SchedulerOptions, 'onEvent' | 'intervalMs'>;

export type InProcessFleet = Awaited<ReturnType<typeof openInProcessFleet>>;

export async function openInProcessFleet(options: InProcessOptions) {
  const { service, redis } = options;
  await using opened = new AsyncDisposableStack();
  const copy = options.place === undefined ? opened.use(await newLake()) : undefined;
  if (copy !== undefined) {
    await cp(options.lakeDir, copy.dir, { recursive: true });
    await acceptService(copy.dir, service);
  }
  const lake: TestPlace = options.place ?? copy!;
  const jobsDir = await writeJobs({ [JOB]: options.job });
  opened.defer(() => rm(jobsDir, { recursive: true, force: true }));
  const prefix = redis.newPrefix?.() ?? 'own';
  await knowLimits(redis.url, prefix, service);
  const env = {
    ...exportEnv(service, lake.url, jobsDir),
    ...{ REDIS_URL: redis.url, REDIS_PREFIX: prefix, WORKER_CONCURRENCY: '1' },
    ...{ ...lake.env, ...options.env },
  };
  const config = loadConfig(env);
  const lines: LogLine[] = [];
  const keep = (level: string) => (fields: object, msg: string) => lines.push({ ...fields, level, msg });
  const log: Log = { debug() {}, info: keep('info'), warn: keep('warn'), error: keep('error') };
  let shiftMs = 0;
  const nowMs = () => options.startMs + shiftMs;
  const clock = { ...systemClock, nowMs, monotonicMs: () => systemClock.monotonicMs() + shiftMs };
  const overrides = { clock, encoderThreads: 0 as const, clientLimits: QUICK_LIMITS, ...options.overrides };
  const fleet = await openFleet(config, env, log, overrides);
  opened.defer(() => fleet.close());
  /** Log lines with this text so far. */
  const said = (msg: string) => lines.filter((line) => line.msg === msg);
  let schedulers = 0;
  /** Workers of other processes, which take nothing. */
  const elsewhere = { workers: 1 };
  const workers = async () => elsewhere.workers + (await fleet.queue.workers());
  const planning = { ...fleet.planning, queue: { ...fleet.planning.queue, workers } };
  const stack = opened.move();

  function newScheduler(more: More = {}): Scheduler {
    const state = createScheduleState(fleet.redis as Redis, prefix, `scheduler ${schedulers++}`);
    return createScheduler({ ...planning, jobs: config.jobs, state, ...more });
  }

  function endable(end: () => Promise<unknown>): () => Promise<void> {
    let ended: Promise<unknown> | undefined;
    const once = async () => {
      ended ??= end();
      await ended;
    };
    stack.defer(once);
    return once;
  }

  return {
    ...{ lake, fleet, env, nowMs, said, newScheduler, elsewhere },
    advance(ms: number) {
      shiftMs += ms;
    },
    /** Lines of level error so far. */
    errors: () => lines.filter(({ level }) => level === 'error'),
    /** Resolves once so many look-backs have ended; the last one's line. */
    async lookedBack(times: number): Promise<LogLine> {
      await expect.poll(() => said('looked back').length).toBe(times);
      return said('looked back').at(-1)!;
    },
    /** Run a scheduler until the answer is called. */
    schedule(more: More = {}) {
      const stop = new AbortController();
      const ended = newScheduler({ intervalMs: 50, ...more }).run(stop.signal);
      return endable(() => {
        stop.abort();
        return ended;
      });
    },
    /** Run a worker, one vessel-day at a time, until the answer is called. */
    work() {
      const { worker, hold } = startWork(config, fleet, log, () => {}, {
        worker: { countAgainDelaysMs: [], backoffMs: () => 5, maxWaitMs: 20 },
        hold: { pollMs: 20, probeMs: [20, 100] },
      });
      const stop = new AbortController();
      const watching = hold.watch(stop.signal);
      return endable(() => {
        stop.abort();
        return Promise.all([worker.stop(), watching]);
      });
    },
    /** Everything that waits or is under way, as it was queued, in the order in which it will be taken. */
    async queued(): Promise<QueuedDay[]> {
      const states = ['active', 'waiting', 'prioritized', 'delayed'] as const;
      return (await fleet.queue.bull.getJobs([...states], 0, -1, true)).map(({ data }) => data);
    },
    /** Resolves when nothing waits and nothing is under way. */
    async idle() {
      const inQueue = async () => {
        const { waiting, prioritized, active, delayed } = await fleet.queue.depth();
        return waiting + prioritized + active + delayed;
      };
      await expect.poll(inQueue).toBe(0);
    },
    /** Vessel-days in the order in which they were published. */
    published: () => said('published').map(({ vesselDay }) => String(vesselDay)),
    /** Remove every key, as a flush of a Redis of its own would. */
    async flush() {
      const keys = await fleet.redis.keys(`${prefix}:*`);
      if (keys.length > 0) await fleet.redis.del(...keys);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The vessel-day of last night, half past six, when it has just become due, and a job that exports it. */
export const NIGHT: VesselDay = { job: JOB, vessel: VESSEL, date: '2026-01-07' };
export const START_MS = Date.parse('2026-01-08T06:30:00Z');
export const NIGHTLY_JOB: JobFile = {
  ...FEW_SERIES,
  since: '2026-01-06',
  schedule: { cron: '15 6 * * *', settle: '6h' },
};

export interface NoticeBenchOptions extends Omit<InProcessOptions, 'startMs'> {
  /** What is told must be told although the lake, at times, can't be read: the error of such a look is kept. */
  readonly mayFail?: boolean;
}

const never = new AbortController().signal;

/** And somebody who is told. */
export type NoticeBench = Awaited<ReturnType<typeof openNoticeBench>>;

/** It is half past six. */
export async function openNoticeBench(options: NoticeBenchOptions) {
  const listener = await startWebhookListener();
  const told = { NOTIFY_URL: listener.url, NOTIFY_LATE_DAYS: '0' };
  const base = await openInProcessFleet({ ...options, startMs: START_MS, env: { ...told, ...options.env } });
  const config = loadConfig(base.env);
  let scheduler: Scheduler;
  let notices: NoticeWatch;

  function begin(): void {
    notices = openNoticeWatch(config, base.fleet, base.fleet.app.ports.log)!;
    scheduler = base.newScheduler({ onEvent: notices.onEvent });
    notices.onEvent({ kind: 'lead', leads: true });
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
    ...base,
    listener,
    /** One look of the scheduler, and what people are told then; twice, as nothing may be told twice. */
    async look() {
      await scheduler.look(never);
      return await lookForNews();
    },
    /** The same without the scheduler, which may be waiting for Redis. */
    lookForNews,
    /** Scheduler and notices begin anew, as after a restart or with another leader. */
    async restart() {
      await scheduler.stop();
      begin();
    },
    async [Symbol.asyncDispose]() {
      await scheduler.stop();
      await base[Symbol.asyncDispose]();
      await listener[Symbol.asyncDispose]();
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
