import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addDays, datesBetween, type Job } from '../../src/core/model/index.ts';
import { createBackfillDriver } from '../../src/fleet/backfills.ts';
import type { OnFleetEvent } from '../../src/fleet/events.ts';
import { followBackfill } from '../../src/fleet/follow-backfill.ts';
import type { PlanningPorts } from '../../src/fleet/nightly.ts';
import { createScheduler } from '../../src/fleet/scheduler.ts';
import { type Backfill, backfillId, endBackfill, listBackfills } from '../../src/lake/backfills.ts';
import { createScheduleState } from '../../src/redis/schedule-state.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { queueRedisForTests } from '../helpers/redis.ts';
import { OTHER_VESSEL, QUICK_LIMITS, startTestService, type TestService, VESSEL } from '../helpers/run.ts';
import { clientOf } from '../source/fetch/listener.ts';
import {
  JOB,
  openPlanningBench,
  type PlanningBench,
  REQUEST,
  BACKFILL as THREE_DAYS,
  withoutLookBacks,
} from './planning-bench.ts';

const { server, redis } = await queueRedisForTests();
const never = new AbortController().signal;
const DISCOVERED: Job = { ...JOB, vessels: { discover: 'flat/*/*' } };
const { schedule: _, ...UNSCHEDULED } = DISCOVERED;
const TWO_DAYS = { ...REQUEST, to: '2025-03-03' };
const BACKFILL: Backfill = { ...THREE_DAYS, ...TWO_DAYS, id: backfillId(TWO_DAYS) };
const NOTHING: readonly (readonly [string, Fault])[] = [
  ['404', { kind: 'status', status: 404 }],
  ['an empty list', { kind: 'garbage', body: '[]', contentType: 'application/json' }],
];

