/** Several real processes under one concurrency limit, on a Redis that dies too. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';
import { isLong } from '../helpers/tiers.ts';
import { startCountingListener } from './counting-listener.ts';
import type { ChildOptions } from './shared-concurrency-limit-child.ts';

const CHILD = join(import.meta.dirname, 'shared-concurrency-limit-child.ts');
/** Of slots: longer than a process that has much to do may have to wait for a processor before it renews its own. */
const TTL_MS = 4_000;
const SETTLE_MS = 3_000;
/** Of a body that outlives slots which are not renewed. */
const LONG_BODY_MS = 1.25 * TTL_MS;
/** How often something strikes, and requests after each strike. */
const [STRIKES, REQUESTS] = isLong ? [4, 40] : [1, 20];

async function startCrew() {
  const redis = await startOwnRedis();
  const listener = await startCountingListener();
  const children = new Map<string, ChildProcess>();
  const ended = async (child: ChildProcess) => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode ?? -1;
  };
  const kill = async (name: string) => {
    const child = children.get(name)!;
    children.delete(name);
    child.kill('SIGKILL');
    await ended(child);
  };
  return {
    redis,
    listener,
    start: (name: string, limit: number) => {
      const { origin } = listener;
      const settings = { ttlMs: TTL_MS, settleMs: SETTLE_MS };
      const options: ChildOptions = { name, redisUrl: redis.url, prefix: 'crew', origin, limit, ...settings };
      const env = { ...process.env, ...COMPILE_CACHE };
      const stdio = ['pipe' as const, 'inherit' as const, 'inherit' as const];
      children.set(name, spawn(process.execPath, [CHILD, JSON.stringify(options)], { stdio, env }));
    },
    kill,
    /** Let all of them end by themselves. */
    dismiss: async () => {
      const all = [...children.values()];
      children.clear();
      for (const child of all) child.stdin?.end();
      return Promise.all(all.map(ended));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...children.keys()].map(kill));
      await listener[Symbol.asyncDispose]();
      await redis.stop();
    },
  };
}

/** Uniform numbers in [0, 1) that are the same in every run. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

describe.skipIf(!canStartOwnRedis())('processes under one concurrency limit', () => {
  test('never exceed it while they and Redis are killed, and Redis is flushed, and use it in full', {
    timeout: 120_000,
  }, async () => {
    await using crew = await startCrew();
    const { listener, redis } = crew;
    const random = sequence(7);
    // Some stream their bodies for longer than a slot lives unless it is renewed.
    listener.answer((index) => (index % 15 === 14 ? LONG_BODY_MS : 5 + 40 * random()));
    const names = ['a', 'b', 'c'];
    for (const name of names) crew.start(name, 4);
    const more = (count: number) => {
      const target = listener.seen.length + count;
      return listener.until((_, index) => index >= target);
    };
    await more(REQUESTS);
    for (let kills = 0; kills < STRIKES; kills++) {
      const name = names[Math.floor(random() * names.length)]!;
      await crew.kill(name);
      crew.start(name, 4);
      await more(REQUESTS + Math.floor(random() * 20));
    }
    await redis.kill();
    await redis.start();
    await more(REQUESTS);
    await redis.command('FLUSHALL');
    await more(REQUESTS);
    for (const name of names) await listener.until((request) => request.name === name);
    expect(listener.peak()).toBe(4);
    expect(await crew.dismiss()).toEqual([0, 0, 0]);
    expect(await redis.command('ZCARD', 'crew:cap:{reader}:leases')).toBe(0);
  });

  test('all ask less when one of them is refused', async () => {
    await using crew = await startCrew();
    const { listener } = crew;
    // Only one of them is ever refused.
    listener.answer((_, { name }) => (name === 'refused' && listener.inFlight() > 2 ? 'refuse' : 10));
    crew.start('refused', 6);
    crew.start('spared', 6);
    const lowered = (who: string) => listener.until(({ name, current }) => name === who && current < 6);
    await Promise.all(['spared', 'refused'].map(lowered));
    expect(await crew.dismiss()).toEqual([0, 0]);
  });

  test('let running requests end while Redis stands still, and go on when it does', async () => {
    await using crew = await startCrew();
    const { listener, redis } = crew;
    listener.answer(() => 20);
    crew.start('a', 2);
    await listener.until((_, index) => index >= 10);
    redis.freeze();
    await listener.untilIdle();
    redis.thaw();
    await listener.until(() => true);
    expect(listener.peak()).toBe(2);
  });
});
