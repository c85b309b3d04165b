/** A fleet for tests of its page: a service, a lake, and processes that report, each on connections of its own. */
import { rm } from 'node:fs/promises';
import type { AppOverrides } from '../../src/app.ts';
import type { Clock } from '../../src/core/model/index.ts';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { type Fleet, openFleet } from '../../src/fleet/fleet.ts';
import { createFleetNews, type FleetNews } from '../../src/fleet/fleet-news.ts';
import type { VesselDayWorker } from '../../src/fleet/queue/vessel-day-worker.ts';
import { startWork } from '../../src/fleet/work.ts';
import { DayMap } from '../../src/lake/ledger/day-map.ts';
import { createFleetReporter } from '../../src/redis/fleet-facts.ts';
import type { ProcessFacts } from '../../src/redis/fleet-shapes.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import type { WebPorts } from '../../src/web/ports.ts';
import { knowLimits } from '../helpers/redis.ts';
import type { JobFile, TestServiceOptions } from '../helpers/run.ts';
import { exportEnv, newLake, startTestService, VESSEL, writeJobs } from '../helpers/run.ts';

/** Many small time slices, so that rows come bit by bit. */
export const FLEET_OVERRIDES: AppOverrides = {
  encoderThreads: 0,
  sliceTargetRows: 300,
  clientLimits: { headersTimeoutMs: 500, retry: { baseDelayMs: 2, maxDelayMs: 20, maxAttempts: 1_000 } },
};

/** A process reports ten times as often. */
const TICK_MS = 2_000;
const REPORTING: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === TICK_MS ? ms / 10 : ms, signal),
};
/** What one look has seen is told to others for a tenth of the time. */
const LOOKING: Clock = { ...systemClock, monotonicMs: () => 10 * systemClock.monotonicMs() };

export type TestFleet = Awaited<ReturnType<typeof openTestFleet>>;

const DAY_MICROS = 86_400_000_000;

interface TestFleetOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly service?: TestServiceOptions;
  readonly jobs?: Readonly<Record<string, JobFile>>;
  readonly env?: Readonly<Record<string, string>>;
}

export async function openTestFleet(options: TestFleetOptions) {
  const service = await startTestService({ readingsPerDay: 20_000, ...options.service });
  await knowLimits(options.redisUrl, options.prefix, service);
  const lake = await newLake();
  const jobsDir = await writeJobs(options.jobs ?? { measurements: MEASUREMENTS });
  const env = {
    ...exportEnv(service, lake.url, jobsDir),
    REDIS_URL: options.redisUrl,
    REDIS_PREFIX: options.prefix,
    WORKER_CONCURRENCY: '2',
    ...options.env,
  };
  const config = loadConfig(env);
  const fleet = await openFleet(config, {}, silentLog, FLEET_OVERRIDES);
  const { app } = fleet;
  const { log, self, apiVersion, version } = app.ports;
  const ports: WebPorts = {
    ...{ store: app.store, jobs: config.jobs, clock: LOOKING, log, self, apiVersion, version },
    fleet,
  };
  const closers: (() => Promise<void>)[] = [];
  let toAnswer = Number.POSITIVE_INFINITY;
  service.faults = ({ family, range }) => {
    if (family !== 'measurements' || toAnswer === Number.POSITIVE_INFINITY) return undefined;
    const isLast = range !== undefined && range.toMicros % DAY_MICROS === 0;
    if (!isLast && toAnswer > 0) {
      toAnswer--;
      return undefined;
    }
    return { kind: 'stall', at: 'headers' };
  };

  async function tell(
    of: Fleet,
    self: Pick<ProcessFacts, 'role' | 'atOnce' | 'pid'>,
    active: () => number | null,
  ) {
    const news = createFleetNews({
      reporter: createFleetReporter(of),
      clock: REPORTING,
      log: silentLog,
      self: { host: 'north', version, ...self },
      active,
    });
    const stopped = new AbortController();
    const ended = news.run(stopped.signal);
    const stop = async () => {
      stopped.abort();
      await ended;
    };
    return { news, stop };
  }

  return {
    service,
    lake,
    config,
    /** Of commands. */
    env,
    /** Of the process that serves the page. */
    fleet,
    ports,
    /**
     * So many requests for measurements more are answered, and none after them until `release` is called. Before that no
     * vessel-day is done, however often this is called: the last of its time slices is not answered.
     */
    holdAfter: (requests: number) => {
      toAnswer = requests;
    },
    release: () => {
      toAnswer = Number.POSITIVE_INFINITY;
    },
    /** A worker of its own connections that works and tells. */
    async startWorker() {
      let news: FleetNews | undefined;
      const onRequest: AppOverrides['onRequest'] = (report) => news?.onEvent({ kind: 'request', ...report });
      const of = await openFleet(config, {}, silentLog, { ...FLEET_OVERRIDES, onRequest });
      const atOnce = config.settings.WORKER_CONCURRENCY;
      let worker: VesselDayWorker | undefined;
      const telling = await tell(of, { role: 'worker', atOnce, pid: 7 }, () => worker?.active ?? 0);
      news = telling.news;
      ({ worker } = startWork(config, of, silentLog, telling.news.onEvent));
      const stop = async () => {
        closers.splice(closers.indexOf(stop), 1);
        await worker?.stop();
        await telling.stop();
        await of.close();
      };
      closers.push(stop);
      return { worker, stop };
    },
    /** A process that only tells; with its own clock of Redis nobody is needed. */
    async startTelling(role: ProcessFacts['role'], pid = 8) {
      const of = await openFleet(config, {}, silentLog, FLEET_OVERRIDES);
      const isWorker = role === 'worker';
      const { news, stop } = await tell(of, { role, pid, atOnce: isWorker ? 2 : null }, () =>
        isWorker ? 0 : null,
      );
      const close = async () => {
        closers.splice(closers.indexOf(close), 1);
        await stop();
        await of.close();
      };
      closers.push(close);
      return { news, [Symbol.asyncDispose]: close };
    },
    async [Symbol.asyncDispose]() {
      for (const close of [...closers]) await close();
      await fleet.close();
      await service.close();
      await lake[Symbol.asyncDispose]();
      await rm(jobsDir, { recursive: true, force: true });
    },
  };
}

const MEASUREMENTS: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL],
  select: ['flat/{vessel}/S*'],
  schedule: { cron: '15 6 * * *', timezone: 'UTC', settle: '6h' },
};

/** What a scheduler learns of its job. */
const OF = { job: 'measurements' } as const;
export const learned = {
  missing: (missing: number, oldest: string) =>
    ({ ...OF, kind: 'missing', missing, oldest, unpublished: () => [] }) as const,
  failed: (failed: number, refused: number) =>
    ({ ...OF, kind: 'failed', failed, refused, letters: [], notes: new DayMap<never>() }) as const,
  lookedBack: (found: Readonly<Record<string, number>>, from: string, to: string) =>
    ({ ...OF, kind: 'looked-back', found, from, to, uncompared: [] }) as const,
};
