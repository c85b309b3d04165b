import type { Clock } from '../../src/core/model/ports.ts';
import { openRedis, type RedisConnection } from '../../src/redis/connection.ts';

/** Time that stands still until the test moves it, for processes and for the scripts in Redis alike. */
export interface RedisTime {
  /** Lua for `redisNow`. */
  readonly redisNow: string;
  /** Time since the start. */
  nowMs(): number;
  /** The clock and the connection of one process. */
  openProcess(): Promise<TestProcess>;
  passTime(ms: number): Promise<void>;
  /** Set Redis' clock forward, or back by a negative number; the clocks of the processes go on as they were. */
  stepRedis(ms: number): Promise<void>;
  /** Resolves when no exchange with Redis is under way and no message on its way. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export interface TestProcess {
  readonly clock: Clock;
  readonly connection: RedisConnection;
  /** From now on it does nothing, as after `kill -9`. */
  die(): Promise<void>;
}

interface Sleeper {
  readonly dueMs: number;
  wake(): void;
}

const START_MS = Date.UTC(2026, 0, 6);

export async function startRedisTime(url: string, prefix: string): Promise<RedisTime> {
  const sleepers = new Set<Sleeper>();
  const connections = new Set<RedisConnection>();
  const owner = await openRedis(url);
  const nowKey = `${prefix}:now`;
  let elapsedMs = 0;
  let steppedMs = 0;
  let begun = 0;
  let underWay = 0;
  const moveTo = async (ms: number) => {
    elapsedMs = ms;
    await owner.client.set(nowKey, START_MS + steppedMs + Math.floor(ms));
  };
  await moveTo(0);

  const settle = async (): Promise<void> => {
    for (let quiet = 0, before = -1; quiet < 2; before = begun) {
      // What Redis sent to a connection before this answer has arrived too.
      await Promise.all([...connections].map(({ client }) => client.ping()));
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      quiet = underWay === 0 && begun === before ? quiet + 1 : 0;
    }
  };

  const openProcess = async (): Promise<TestProcess> => {
    const real = await openRedis(url);
    let alive = true;
    const connection: RedisConnection = {
      ...real,
      run: async (script, keys, args) => {
        if (!alive) return new Promise(() => {});
        begun += 1;
        underWay += 1;
        try {
          return await real.run(script, keys, args);
        } finally {
          underWay -= 1;
        }
      },
    };
    connections.add(connection);
    const clock: Clock = {
      nowMs: () => START_MS + elapsedMs,
      monotonicMs: () => elapsedMs,
      sleep: (delayMs, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          if (!alive) return;
          const leave = () => {
            sleepers.delete(sleeper);
            reject(signal?.reason);
          };
          const wake = () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', leave);
            if (alive) resolve();
          };
          const sleeper = { dueMs: elapsedMs + delayMs, wake };
          sleepers.add(sleeper);
          signal?.addEventListener('abort', leave, { once: true });
        }),
    };
    const die = async () => {
      alive = false;
      connections.delete(connection);
      await real.close();
    };
    return { clock, connection, die };
  };

  return {
    redisNow: `local now = tonumber(redis.call('GET', '${nowKey}'))`,
    nowMs: () => elapsedMs,
    openProcess,
    passTime: async (ms) => {
      const targetMs = elapsedMs + ms;
      await settle();
      for (;;) {
        const next = [...sleepers].sort((a, b) => a.dueMs - b.dueMs)[0];
        if (next === undefined || next.dueMs > targetMs) break;
        if (next.dueMs > elapsedMs) await moveTo(next.dueMs);
        next.wake();
        await settle();
      }
      await moveTo(targetMs);
      await settle();
    },
    stepRedis: async (ms) => {
      steppedMs += ms;
      await moveTo(elapsedMs);
    },
    settle,
    close: async () => {
      for (const { close } of [...connections, owner]) await close();
    },
  };
}
