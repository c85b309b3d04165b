import { afterAll, describe, expect, test } from 'vitest';
import type { Log, Slot } from '../../src/core/model/ports.ts';
import type { SharedConcurrencyLimitOptions } from '../../src/redis/shared-concurrency-limit.ts';
import { SharedConcurrencyLimit } from '../../src/redis/shared-concurrency-limit.ts';
import { SHARED_TIMES } from '../../src/redis/shared-limit.ts';
import { redisForTests } from '../helpers/redis.ts';
import { describeConcurrencyLimit } from '../source/fetch/concurrency-limit-conformance.ts';
import { startRedisTime } from './redis-time.ts';

const redis = await redisForTests();
afterAll(() => redis?.stop());

/** As many processes as there are limits, one concurrency limit each. */
async function startFleet(limits: readonly number[], more: Partial<SharedConcurrencyLimitOptions> = {}) {
  const prefix = redis!.newPrefix();
  const time = await startRedisTime(redis!.url, prefix);
  const processes = await Promise.all(limits.map(() => time.openProcess()));
  const logged: string[] = [];
  const say = (_fields: object, message: string) => void logged.push(message);
  const log: Log = { debug: say, info: say, warn: say, error: say };
  let slowDowns = 0;
  const rateLimit = { take: async () => {}, slowDown: () => void slowDowns++, perMinute: undefined };
  const handles = processes.map(
    ({ connection, clock }, index) =>
      new SharedConcurrencyLimit({
        connection,
        clock,
        prefix,
        credential: 'reader',
        limit: limits[index]!,
        rateLimit,
        random: () => 0.5,
        log,
        settleMs: 0,
        redisNow: time.redisNow,
        ...more,
      }),
  );
  await time.settle();
  const dead = new Set<number>();
  return {
    time,
    handles,
    processes,
    prefix,
    /** End a process as `kill -9` does. */
    kill: async (index: number) => {
      dead.add(index);
      await processes[index]!.die();
    },
    logged,
    slowDowns: () => slowDowns,
    slotsInRedis: () => processes.at(-1)!.connection.client.zcard(`${prefix}:cap:{reader}:leases`),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        handles.filter((_, index) => !dead.has(index)).map((concurrencyLimit) => concurrencyLimit.close()),
      );
      await time.close();
    },
  };
}

type Fleet = Awaited<ReturnType<typeof startFleet>>;

function askFor(concurrencyLimit: SharedConcurrencyLimit, count: number): Slot[] {
  const slots: Slot[] = [];
  for (let i = 0; i < count; i++) void concurrencyLimit.acquire().then((slot) => slots.push(slot));
  return slots;
}

/** What has been got of it once Redis has answered. */
async function askNow({ time }: Fleet, ...asked: Parameters<typeof askFor>): Promise<Slot[]> {
  const slots = askFor(...asked);
  await time.settle();
  return slots;
}

