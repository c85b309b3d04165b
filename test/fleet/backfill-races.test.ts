import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changeBackfill, startBackfill } from '../../src/fleet/backfill-acts.ts';
import type { Backfill } from '../../src/fleet/backfills.ts';
import { backfillId, endBackfill, listBackfills, removeBackfill } from '../../src/fleet/backfills.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { PlanningBench } from './planning-bench.ts';
import { JOB, openPlanningBench } from './planning-bench.ts';

const server = await redisForTests();
const connection = server && (await openRedis(server.url));
const redis = connection?.openForQueue() as Redis;

const REQUEST = { job: JOB.name, from: '2025-03-01', to: '2025-03-04', vessels: [], allowShrink: false };
const ID = backfillId(REQUEST);
const BACKFILL: Backfill = {
  ...{ backfillVersion: 1, id: ID, ...REQUEST },
  ...{ paused: false, createdAt: '2026-01-09T00:00:00.000Z' },
};

describe.skipIf(server === undefined)('a backfill that two act on at once', () => {
  let bench: PlanningBench;

  beforeEach(async () => {
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T12:00:00Z'));
  });
  afterEach(() => bench[Symbol.asyncDispose]());
  afterAll(async () => {
    await connection!.close();
    await server!.stop();
  });

  /** A fleet to whose lake something happens once a definition was read, and before anything is made of that. */
  function fleetWhere(happens: () => Promise<unknown>): Fleet {
    let isOver = false;
    const store = {
      ...bench.store,
      get: async (key: string) => {
        const read = await bench.store.get(key);
        if (!isOver) {
          isOver = true;
          await happens();
        }
        return read;
      },
    };
    const ports = { store, clock: bench.clock, layout: { check: async () => {} } };
    return { app: { store, ports }, queue: bench.queue } as unknown as Fleet;
  }
  const quiet = () => fleetWhere(async () => {});

  test.each(['pause', 'resume'] as const)(
    '%s of one that is covered meanwhile leaves none behind',
    async (change) => {
      await defineBackfill(bench.store, { ...BACKFILL, paused: change === 'resume' });
      const fleet = fleetWhere(() => endBackfill(bench.store, BACKFILL));
      await expect(changeBackfill(fleet, change, ID)).rejects.toMatchObject({ code: 'unknown-backfill' });
      expect(await listBackfills(bench.store)).toEqual([]);
    },
  );

  test('a pause is not lost to a resume that was asked for before it', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const pausedAndResumed = async () => {
      await changeBackfill(quiet(), 'pause', ID);
      await changeBackfill(quiet(), 'resume', ID);
    };
    await changeBackfill(fleetWhere(pausedAndResumed), 'pause', ID);
    expect(await listBackfills(bench.store)).toEqual([{ ...BACKFILL, paused: true }]);
  });

  test('one that is cancelled while it is started again is a new one', async () => {
    await defineBackfill(bench.store, { ...BACKFILL, paused: true });
    const fleet = fleetWhere(() => removeBackfill(bench.store, ID));
    const createdAt = '2026-01-10T12:00:00.000Z';
    expect(await startBackfill(fleet, JOB, REQUEST)).toEqual({
      backfill: { ...BACKFILL, createdAt },
      state: 'started',
    });
    expect(await listBackfills(bench.store)).toEqual([{ ...BACKFILL, createdAt }]);
  });

  test('of two that start it one has started it', async () => {
    const fleet = fleetWhere(() => defineBackfill(bench.store, BACKFILL));
    expect(await startBackfill(fleet, JOB, REQUEST)).toEqual({ backfill: BACKFILL, state: 'under-way' });
    expect(await listBackfills(bench.store)).toEqual([BACKFILL]);
  });

  test('what is as it is asked for is not written again', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const version = async () => (await bench.store.head(`_backfills/${ID}.json`))!.version;
    const before = await version();
    await changeBackfill(quiet(), 'resume', ID);
    await startBackfill(quiet(), JOB, REQUEST);
    expect(await version()).toBe(before);
  });
});
