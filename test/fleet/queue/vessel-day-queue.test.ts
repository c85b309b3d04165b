import { Worker } from 'bullmq';
import { beforeEach, describe, expect, test } from 'vitest';
import { silentLog, systemClock } from '../../../src/core/model/index.ts';
import { QUEUE_NAME } from '../../../src/fleet/queue/queued-day.ts';
import type { BullVesselDays, QueuedDay } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { openVesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { createScheduleState } from '../../../src/redis/schedule-state.ts';
import { queueRedisForTests } from '../../helpers/redis.ts';
import { describeQueue } from './queue-suite.ts';

const { server, connection, redis } = await queueRedisForTests();

function dayOf(date: string, more: Partial<QueuedDay> = {}): QueuedDay {
  return { job: 'measurements', vessel: 'IMO9321483', date, kind: 'nightly', ...more };
}

const FAULT = { code: 'disk-full', message: 'full', host: 'a', sinceMs: 1 };

describeQueue('BullMQ', server !== undefined, () => {
  const prefix = server!.newPrefix();
  const queue = openVesselDayQueue({ redis, prefix });
  const keysOf = (pattern: string) => redis.keys(`${prefix}:${pattern}`);
  const lockOf = (id: string) => queue.bull.toKey(`${id}:lock`);
  return {
    queue,
    state: (self) => createScheduleState(redis, prefix, self),
    async lock(id, token) {
      if (token === null) await redis.del(lockOf(id));
      else await redis.set(lockOf(id), token);
    },
    async takeAndDie() {
      const begun = Promise.withResolvers<void>();
      const take = () => {
        begun.resolve();
        return new Promise(() => {});
      };
      const stalled = { stalledInterval: 100, maxStalledCount: 1_000_000 };
      const dying = new Worker(QUEUE_NAME, take, {
        connection: redis,
        prefix,
        lockDuration: 60_000,
        ...stalled,
      });
      await begun.promise;
      await dying.close(true);
    },
    pause: () => queue.bull.pause(),
    flush: async () => void (await redis.del(await keysOf('*'))),
  };
});

describe.skipIf(server === undefined)('the queue of vessel-days in Redis', () => {
  let queue: BullVesselDays;
  let prefix: string;

  beforeEach(() => {
    prefix = server!.newPrefix();
    queue = openVesselDayQueue({ redis, prefix });
  });

  test('more than one round trip of vessel-days is known again', async () => {
    const days = Array.from({ length: 2_500 }, (_, n) =>
      dayOf('2026-01-05', { vessel: `IMO${9_000_000 + n}` }),
    );
    await queue.add(days);
    expect((await queue.known(days)).size).toBe(2_500);
    expect((await queue.failed(days)).size).toBe(0);
  });

  test('holds that are placed and lifted at once leave a marker and a pause, or neither', async () => {
    const connections = Array.from({ length: 6 }, () => connection!.openForQueue());
    const holds = connections.map((each) => openVesselDayQueue({ redis: each, prefix }).hold);
    const hold = { code: 'disk-full', message: 'full', host: 'a', sinceMs: 1 };
    for (let round = 0; round < 100; round++) {
      const steps = holds.map((each, index) => (index % 2 === 0 ? each.place(hold) : each.lift()));
      await Promise.all(steps);
      expect(await queue.bull.isPaused()).toBe((await holds[0]!.read()) !== undefined);
    }
  });

  test('a worker goes on with what waits when the hold is lifted, and a pause without a reason stays', async () => {
    const hold = queue.hold;
    await hold.place({ code: 'disk-full', message: 'full', host: 'a', sinceMs: 1 });
    await queue.add([dayOf('2026-01-05')]);
    const taken: unknown[] = [];
    const take = async (job: { data: unknown }) => void taken.push(job.data);
    const worker = new Worker(QUEUE_NAME, take, { connection: redis, prefix });
    await worker.waitUntilReady();
    expect(await hold.lift()).toBe(true);
    await expect.poll(() => taken).toMatchObject([{ date: '2026-01-05' }]);
    await queue.bull.pause();
    expect(await hold.lift()).toBe(false);
    expect(await queue.bull.isPaused()).toBe(true);
    await worker.close();
  });

  test('a queue whose hold has lost its reason says that it is paused, and somebody lifts it', async () => {
    const hold = queue.hold;
    await hold.place(FAULT);
    // As when one key of all is evicted or removed: the pause stays, or goes with its reason.
    const keys = await redis.keys(`${queue.bull.toKey('')}*`);
    for (const key of keys.filter((one) => one !== queue.bull.toKey('meta'))) await redis.del(key);
    expect(await hold.read()).toEqual(FAULT);
    for (const field of await redis.hkeys(queue.bull.toKey('meta')))
      if (field !== 'paused') await redis.hdel(queue.bull.toKey('meta'), field);
    expect(await hold.read()).toMatchObject({ code: 'paused', host: null, sinceMs: null });
    expect(await hold.lift()).toBe(false);
    expect(await hold.lift({ byHand: true })).toBe(true);
    expect(await hold.handLifts()).toBe(1);
    expect([await hold.read(), await queue.bull.isPaused()]).toEqual([undefined, false]);
    await hold.place(FAULT);
    await redis.del(queue.bull.toKey('meta'));
    expect([await hold.read(), await queue.bull.isPaused()]).toEqual([undefined, false]);
  });

  test('a reason beside no pause holds nothing up, and the next fault is told as a new one', async () => {
    const hold = queue.hold;
    await hold.place(FAULT);
    await queue.bull.resume();
    expect(await hold.read()).toBeUndefined();
    expect(await hold.lift({ byHand: true })).toBe(false);
    await hold.place(FAULT);
    await queue.bull.resume();
    const next = { ...FAULT, code: 'credentials-refused' };
    expect(await hold.place(next)).toBe(true);
    expect(await hold.read()).toEqual(next);
  });

  test('who waits for more work is not given back what he hands back as he stops', async () => {
    const begun = Promise.withResolvers<void>();
    await queue.add([dayOf('2026-01-05')]);
    const worker = queue.startWorker({
      ...{ concurrency: 2, clock: systemClock, random: () => 0, log: silentLog },
      ...{ onFault: async () => true, onTrouble: () => {} },
      perform: (_day, signal) => {
        begun.resolve();
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    await begun.promise;
    // It has room for another one, and blocks on the queue for it.
    const blocked = async () => Number(/^blocked_clients:(\d+)/m.exec(await redis.info('clients'))?.[1]);
    await expect.poll(blocked).toBeGreaterThan(0);
    await worker.stop();
    expect(await queue.depth()).toMatchObject({ waiting: 1, active: 0, failed: 0 });
  });
});