describe.skipIf(!redis)('the shared concurrency limit', () => {
  describeConcurrencyLimit('the shared concurrency limit', async (limit) => {
    const fleet = await startFleet([limit, limit]);
    return {
      handles: [fleet.handles[0]!, fleet.handles[1]!],
      coolDownMs: 5_000,
      recoverMs: 30_000,
      passTime: fleet.time.passTime,
      settle: fleet.time.settle,
      slowDowns: fleet.slowDowns,
      close: async () => fleet[Symbol.asyncDispose](),
    };
  });

  test('messages that are none of its script neither end a process nor change what it knows', async () => {
    await using fleet = await startFleet([3, 3]);
    const [one] = fleet.handles;
    await askNow(fleet, one!, 1);
    const { client } = fleet.processes[1]!.connection;
    const forged = ['{nope', '', 'null', '5', '[]', '{"current":"x","limit":3}', '{"current":-1,"limit":0}'];
    for (const text of [...forged, '{"current":1e999,"limit":1e999}', '\u001b[2J'])
      await client.publish(`${fleet.prefix}:cap:{reader}`, text);
    await fleet.time.settle();
    expect(one!.current).toBe(3);
    const slots = await askNow(fleet, one!, 1);
    expect(slots).toHaveLength(1);
  });

  test('a slot lives as long as its process renews it', async () => {
    await using fleet = await startFleet([1, 1]);
    const [one, other] = fleet.handles;
    const first = await askNow(fleet, one!, 1);
    const second = askFor(other!, 1);
    await fleet.time.passTime(SHARED_TIMES.ttlMs * 10);
    expect([first.length, second.length]).toEqual([1, 0]);
    first[0]!.release();
    await fleet.time.settle();
    expect(second).toHaveLength(1);
  });

  test("a dead process' slots come back when they run out, and not before", async () => {
    await using fleet = await startFleet([2, 2]);
    const [doomed, other] = fleet.handles;
    await askNow(fleet, doomed!, 2);
    const waiting = await askNow(fleet, other!, 2);
    await fleet.kill(0);
    await fleet.time.passTime(SHARED_TIMES.ttlMs - 1_000);
    expect(waiting).toHaveLength(0);
    await fleet.time.passTime(1_000 + SHARED_TIMES.pollMs);
    expect(waiting).toHaveLength(2);
  });

  test('a dead process that stood first in line keeps nobody back for long', async () => {
    await using fleet = await startFleet([1, 1, 1]);
    const [holder, doomed, other] = fleet.handles;
    const [held] = await Promise.all([holder!.acquire()]);
    await askNow(fleet, doomed!, 1);
    const waiting = await askNow(fleet, other!, 1);
    await fleet.kill(1);
    held.release();
    await fleet.time.settle();
    expect(waiting).toHaveLength(0);
    await fleet.time.passTime(SHARED_TIMES.patienceMs + SHARED_TIMES.pollMs);
    expect(waiting).toHaveLength(1);
  });

  test('processes take turns, however many of one wait', async () => {
    await using fleet = await startFleet([1, 1]);
    const [greedy, modest] = fleet.handles;
    const order: string[] = [];
    const work = async (concurrencyLimit: SharedConcurrencyLimit, name: string) => {
      const slot = await concurrencyLimit.acquire();
      order.push(name);
      slot.release();
    };
    const first = await greedy!.acquire();
    const all = [...Array(6).fill('greedy'), ...Array(2).fill('modest')].map((name) =>
      work(name === 'greedy' ? greedy! : modest!, name),
    );
    await fleet.time.settle();
    first.release();
    await Promise.all(all);
    const last = order.lastIndexOf('modest');
    expect(last).toBeLessThanOrEqual(4);
    expect(order).toHaveLength(8);
  });

  test('the smallest limit of the processes at work counts, and the larger one when that one has gone', async () => {
    await using fleet = await startFleet([2, 5]);
    const [small, large] = fleet.handles;
    const slot = await small!.acquire();
    const slots = await askNow(fleet, large!, 5);
    expect(slots).toHaveLength(1);
    expect(large!.current).toBe(2);
    slot.release();
    await small!.close();
    await fleet.time.passTime(SHARED_TIMES.pollMs);
    expect(slots).toHaveLength(5);
  });

  test('a closed process gives back what it had out at once', async () => {
    await using fleet = await startFleet([1, 1]);
    const [one, other] = fleet.handles;
    await one!.acquire();
    const waiting = await askNow(fleet, other!, 1);
    expect(waiting).toHaveLength(0);
    await one!.close();
    await fleet.time.settle();
    expect(waiting).toHaveLength(1);
  });

  test('flushed, it lets every process report its slots before it gives new ones', async () => {
    await using fleet = await startFleet([2, 2, 2], { settleMs: 2_000 });
    const [one, other, third] = fleet.handles;
    const slots = [askFor(one!, 1), askFor(other!, 1)];
    await fleet.time.passTime(2_000);
    expect(slots.map(({ length }) => length)).toEqual([1, 1]);
    const { client } = fleet.processes[0]!.connection;
    const keys = await client.keys(`${fleet.prefix}:cap:*`);
    await client.del(keys);
    expect(await fleet.slotsInRedis()).toBe(0);
    const more = await askNow(fleet, third!, 1);
    expect(await fleet.slotsInRedis()).toBe(2);
    await fleet.time.passTime(10_000);
    expect(more).toHaveLength(0);
    expect(fleet.logged.filter((line) => line.includes('earlier slots'))).toHaveLength(2);
    slots[0]![0]!.release();
    await fleet.time.settle();
    expect(more).toHaveLength(1);
  });

  test('slots that could not be renewed for longer than they live are told of, and counted again', async () => {
    await using fleet = await startFleet([2]);
    const { connection } = fleet.processes[0]!;
    const { run } = connection;
    await fleet.handles[0]!.acquire();
    Object.assign(connection, { run: () => Promise.reject(new Error('out of reach')) });
    await fleet.time.passTime(SHARED_TIMES.ttlMs);
    expect(fleet.logged).toEqual(['the shared concurrency limit waits for Redis']);
    await fleet.time.passTime(SHARED_TIMES.ttlMs);
    expect(fleet.logged.slice(1)).toEqual([expect.stringMatching(/^slots could not be renewed/)]);
    Object.assign(connection, { run });
    await fleet.time.passTime(1_000);
    expect(fleet.logged.slice(2)).toEqual([
      expect.stringMatching(/^slots had run out .* taken again$/),
      'the shared concurrency limit goes on',
    ]);
    expect(await fleet.slotsInRedis()).toBe(1);
  });

  test("Redis' clock set back stalls nobody, and lowers nothing", async () => {
    await using fleet = await startFleet([4, 4]);
    const [one, other] = fleet.handles;
    one!.limited(10_000);
    await fleet.time.settle();
    await fleet.time.stepRedis(-3_600_000);
    const slots = askFor(other!, 4);
    await fleet.time.passTime(9_000);
    expect([slots.length, other!.current]).toEqual([0, 2]);
    await fleet.time.passTime(1_000 + SHARED_TIMES.pollMs);
    expect([slots.length, one!.current]).toEqual([2, 2]);
    await fleet.time.stepRedis(-3_600_000);
    slots[0]!.release();
    await fleet.time.settle();
    expect(slots).toHaveLength(3);
    await fleet.time.passTime(60_000);
    expect([slots.length, one!.current, other!.current]).toEqual([4, 4, 4]);
  });

  test("a dead process' slots run out in time though Redis' clock was set back", async () => {
    await using fleet = await startFleet([1, 1]);
    const [doomed, other] = fleet.handles;
    await askNow(fleet, doomed!, 1);
    await fleet.kill(0);
    await fleet.time.stepRedis(-3_600_000);
    const waiting = askFor(other!, 1);
    await fleet.time.passTime(SHARED_TIMES.ttlMs + SHARED_TIMES.pollMs);
    expect(waiting).toHaveLength(1);
  });

  test.each([60_000, 31_536_000_000])(
    "Redis' clock set forward by %i ms gives nobody's slots away",
    async (ms) => {
      await using fleet = await startFleet([2, 2], { settleMs: 2_000 });
      const [one, other] = fleet.handles;
      const held = askFor(one!, 2);
      await fleet.time.passTime(2_000);
      expect(held).toHaveLength(2);
      await fleet.time.stepRedis(ms);
      const waiting = askFor(other!, 2);
      await fleet.time.passTime(60_000);
      expect(waiting).toHaveLength(0);
      expect(await fleet.slotsInRedis()).toBe(2);
      held[0]!.release();
      await fleet.time.settle();
      expect(waiting).toHaveLength(1);
    },
  );

  test('a slot whose lost answer nobody has seen is not out', async () => {
    await using fleet = await startFleet([1]);
    const { connection } = fleet.processes[0]!;
    const { run } = connection;
    let failures = 0;
    Object.assign(connection, {
      run: async (...args: Parameters<typeof run>) => {
        const answer = await run(...args);
        if (failures++ < 2) throw new Error('connection lost');
        return answer;
      },
    });
    const slots = askFor(fleet.handles[0]!, 2);
    await fleet.time.passTime(2_000);
    expect(slots).toHaveLength(1);
    expect(await fleet.slotsInRedis()).toBe(1);
    expect(fleet.logged).toEqual([
      'the shared concurrency limit waits for Redis',
      'the shared concurrency limit goes on',
    ]);
    slots[0]!.release();
    await fleet.time.settle();
    expect(slots).toHaveLength(2);
  });
});