describe.skipIf(server === undefined)('discovery in the fleet', () => {
  let service: TestService;
  let bench: PlanningBench;
  let planning: PlanningPorts;
  let unsettled: number | undefined;

  beforeAll(async () => {
    service = await startTestService({ vessels: 2 });
  });
  beforeEach(async () => {
    service.faults = undefined;
    unsettled = undefined;
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T06:15:00Z'));
    const { clientId, clientSecret } = service;
    const client = clientOf(service, { clientId, clientSecret, limits: QUICK_LIMITS });
    const onEvent: OnFleetEvent = (event) => {
      bench.planning.onEvent?.(event);
      if (event.kind === 'discovered') unsettled = event.troubles.length;
    };
    planning = { ...bench.planning, ports: { ...bench.planning.ports, client }, onEvent };
    return () => bench[Symbol.asyncDispose]();
  });
  afterAll(() => service.close());

  const ill = (fault: Fault) => {
    service.faults = ({ family }) => (family === 'metadata' ? fault : undefined);
  };
  const scheduler = (job: Job) => {
    const state = createScheduleState(redis, bench.prefix, 'a scheduler');
    return createScheduler({ ...planning, jobs: [job], state: withoutLookBacks(state, bench.clock) });
  };

  for (const [what, fault] of NOTHING) {
    test(`${what}: the night is not planned by it, but as soon as the service is well`, async () => {
      ill(fault);
      const one = scheduler(DISCOVERED);
      await one.look(never);
      expect(await bench.waiting()).toEqual([]);
      expect(bench.missing.size).toBe(0);
      service.faults = undefined;
      await one.look(never);
      expect(await bench.waiting()).toHaveLength(10);
      expect(unsettled).toBe(0);
    });

    test(`${what}: no backfill is covered by it, scheduled or followed`, async () => {
      await defineBackfill(bench.store, BACKFILL);
      ill(fault);
      await scheduler(UNSCHEDULED).look(never);
      expect(await listBackfills(bench.store)).toEqual([BACKFILL]);
      const said: string[] = [];
      const stop = new AbortController();
      const driver = createBackfillDriver(planning, BACKFILL, DISCOVERED);
      await expect(driver.step(never)).rejects.toMatchObject({ code: 'no-vessels' });
      const view = { show() {}, print: (text: string) => void said.push(text), end() {} };
      const options = { planning, backfill: BACKFILL, job: DISCOVERED, view, intervalMs: 1_000 };
      const following = followBackfill({ ...options, signal: stop.signal });
      const ended = expect(following).rejects.toMatchObject({ code: 'cancelled' });
      await expect.poll(() => said.join()).toContain('trying again: metadata of flat/*/*');
      stop.abort();
      await ended;
      expect(await listBackfills(bench.store)).toEqual([BACKFILL]);
      service.faults = undefined;
      expect(await driver.step(never)).toMatchObject({ due: 4, queued: 4, finished: false });
    });
  }

  const queuedVessels = async () => new Set((await bench.waiting()).map((text) => text.split('/')[0]));
  const LATER = 'IMO9000001';
  /** Cancelled and started again, and between the two another vessel was published. */
  async function startAgain() {
    await endBackfill(bench.store, BACKFILL);
    await bench.finish({ job: JOB.name, vessel: LATER, date: '2026-01-08' });
    await defineBackfill(bench.store, { ...BACKFILL, createdAt: '2026-01-10T06:15:05.000Z' });
  }

  test('a backfill that was started again between two looks is of the vessels that there are then', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const one = scheduler(UNSCHEDULED);
    await one.look(never);
    expect(await queuedVessels()).toEqual(new Set([VESSEL, OTHER_VESSEL]));
    await startAgain();
    await one.look(never);
    expect(await queuedVessels()).toEqual(new Set([VESSEL, OTHER_VESSEL, LATER]));
  });

  test('who follows a backfill that was started again goes on with that', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const stop = new AbortController();
    const view = { show() {}, print() {}, end() {} };
    const options = { planning, backfill: BACKFILL, job: DISCOVERED, view, intervalMs: 1_000 };
    const following = followBackfill({ ...options, signal: stop.signal });
    const ended = expect(following).rejects.toMatchObject({ code: 'cancelled' });
    await bench.clock.untilSleeping();
    expect(await queuedVessels()).toEqual(new Set([VESSEL, OTHER_VESSEL]));
    await startAgain();
    await bench.clock.advance(1_000);
    await bench.clock.untilSleeping();
    expect(await queuedVessels()).toEqual(new Set([VESSEL, OTHER_VESSEL, LATER]));
    stop.abort();
    await ended;
  });

  test('a vessel that the ledger knows is planned although it is left out, and counted', async () => {
    const gone = 'IMO9000001';
    await bench.finish({ job: JOB.name, vessel: gone, date: '2026-01-08' });
    await scheduler(DISCOVERED).look(never);
    const vessels = new Set((await bench.waiting()).map((text) => text.split('/')[0]));
    expect(vessels).toEqual(new Set([VESSEL, OTHER_VESSEL, gone]));
    expect(unsettled).toBe(1);
    expect(bench.missing.get(JOB.name)).toEqual([14, '2026-01-05']);
    const queued = await bench.queue.bull.getJobs(['waiting'], 0, -1);
    expect(queued.filter(({ data }) => data.unlisted).map(({ data }) => data.vessel)).toEqual(
      Array.from({ length: 4 }, () => gone),
    );
  });

  test('a vessel whose last receipt is older than fourteen days has left', async () => {
    for (const date of datesBetween('2025-12-20', '2025-12-27'))
      await bench.finish({ job: JOB.name, vessel: 'IMO9000001', date });
    await bench.finish({ job: JOB.name, vessel: 'IMO9000002', date: addDays('2025-12-28', 0) });
    await scheduler(DISCOVERED).look(never);
    const text = (await bench.waiting()).join();
    expect(text).not.toContain('IMO9000001');
    expect(text).toContain('IMO9000002');
  });
});
