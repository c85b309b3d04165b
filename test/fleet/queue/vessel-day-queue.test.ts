import { Worker } from 'bullmq';
import { beforeEach, describe, expect, test } from 'vitest';
import { QUEUE_NAME } from '../../../src/fleet/queue/queued-day.ts';
import type { BullVesselDays, QueuedDay } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { openVesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { createScheduleState } from '../../../src/redis/schedule-state.ts';
import { queueRedisForTests } from '../../helpers/redis.ts';

const { server, connection, redis } = await queueRedisForTests();

function dayOf(date: string, more: Partial<QueuedDay> = {}): QueuedDay {
  return { job: 'measurements', vessel: 'IMO9321483', date, kind: 'nightly', ...more };
}

const FAULT = { code: 'disk-full', message: 'full', host: 'a', sinceMs: 1 };

describe.skipIf(server === undefined)('the queue of vessel-days', () => {
  let queue: BullVesselDays;
  let prefix: string;

  beforeEach(() => {
    prefix = server!.newPrefix();
    queue = openVesselDayQueue({ redis, prefix });
  });

  test('holds a vessel-day once', async () => {
    await queue.add([dayOf('2026-01-05'), dayOf('2026-01-06')]);
    await queue.add([dayOf('2026-01-05', { kind: 'backfill' })]);
    expect(await queue.depth()).toMatchObject({ waiting: 2, prioritized: 0 });
    const days = ['2026-01-04', '2026-01-05', '2026-01-06'].map((date) => dayOf(date));
    expect([...(await queue.known(days))].sort()).toEqual([
      'measurements/IMO9321483/2026-01-05',
      'measurements/IMO9321483/2026-01-06',
    ]);
  });

  test('a vessel-day can be taken out and put in again', async () => {
    const day = dayOf('2026-01-05');
    await queue.add([day]);
    expect(await queue.remove(day)).toBe(true);
    await queue.add([day]);
    expect(await queue.depth()).toMatchObject({ waiting: 1 });
  });

  test('those of a backfill can be withdrawn, the others stay', async () => {
    await queue.add([dayOf('2026-01-05'), dayOf('2026-01-06', { kind: 'backfill' })]);
    expect(await queue.withdraw(({ kind }) => kind === 'backfill')).toBe(1);
    expect(await queue.depth()).toMatchObject({ waiting: 1, prioritized: 0 });
  });

  test('more than one round trip of vessel-days is known again', async () => {
    const days = Array.from({ length: 2_500 }, (_, n) =>
      dayOf('2026-01-05', { vessel: `IMO${9_000_000 + n}` }),
    );
    await queue.add(days);
    expect((await queue.known(days)).size).toBe(2_500);
    expect((await queue.failed(days)).size).toBe(0);
  });

  test('a hold is placed once, pauses, and is lifted', async () => {
    const [one, other] = [queue.hold, queue.hold];
    const hold = { code: 'credentials-refused', message: 'refused', host: 'a', sinceMs: 1 };
    expect(await one.place(hold)).toBe(true);
    expect(await other.place({ ...hold, host: 'b' })).toBe(false);
    expect(await other.read()).toEqual(hold);
    expect(await queue.bull.isPaused()).toBe(true);
    await queue.add([dayOf('2026-01-05')]);
    expect(await queue.depth()).toMatchObject({ waiting: 1 });
    expect(await other.lift()).toBe(true);
    expect(await one.lift()).toBe(false);
    expect(await one.read()).toBeUndefined();
    expect(await queue.bull.isPaused()).toBe(false);
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

  test('a fault that is met while somebody has paused the queue does not make it go on by itself', async () => {
    const hold = queue.hold;
    await queue.bull.pause();
    expect(await hold.place(FAULT)).toBe(false);
    expect(await hold.lift()).toBe(false);
    expect(await hold.read()).toMatchObject({ code: 'paused' });
  });

  test('one scheduler leads until it resigns', async () => {
    const [one, other] = [createScheduleState(redis, prefix, 'a'), createScheduleState(redis, prefix, 'b')];
    expect(await one.lead(60_000)).toBe(true);
    expect(await other.lead(60_000)).toBe(false);
    expect(await one.lead(60_000)).toBe(true);
    await other.resign();
    expect(await other.lead(60_000)).toBe(false);
    await one.resign();
    expect(await other.lead(60_000)).toBe(true);
  });
});
