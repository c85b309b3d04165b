import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import {
  changeBackfill,
  createBackfillDriver,
  startBackfill,
  stepDefined,
} from '../../src/fleet/backfills.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { followBackfill } from '../../src/fleet/follow-backfill.ts';
import type { PlanningPorts } from '../../src/fleet/nightly.ts';
import type { VesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { createScheduler } from '../../src/fleet/scheduler.ts';
import { endBackfill, listBackfills, removeBackfill } from '../../src/lake/backfills.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import { queueRedisForTests } from '../helpers/redis.ts';
import { BACKFILL, JOB, openPlanningBench, type PlanningBench, REQUEST } from './planning-bench.ts';

const { server, redis } = await queueRedisForTests();

const { schedule: _, reconcile: _reconcile, ...rest } = JOB;
/** Only its backfills are planned. */
const UNSCHEDULED: Job = rest;
const never = new AbortController().signal;
const { id: ID } = BACKFILL;

describe.skipIf(server === undefined)('a backfill that two act on at once', () => {
  let bench: PlanningBench;

  beforeEach(async () => {
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T12:00:00Z'));
  });
  afterEach(() => bench[Symbol.asyncDispose]());

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

  test.each(['pause', 'resume'] as const)(
    '%s of one that is cancelled and started again meanwhile is of the new one',
    async (change) => {
      await defineBackfill(bench.store, { ...BACKFILL, paused: change === 'resume' });
      const cancelledAndStarted = async () => {
        await changeBackfill(quiet(), 'cancel', ID);
        await startBackfill(quiet(), JOB, REQUEST);
        if (change === 'resume') await changeBackfill(quiet(), 'pause', ID);
      };
      await changeBackfill(fleetWhere(cancelledAndStarted), change, ID);
      const createdAt = '2026-01-10T12:00:00.000Z';
      expect(await listBackfills(bench.store)).toEqual([
        { ...BACKFILL, createdAt, paused: change === 'pause' },
      ]);
    },
  );

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

  /** Somebody acts when the first vessel-days are about to be queued. */
  function planningWhere(change: 'pause' | 'cancel' | 'restart'): PlanningPorts {
    let isOver = false;
    const act = async () => {
      await changeBackfill(quiet(), change === 'restart' ? 'cancel' : change, ID);
      if (change === 'restart') await startBackfill(quiet(), JOB, REQUEST);
    };
    const queue: VesselDayQueue = {
      ...bench.queue,
      async add(days) {
        if (!isOver) await act();
        isOver = true;
        return await bench.queue.add(days);
      },
    };
    return { ...bench.planning, queue };
  }
  const STEPS = {
    'the scheduler': async (planning: PlanningPorts) => {
      const state = createScheduleState(redis, bench.prefix, 'a');
      await createScheduler({ ...planning, jobs: [UNSCHEDULED], state }).look(never);
    },
    'who follows it': async (planning: PlanningPorts) => {
      const view = { show: () => {}, print: () => {}, end: () => {} };
      const following = { planning, backfill: BACKFILL, job: JOB, view, intervalMs: 0, signal: never };
      expect(await followBackfill(following)).toMatchObject({ state: 'stopped' });
    },
  };

  test.for(
    (['pause', 'cancel'] as const).flatMap((change) =>
      (['the scheduler', 'who follows it'] as const).map((who) => [change, who] as const),
    ),
  )('%s while %s fills the queue leaves nothing of it there', async ([change, who]) => {
    await defineBackfill(bench.store, BACKFILL);
    await STEPS[who](planningWhere(change));
    expect(await bench.waiting()).toEqual([]);
  });

  test('what was queued for one that is started again meanwhile is not of the new one, whose vessels may be others', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const state = createScheduleState(redis, bench.prefix, 'a');
    const scheduler = createScheduler({ ...planningWhere('restart'), jobs: [UNSCHEDULED], state });
    await scheduler.look(never);
    expect(await bench.waiting()).toEqual([]);
    await scheduler.look(never);
    expect(await bench.waiting()).toHaveLength(6);
  });

  test('a step that fails leaves nothing of a backfill that was paused meanwhile', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const planning = planningWhere('pause');
    const failing = {
      ...planning,
      queue: {
        ...planning.queue,
        async add(days: Parameters<VesselDayQueue['add']>[0]) {
          await planning.queue.add(days);
          throw new Error('lost on the way');
        },
      },
    };
    const driver = createBackfillDriver(failing, BACKFILL, JOB);
    await expect(stepDefined(failing, driver, never)).rejects.toThrow('lost on the way');
    expect(await bench.waiting()).toEqual([]);
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
