import { afterAll, describe, expect, test } from 'vitest';
import type { Lease, Log } from '../../src/model/ports.ts';
import type { SharedCap, SharedCapOptions } from '../../src/queue/shared-cap.ts';
import { createSharedCap, SHARED_TIMES } from '../../src/queue/shared-cap.ts';
import { describeCap } from '../fetch/cap-conformance.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { RedisTime, TestProcess } from './redis-time.ts';
import { startRedisTime } from './redis-time.ts';

const redis = await redisForTests();
afterAll(() => redis?.stop());

interface Fleet extends AsyncDisposable {
  readonly time: RedisTime;
  readonly prefix: string;
  readonly caps: readonly SharedCap[];
  readonly processes: readonly TestProcess[];
  /** End a process as `kill -9` does. */
  kill(index: number): Promise<void>;
  readonly logged: string[];
  slowDowns(): number;
  leasesInRedis(): Promise<number>;
}

/** As many processes as there are limits, one cap each. */
async function startFleet(limits: readonly number[], more: Partial<SharedCapOptions> = {}): Promise<Fleet> {
  const prefix = redis!.newPrefix();
  const time = await startRedisTime(redis!.url, prefix);
  const processes = await Promise.all(limits.map(() => time.openProcess()));
  const logged: string[] = [];
  const say = (_fields: object, message: string) => void logged.push(message);
  const log: Log = { debug: say, info: say, warn: say, error: say };
  let slowDowns = 0;
  const pace = { take: async () => {}, slowDown: () => void slowDowns++, perMinute: undefined };
  const caps = processes.map(({ connection, clock }, index) =>
    createSharedCap({
      connection,
      clock,
      prefix,
      credential: 'reader',
      limit: limits[index]!,
      pace,
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
    caps,
    processes,
    prefix,
    kill: async (index) => {
      dead.add(index);
      await processes[index]!.die();
    },
    logged,
    slowDowns: () => slowDowns,
    leasesInRedis: () => processes.at(-1)!.connection.client.zcard(`${prefix}:cap:{reader}:leases`),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(caps.filter((_, index) => !dead.has(index)).map((cap) => cap.close()));
      await time.close();
    },
  };
}

function askFor(cap: SharedCap, count: number): Lease[] {
  const leases: Lease[] = [];
  for (let i = 0; i < count; i++) void cap.acquire().then((lease) => leases.push(lease));
  return leases;
}

describe.skipIf(!redis)('the shared cap', () => {
  describeCap('the shared cap', async (limit) => {
    const fleet = await startFleet([limit, limit]);
    return {
      caps: [fleet.caps[0]!, fleet.caps[1]!],
      coolDownMs: 5_000,
      recoverMs: 30_000,
      passTime: fleet.time.passTime,
      settle: fleet.time.settle,
      slowDowns: fleet.slowDowns,
      close: async () => fleet[Symbol.asyncDispose](),
    };
  });

  test('a lease lives as long as its process renews it', async () => {
    await using fleet = await startFleet([1, 1]);
    const [one, other] = fleet.caps;
    const first = askFor(one!, 1);
    await fleet.time.settle();
    const second = askFor(other!, 1);
    await fleet.time.passTime(SHARED_TIMES.leaseMs * 10);
    expect([first.length, second.length]).toEqual([1, 0]);
    first[0]!.release();
    await fleet.time.settle();
    expect(second).toHaveLength(1);
  });

  test("a dead process' leases come back when they run out, and not before", async () => {
    await using fleet = await startFleet([2, 2]);
    const [doomed, other] = fleet.caps;
    askFor(doomed!, 2);
    await fleet.time.settle();
    const waiting = askFor(other!, 2);
    await fleet.time.settle();
    await fleet.kill(0);
    await fleet.time.passTime(SHARED_TIMES.leaseMs - 1_000);
    expect(waiting).toHaveLength(0);
    await fleet.time.passTime(1_000 + SHARED_TIMES.pollMs);
    expect(waiting).toHaveLength(2);
  });

  test('a dead process that stood first in line keeps nobody back for long', async () => {
    await using fleet = await startFleet([1, 1, 1]);
    const [holder, doomed, other] = fleet.caps;
    const [held] = await Promise.all([holder!.acquire()]);
    askFor(doomed!, 1);
    await fleet.time.settle();
    const waiting = askFor(other!, 1);
    await fleet.time.settle();
    await fleet.kill(1);
    held.release();
    await fleet.time.settle();
    expect(waiting).toHaveLength(0);
    await fleet.time.passTime(SHARED_TIMES.patienceMs + SHARED_TIMES.pollMs);
    expect(waiting).toHaveLength(1);
  });

  test('processes take turns, however many of one wait', async () => {
    await using fleet = await startFleet([1, 1]);
    const [greedy, modest] = fleet.caps;
    const order: string[] = [];
    const work = async (cap: SharedCap, name: string) => {
      const lease = await cap.acquire();
      order.push(name);
      lease.release();
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
    const [small, large] = fleet.caps;
    const lease = await small!.acquire();
    const leases = askFor(large!, 5);
    await fleet.time.settle();
    expect(leases).toHaveLength(1);
    expect(large!.current).toBe(2);
    lease.release();
    await small!.close();
    await fleet.time.passTime(SHARED_TIMES.pollMs);
    expect(leases).toHaveLength(5);
  });

  test('a closed process gives back what it had out at once', async () => {
    await using fleet = await startFleet([1, 1]);
    const [one, other] = fleet.caps;
    await one!.acquire();
    const waiting = askFor(other!, 1);
    await fleet.time.settle();
    expect(waiting).toHaveLength(0);
    await one!.close();
    await fleet.time.settle();
    expect(waiting).toHaveLength(1);
  });

  test('flushed, it lets every process report its leases before it gives new ones', async () => {
    await using fleet = await startFleet([2, 2, 2], { settleMs: 2_000 });
    const [one, other, third] = fleet.caps;
    const leases = [askFor(one!, 1), askFor(other!, 1)];
    await fleet.time.passTime(2_000);
    expect(leases.map(({ length }) => length)).toEqual([1, 1]);
    const { client } = fleet.processes[0]!.connection;
    const keys = await client.keys(`${fleet.prefix}:cap:*`);
    await client.del(keys);
    expect(await fleet.leasesInRedis()).toBe(0);
    const more = askFor(third!, 1);
    await fleet.time.settle();
    expect(await fleet.leasesInRedis()).toBe(2);
    await fleet.time.passTime(10_000);
    expect(more).toHaveLength(0);
    expect(fleet.logged.filter((line) => line.includes('earlier leases'))).toHaveLength(2);
    leases[0]![0]!.release();
    await fleet.time.settle();
    expect(more).toHaveLength(1);
  });

  test('leases that could not be renewed for longer than they live are told of, and counted again', async () => {
    await using fleet = await startFleet([2]);
    const { connection } = fleet.processes[0]!;
    const { run } = connection;
    await fleet.caps[0]!.acquire();
    Object.assign(connection, { run: () => Promise.reject(new Error('out of reach')) });
    await fleet.time.passTime(SHARED_TIMES.leaseMs);
    expect(fleet.logged).toEqual(['the shared cap waits for Redis']);
    await fleet.time.passTime(SHARED_TIMES.leaseMs);
    expect(fleet.logged.slice(1)).toEqual([expect.stringMatching(/^leases could not be renewed/)]);
    Object.assign(connection, { run });
    await fleet.time.passTime(1_000);
    expect(fleet.logged.slice(2)).toEqual([
      expect.stringMatching(/^leases had run out .* taken again$/),
      'the shared cap goes on',
    ]);
    expect(await fleet.leasesInRedis()).toBe(1);
  });

  test('a lease whose lost answer nobody has seen is not out', async () => {
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
    const leases = askFor(fleet.caps[0]!, 2);
    await fleet.time.passTime(2_000);
    expect(leases).toHaveLength(1);
    expect(await fleet.leasesInRedis()).toBe(1);
    expect(fleet.logged).toEqual(['the shared cap waits for Redis', 'the shared cap goes on']);
    leases[0]!.release();
    await fleet.time.settle();
    expect(leases).toHaveLength(2);
  });
});
