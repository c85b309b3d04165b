import { Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  DataError,
  FatalError,
  NotYetError,
  RateLimitedError,
  RetriableError,
} from '../../../src/core/errors.ts';
import { silentLog, systemClock } from '../../../src/core/model/index.ts';
import { QUEUE_NAME } from '../../../src/fleet/queue/queued-day.ts';
import type { BullVesselDays, QueuedDay } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { openVesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import type { VesselDayWorker, WorkerOptions } from '../../../src/fleet/queue/vessel-day-worker.ts';
import { startVesselDayWorker } from '../../../src/fleet/queue/vessel-day-worker.ts';
import { queueRedisForTests } from '../../helpers/redis.ts';

const { server, redis } = await queueRedisForTests();
const DAY: QueuedDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05', kind: 'nightly' };
const ID = 'measurements/IMO9321483/2026-01-05';

describe.skipIf(server === undefined)('a worker', () => {
  let queue: BullVesselDays;
  let prefix: string;
  const workers: VesselDayWorker[] = [];
  let troubles: string[];

  beforeEach(() => {
    prefix = server!.newPrefix();
    queue = openVesselDayQueue({ redis, prefix });
    troubles = [];
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop();
  });

  function startWorker(options: Partial<WorkerOptions> & Pick<WorkerOptions, 'perform'>): VesselDayWorker {
    const worker = startVesselDayWorker({
      redis,
      prefix,
      concurrency: 2,
      clock: systemClock,
      random: () => 0,
      log: silentLog,
      onFault: async () => true,
      onTrouble: (_day, _error, consequence) => troubles.push(consequence),
      ...options,
      timings: { countAgainDelaysMs: [5, 10, 15], backoffMs: () => 5, maxWaitMs: 20, ...options.timings },
    });
    workers.push(worker);
    return worker;
  }

  /** Fails with these, one after the other, and then succeeds; resolves then. */
  function failing(errors: unknown[]) {
    const { promise, resolve } = Promise.withResolvers<QueuedDay>();
    const perform = async (day: QueuedDay) => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      resolve(day);
    };
    return { perform, succeeded: promise };
  }

  /** Begins, and ends when it is told to. */
  function endless() {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const { promise: aborted, resolve: abort } = Promise.withResolvers<unknown>();
    const perform = (_day: QueuedDay, signal: AbortSignal) => {
      resolve();
      return new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => {
          abort(signal.reason);
          reject(signal.reason);
        }),
      );
    };
    return { begun, aborted, perform };
  }

  const inFailedSet = () => expect.poll(() => queue.deadLetters());

  test('takes nightly vessel-days before those of a backfill, and leaves nothing of them', async () => {
    const taken: string[] = [];
    const all = Promise.withResolvers<void>();
    await queue.add([
      { ...DAY, date: '2025-01-01', kind: 'backfill' },
      { ...DAY, date: '2025-06-01', kind: 'reconcile' },
      DAY,
    ]);
    startWorker({
      concurrency: 1,
      perform: async ({ kind }) => {
        if (taken.push(kind) === 3) all.resolve();
      },
    });
    await all.promise;
    expect(taken).toEqual(['nightly', 'reconcile', 'backfill']);
    await expect.poll(() => redis.keys(`${prefix}:vessel-days:measurements*`)).toEqual([]);
  });

  const comparedWith = { date: '2026-01-04', finishedAt: '2026-01-05T06:00:00Z', series: 10 };
  const waiting = { firstSeenAt: '', publishedFrom: '', selectedSeries: 2, comparedWith };
  test.for<[what: string, error: Error]>([
    ['is rate-limited', new RateLimitedError('rate-limited', 'slow down', 2)],
    ['lacks series', new NotYetError('fewer-series', '8 of 10', 2, waiting)],
  ])('a vessel-day that %s waits without costing an attempt, however often', async ([, error]) => {
    const { perform, succeeded } = failing(Array(12).fill(error));
    await queue.add([DAY]);
    startWorker({ perform });
    await succeeded;
    expect(troubles).toEqual(Array(12).fill('wait'));
  });

  test.for<[what: string, error: DataError | RetriableError, consequence: string, times: number]>([
    ['counts that disagree', new DataError('counts-disagree', '3 of 4'), 'count-again', 4],
    ['what may pass', new RetriableError('server-error', '503'), 'retry', 5],
  ])('of %s a vessel-day is tried some times, and then fails', async ([, error, consequence, times]) => {
    const { perform } = failing(Array(9).fill(error));
    await queue.add([DAY]);
    startWorker({ perform });
    const { code, message } = error;
    await inFailedSet().toMatchObject([{ day: { date: DAY.date }, code, message, mayPass: true }]);
    expect(troubles).toEqual(Array(times).fill(consequence));
    expect([...(await queue.failed([DAY]))]).toEqual([ID]);
  });

  test('what no retry fixes fails at once, and the others go on', async () => {
    const { perform, succeeded } = failing([new DataError('bad-record', 'no timestamp')]);
    await queue.add([DAY, { ...DAY, date: '2026-01-06' }]);
    startWorker({ perform, concurrency: 1 });
    expect((await succeeded).date).toBe('2026-01-06');
    await inFailedSet().toMatchObject([{ code: 'bad-record', message: 'no timestamp', mayPass: false }]);
  });

  test('a fault that concerns all goes to the hold, and the vessel-day back', async () => {
    const held: string[] = [];
    const { perform, succeeded } = failing([new FatalError('credentials-refused', 'refused')]);
    await queue.add([DAY]);
    startWorker({ perform, onFault: async ({ code }) => held.push(code) > 0 });
    await succeeded;
    expect(held).toEqual(['credentials-refused']);
    expect(await queue.deadLetters()).toEqual([]);
  });

  test("a fault that is the vessel-day's own counts as its attempt, and others go on meanwhile", async () => {
    const poisoned = { ...DAY, date: '2026-01-06' };
    const done: string[] = [];
    await queue.add([poisoned, DAY]);
    startWorker({
      concurrency: 1,
      onFault: async () => false,
      perform: async ({ date }) => {
        if (date === poisoned.date) throw new FatalError('no-permission', 'EACCES');
        done.push(date);
      },
    });
    await inFailedSet().toMatchObject([
      { day: { date: poisoned.date }, code: 'no-permission', mayPass: true },
    ]);
    expect(done).toEqual([DAY.date]);
    expect(troubles).toEqual(Array(5).fill('retry'));
  });

  test.each(['at once', 'while it waits for more'])(
    'stopping hands vessel-days back, at no cost: %s',
    async (when) => {
      const { begun, perform } = endless();
      await queue.add([DAY]);
      const worker = startWorker({ perform });
      await begun;
      // It has room for another one, and blocks on the queue for it: what is handed back would be given to it.
      if (when !== 'at once') await expect.poll(blockedClients).toBeGreaterThan(0);
      expect(worker.active).toBe(1);
      expect(worker.oldestMs).toBeGreaterThan(0);
      await worker.stop();
      expect(worker.oldestMs).toBe(0);
      expect(await queue.depth()).toMatchObject({ waiting: 1, active: 0, failed: 0 });
      expect((await queue.bull.getJob(ID))!.attemptsMade).toBe(0);
    },
  );

  /** Connections that wait for something to be put into a queue. */
  async function blockedClients(): Promise<number> {
    return Number(/^blocked_clients:(\d+)/m.exec(await redis.info('clients'))?.[1]);
  }

  test('a vessel-day that ignores the stop does not hold it up', async () => {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    await queue.add([DAY]);
    const worker = startWorker({
      timings: { stopMs: 50 },
      perform: () => {
        begun.resolve();
        return end.promise;
      },
    });
    await begun.promise;
    await worker.stop();
    end.resolve();
    expect(await queue.depth()).toMatchObject({ active: 1 });
  });

  /** A worker that takes the next vessel-day, found stalled if need be, and is killed while it has it. */
  async function takeAndDie(): Promise<void> {
    await take();
    await endLock();
  }

  /** The same, and its lock has not run out yet: nobody else takes the vessel-day. */
  async function take(): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const killed = new Worker(
      QUEUE_NAME,
      () => {
        begun.resolve();
        return new Promise(() => {});
      },
      {
        ...{ connection: redis, prefix, lockDuration: 60_000 },
        ...{ stalledInterval: 100, maxStalledCount: 1_000_000 },
      },
    );
    await begun.promise;
    await killed.close(true);
  }

  async function endLock(): Promise<void> {
    expect(await redis.del(`${prefix}:vessel-days:${ID}:lock`)).toBe(1);
  }

  /** Only locks of the dead run out: a worker may have to wait for a processor. */
  const QUICK = { lockMs: 60_000, stalledCheckMs: 100 };

  test('a vessel-day whose worker died is handed on twice, and then fails with a code of its own', async () => {
    await queue.add([DAY]);
    for (let worker = 1; worker <= 3; worker++) await takeAndDie();
    const tried: (string | undefined)[] = [];
    const perform: WorkerOptions['perform'] = async (_day, _signal, giveUp) => {
      tried.push(giveUp?.code);
      if (giveUp !== undefined) throw giveUp;
    };
    startWorker({ perform, timings: QUICK });
    await inFailedSet().toMatchObject([
      {
        code: 'workers-died',
        message: expect.stringMatching(
          /2026-01-05: found that 3 workers died.*expected at most 2;.*backfill measurements --failed/,
        ),
        mayPass: true,
      },
    ]);
    expect(tried).toEqual(['workers-died']);
    expect(troubles).toEqual(['fail']);
    // As the next firing does: the count begins anew.
    await queue.remove(DAY);
    await queue.add([DAY]);
    await expect.poll(() => tried).toEqual(['workers-died', undefined]);
  });

  test('a vessel-day that was done when its third worker died leaves the queue', async () => {
    await queue.add([DAY]);
    for (let worker = 1; worker <= 3; worker++) await takeAndDie();
    startWorker({ perform: async () => {}, timings: QUICK });
    await expect.poll(() => redis.keys(`${prefix}:vessel-days:measurements*`)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test('the last try of a vessel-day that two workers died with is made alone', async () => {
    const ends = Promise.withResolvers<void>();
    const suspectBegun = Promise.withResolvers<void>();
    const suspectEnds = Promise.withResolvers<void>();
    const allDone = Promise.withResolvers<void>();
    const events: string[] = [];
    const [before, after] = [
      { ...DAY, date: '2026-01-04' },
      { ...DAY, date: '2026-01-06' },
    ];
    await queue.add([DAY]);
    await takeAndDie();
    await take();
    await queue.add([before]);
    const beforeBegun = Promise.withResolvers<void>();
    const perform: WorkerOptions['perform'] = async ({ date }) => {
      events.push(`begin ${date}`);
      if (date === before.date) {
        beforeBegun.resolve();
        await ends.promise;
      }
      if (date === DAY.date) {
        suspectBegun.resolve();
        await suspectEnds.promise;
      }
      events.push(`end ${date}`);
      if (events.length === 6) allDone.resolve();
    };
    const worker = startWorker({ perform, concurrency: 3, timings: QUICK });
    await beforeBegun.promise;
    await endLock();
    // Both are taken; the suspect waits for the other to end.
    await expect.poll(() => worker.active).toBe(2);
    await expect.poll(() => events).toEqual(['begin 2026-01-04']);
    await queue.add([after]);
    ends.resolve();
    await suspectBegun.promise;
    expect(worker.active).toBe(1);
    suspectEnds.resolve();
    await allDone.promise;
    expect(events).toEqual(
      ['2026-01-04', '2026-01-05', '2026-01-06'].flatMap((date) => [`begin ${date}`, `end ${date}`]),
    );
  });

  test('a worker that stops hands back who waits for a lone turn', async () => {
    await queue.add([DAY]);
    await takeAndDie();
    await take();
    await queue.add([{ ...DAY, date: '2026-01-04' }]);
    const begun: string[] = [];
    const other = endless();
    const perform: WorkerOptions['perform'] = (day, signal) => {
      begun.push(day.date);
      return other.perform(day, signal);
    };
    const worker = startWorker({ perform, concurrency: 2, timings: QUICK });
    await other.begun;
    await endLock();
    await expect.poll(() => worker.active).toBe(2);
    await worker.stop();
    expect(begun).toEqual(['2026-01-04']);
    expect(await queue.depth()).toMatchObject({ waiting: 2, active: 0, failed: 0 });
  });

  test('who has lost the lock without knowing it writes no failure', async () => {
    const before = { ...DAY, force: true };
    const failed = Promise.withResolvers<void>();
    await queue.add([before]);
    startWorker({
      perform: async () => {
        await redis.set(`${prefix}:vessel-days:${ID}:lock`, 'someone else');
        throw new DataError('bad-record', 'no timestamp');
      },
      onTrouble: () => failed.resolve(),
    });
    await failed.promise;
    await workers[0]!.stop();
    expect((await queue.bull.getJob(ID))!.data).toEqual(before);
    expect(await queue.depth()).toMatchObject({ active: 1, failed: 0 });
  });

  test('a lost lock aborts the loser, which changes nothing of the job', async () => {
    const { begun, aborted, perform } = endless();
    await queue.add([DAY]);
    startWorker({ perform, timings: { lockMs: 200, stalledCheckMs: 60_000 } });
    await begun;
    await redis.set(`${prefix}:vessel-days:${ID}:lock`, 'someone else');
    expect(String(await aborted)).toContain('lock');
    expect(troubles).toEqual([]);
    expect(await redis.get(`${prefix}:vessel-days:${ID}:lock`)).toBe('someone else');
    expect(await queue.depth()).toMatchObject({ active: 1, failed: 0 });
  });
});
