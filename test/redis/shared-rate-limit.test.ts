import { afterAll, describe, expect, test } from 'vitest';
import { SharedRateLimit } from '../../src/redis/shared-rate-limit.ts';
import { redisForTests } from '../helpers/redis.ts';
import { describeRateLimit } from '../source/fetch/rate-limit-conformance.ts';
import { startRedisTime } from './redis-time.ts';

const redis = await redisForTests();
afterAll(() => redis?.stop());

type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** As many processes as there are rate limits; undefined is none. */
async function startFleet(perMinute: readonly (number | undefined)[]) {
  const prefix = redis!.newPrefix();
  const time = await startRedisTime(redis!.url, prefix);
  const processes = await Promise.all(perMinute.map(() => time.openProcess()));
  let exchanges = 0;
  const handles = processes.map(
    ({ connection, clock }, index) =>
      new SharedRateLimit({
        connection: {
          ...connection,
          run: (...args) => {
            exchanges += 1;
            return connection.run(...args);
          },
        },
        clock,
        prefix,
        group: 'all',
        perMinute: perMinute[index],
        random: () => 0.5,
        redisNow: time.redisNow,
      }),
  );
  await time.settle();
  return {
    time,
    handles,
    processes,
    /** Exchanges with Redis so far. */
    exchanges: () => exchanges,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(handles.map((rateLimit) => rateLimit.close()));
      await time.close();
    },
  };
}

/** Moments at which turns were given. */
function take(fleet: Fleet, index: number, count: number): number[] {
  const turns: number[] = [];
  for (let i = 0; i < count; i++)
    void fleet.handles[index]!.take().then(() => turns.push(fleet.time.nowMs()));
  return turns;
}

describe.skipIf(!redis)('the shared rate limit', () => {
  describeRateLimit('the shared rate limit', async (perMinute) => {
    const fleet = await startFleet([perMinute, perMinute]);
    return {
      handles: [fleet.handles[0]!, fleet.handles[1]!],
      coolDownMs: 5_000,
      recoverMs: 30_000,
      nowMs: fleet.time.nowMs,
      passTime: fleet.time.passTime,
      settle: fleet.time.settle,
      close: async () => fleet[Symbol.asyncDispose](),
    };
  });

  test('processes take turns, however many callers of one wait', async () => {
    await using fleet = await startFleet([60, 60]);
    const greedy = take(fleet, 0, 10);
    await fleet.time.settle();
    const modest = take(fleet, 1, 2);
    await fleet.time.passTime(5_000);
    expect(modest).toEqual([2_000, 4_000]);
    expect(greedy).toEqual([0, 1_000, 3_000, 5_000]);
    await fleet.time.passTime(60_000);
  });

  test('the smallest rate limit of the processes at work counts', async () => {
    await using fleet = await startFleet([60, 30]);
    const turns = [take(fleet, 0, 2), take(fleet, 1, 2)];
    await fleet.time.passTime(10_000);
    expect(turns.flat().sort((a, b) => a - b)).toEqual([0, 2_000, 4_000, 6_000]);
    expect(fleet.handles[0]!.perMinute).toBe(30);
  });

  test('a turn that came for someone who had just left is given to another', async () => {
    await using fleet = await startFleet([60, 60]);
    const { connection } = fleet.processes[0]!;
    const { run } = connection;
    const controller = new AbortController();
    Object.assign(connection, {
      run: async (...args: Parameters<typeof run>) => {
        const answer = await run(...args);
        controller.abort(new Error('enough'));
        return answer;
      },
    });
    await expect(fleet.handles[0]!.take(controller.signal)).rejects.toThrow('enough');
    await fleet.time.settle();
    const turns = take(fleet, 1, 1);
    await fleet.time.settle();
    expect(turns).toEqual([0]);
  });

  test("Redis' clock set back stalls nobody", async () => {
    await using fleet = await startFleet([60, 60]);
    const turns = take(fleet, 0, 1);
    await fleet.time.settle();
    await fleet.time.stepRedis(-3_600_000);
    const more = take(fleet, 1, 3);
    await fleet.time.passTime(5_000);
    expect([turns, more]).toEqual([[0], [1_000, 2_000, 3_000]]);
    fleet.handles[0]!.slowDown();
    await fleet.time.settle();
    await fleet.time.stepRedis(-3_600_000);
    await fleet.time.passTime(30_000);
    expect(fleet.handles[1]!.perMinute).toBe(37.5);
  });

  test("Redis' clock set forward brings one turn early at most", async () => {
    await using fleet = await startFleet([60, 60]);
    const turns = take(fleet, 0, 2);
    await fleet.time.settle();
    await fleet.time.stepRedis(3_600_000);
    const more = take(fleet, 1, 3);
    await fleet.time.passTime(5_000);
    expect([...turns, ...more].sort((a, b) => a - b)).toEqual([0, 0, 1_000, 2_000, 3_000]);
  });

  test('without a rate limit turns cost an exchange every few seconds, not one each', async () => {
    await using fleet = await startFleet([undefined]);
    for (let second = 0; second < 30; second++) {
      for (let i = 0; i < 20; i++) await fleet.handles[0]!.take();
      await fleet.time.passTime(1_000);
    }
    expect(fleet.exchanges()).toBeLessThanOrEqual(7);
  });

  test('a process that was told of no lower rate limit learns of it with its next report', async () => {
    await using fleet = await startFleet([undefined, undefined]);
    const [one, other] = fleet.handles;
    await Promise.all([one!.take(), other!.take()]);
    // The message gets lost: this connection hears nothing.
    fleet.processes[1]!.connection.client.removeAllListeners('message');
    one!.slowDown();
    await fleet.time.settle();
    expect([one!.perMinute, other!.perMinute]).toEqual([30, undefined]);
    await fleet.time.passTime(5_000);
    await other!.take();
    await fleet.time.settle();
    expect(other!.perMinute).toBe(30);
  });
});
