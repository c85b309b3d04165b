import { UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Scheduler } from '../../src/fleet/scheduler.ts';
import { createScheduler } from '../../src/fleet/scheduler.ts';
import { claimKey, datesBetween } from '../../src/model/index.ts';
import { openRedis } from '../../src/queue/redis.ts';
import { createScheduleState } from '../../src/queue/schedule-state.ts';
import { QUEUE_NAME } from '../../src/queue/vessel-day-queue.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { PlanningBench } from './planning-bench.ts';
import { JOB, openPlanningBench, VESSELS, withoutLookBacks } from './planning-bench.ts';

const server = await redisForTests();
const connection = server && (await openRedis(server.url));
const redis = connection?.openForQueue() as Redis;
const DAY_MS = 86_400_000;
const never = new AbortController().signal;

describe.skipIf(server === undefined)('the scheduler', () => {
  let bench: PlanningBench;
  let schedulers = 0;

  beforeEach(async () => {
    // A quarter past six: what ended at midnight is due, and the schedule fires.
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T06:15:00Z'));
  });
  afterEach(() => bench[Symbol.asyncDispose]());
  afterAll(async () => {
    await connection!.close();
    await server!.stop();
  });

  function start(jobs = [JOB]): Scheduler {
    const state = createScheduleState(redis, bench.prefix, `scheduler ${schedulers++}`);
    return createScheduler({ ...bench.planning, jobs, state: withoutLookBacks(state, bench.clock) });
  }

  const daysOf = (from: string, to: string) =>
    datesBetween(from, to).flatMap((date) => VESSELS.map((vessel) => `${vessel}/${date}`));

  async function workOff(): Promise<void> {
    for (const text of await bench.waiting()) {
      const [vessel, date] = text.split('/') as [string, string];
      await bench.workOn({ job: JOB.name, vessel, date });
    }
  }

  test('a firing queues what the ledger lacks inside the lookback, the newest first', async () => {
    await bench.finish({ job: JOB.name, vessel: VESSELS[0]!, date: '2026-01-08' });
    await start().look(never);
    const waiting = await bench.waiting();
    expect(waiting.toSorted()).toEqual(
      daysOf('2026-01-05', '2026-01-10')
        .filter((day) => day !== 'IMO9000001/2026-01-08')
        .toSorted(),
    );
    expect(waiting[0]).toContain('2026-01-09');
    expect(bench.missing.get(JOB.name)).toEqual([9, '2026-01-05']);
  });

  test('a firing is planned once', async () => {
    const scheduler = start();
    await scheduler.look(never);
    await workOff();
    await bench.clock.advance(DAY_MS / 2);
    await bench.store.remove('_ledger/measurements/date=2026-01-09/vessel=IMO9000001.json');
    await scheduler.look(never);
    await start().look(never);
    expect(await bench.waiting()).toEqual([]);
  });

  test('down for three days, it catches up on all of them, once', async () => {
    await start().look(never);
    await workOff();
    await bench.clock.advance(3 * DAY_MS + 3_600_000);
    const late = start();
    await late.look(never);
    expect((await bench.waiting()).toSorted()).toEqual(daysOf('2026-01-10', '2026-01-13').toSorted());
    await workOff();
    await late.look(never);
    expect(await bench.waiting()).toEqual([]);
  });

  test('a flushed Redis is filled again from the ledger', async () => {
    const scheduler = start();
    await scheduler.look(never);
    await bench.workOn({ job: JOB.name, vessel: VESSELS[0]!, date: '2026-01-09' });
    for (const key of await redis.keys(`${bench.prefix}:*`)) await redis.del(key);
    expect(await bench.waiting()).toEqual([]);
    await scheduler.look(never);
    expect(await bench.waiting()).toHaveLength(9);
    expect(await bench.waiting()).not.toContain('IMO9000001/2026-01-09');
  });

  test('days of other settings are stale, and queued again', async () => {
    for (const date of datesBetween('2026-01-05', '2026-01-10'))
      for (const vessel of VESSELS) await bench.finish({ job: JOB.name, vessel, date });
    await bench.finish({ job: JOB.name, vessel: VESSELS[1]!, date: '2026-01-07' }, 'other settings');
    await start().look(never);
    expect(await bench.waiting()).toEqual(['IMO9000002/2026-01-07']);
  });

  test('of two schedulers one plans', async () => {
    const [one, other] = [start(), start()];
    const stop = new AbortController();
    const running = [one.run(stop.signal), other.run(stop.signal)];
    await expect.poll(() => bench.waiting()).toHaveLength(10);
    await bench.clock.untilSleeping();
    stop.abort();
    await Promise.all(running);
    expect(await bench.waiting()).toHaveLength(10);
  });

  test('what may have passed is tried again with the next firing, poison is not', async () => {
    const [passing, poison] = VESSELS.map((vessel) => ({ job: JOB.name, vessel, date: '2026-01-09' }));
    await bench.queue.add([
      { ...passing!, kind: 'nightly', mayPass: true },
      { ...poison!, kind: 'nightly' },
    ]);
    const failer = new Worker(
      QUEUE_NAME,
      async () => {
        throw new UnrecoverableError('server-error: 503');
      },
      { connection: redis, prefix: bench.prefix },
    );
    await expect.poll(async () => (await bench.queue.deadLetters()).length).toBe(2);
    await failer.close();
    await start().look(never);
    expect(await bench.waiting()).toContain('IMO9000001/2026-01-09');
    expect((await bench.queue.deadLetters()).map(({ day }) => day)).toEqual([poison]);
  });

  test('the claim of a day that is done goes', async () => {
    const day = { job: JOB.name, vessel: VESSELS[0]!, date: '2025-06-01' };
    await bench.finish(day);
    await bench.store.put(claimKey(day, 1), Buffer.from('{}'));
    const live = { ...day, date: '2025-06-02' };
    await bench.store.put(claimKey(live, 1), Buffer.from('{}'));
    await start().look(never);
    const claims: string[] = [];
    for await (const { key } of bench.store.list('_checkpoints/')) claims.push(key);
    expect(claims).toEqual([claimKey(live, 1)]);
  });

  test('a job that cannot be planned does not stop the others', async () => {
    const broken = { ...JOB, name: 'broken', vessels: { discover: 'flat/*/*' } };
    await start([broken, JOB]).look(never);
    expect(await bench.waiting()).toHaveLength(10);
  });
});
