import { UnrecoverableError, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, type VesselDay } from '../../src/core/model/index.ts';
import { createBackfillDriver, withdrawBackfill } from '../../src/fleet/backfills.ts';
import { MAX_WAITING } from '../../src/fleet/fill-queue.ts';
import { followBackfill } from '../../src/fleet/follow-backfill.ts';
import { QUEUE_NAME } from '../../src/fleet/queue/queued-day.ts';
import { backfillId, listBackfills } from '../../src/lake/backfills.ts';
import { readNote, writeNote } from '../../src/lake/ledger/ledger.ts';
import type { LedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import { longName } from '../helpers/hostile-text.ts';
import { queueRedisForTests } from '../helpers/redis.ts';
import { BACKFILL, JOB, openPlanningBench, type PlanningBench, REQUEST, VESSELS } from './planning-bench.ts';

const { server, redis } = await queueRedisForTests();
const never = new AbortController().signal;

const { schedule: _, ...UNSCHEDULED } = JOB;
test('the same command makes the same backfill, another one another', () => {
  expect(backfillId(REQUEST)).toBe('measurements-2025-03-01-2025-03-04');
  const some = { ...REQUEST, vessels: ['IMO9000002', 'IMO9000001'] };
  expect(backfillId(some)).toBe(backfillId({ ...some, vessels: some.vessels.toReversed() }));
  const ids = [REQUEST, some, { ...REQUEST, allowShrink: true }, { ...REQUEST, to: '2025-03-05' }].map(
    backfillId,
  );
  expect(new Set(ids).size).toBe(4);
});

describe.skipIf(server === undefined)('a backfill', () => {
  let bench: PlanningBench;

  beforeEach(async () => {
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T12:00:00Z'));
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  const dayOf = (vessel: string, date: string) => ({ job: JOB.name, vessel, date });

  test('queues what is open, oldest first, and is covered when all is done', async () => {
    await bench.finish(dayOf(VESSELS[0]!, '2025-03-02'));
    const driver = createBackfillDriver(bench.planning, BACKFILL, JOB);
    const counts = { due: 6, done: 1, failed: 0, queued: 5, left: 0 };
    expect(await driver.step(never)).toEqual({ ...counts, finished: false, troubles: [] });
    expect((await bench.waiting())[0]).toContain('2025-03-01');
    await bench.workOff();
    expect(await driver.step(never)).toMatchObject({ due: 6, done: 6, queued: 0, finished: true });
  });

  test('issued twice, it queues nothing twice', async () => {
    await createBackfillDriver(bench.planning, BACKFILL, JOB).step(never);
    await createBackfillDriver(bench.planning, BACKFILL, JOB).step(never);
    expect(await bench.waiting()).toHaveLength(6);
  });

  test('a vessel-day that is done while the ledger is read is not queued once more', async () => {
    const day = dayOf(VESSELS[0]!, '2025-03-01');
    const { ledger } = bench.planning;
    let hasWorker = false;
    const late: LedgerView = {
      ...ledger,
      async ofDate(job, date) {
        const found = await ledger.ofDate(job, date);
        if (hasWorker) await bench.workOn(day);
        return found;
      },
    };
    const driver = createBackfillDriver({ ...bench.planning, ledger: late }, BACKFILL, JOB);
    await driver.step(never);
    hasWorker = true;
    await driver.step(never);
    expect(await bench.waiting()).not.toContain('IMO9000001/2025-03-01');
    expect(await driver.step(never)).toMatchObject({ done: 1, queued: 5 });
  });

  test('the queue is topped up, never flooded, and nights still have room', async () => {
    const vessels = Array.from({ length: 700 }, (_, n) => `IMO${9_100_000 + n}`);
    const driver = createBackfillDriver(bench.planning, BACKFILL, { ...JOB, vessels });
    expect(await driver.step(never)).toMatchObject({ due: 2_100, queued: MAX_WAITING.backfill, left: 100 });
    expect(await driver.step(never)).toMatchObject({ queued: MAX_WAITING.backfill, left: 100 });
    for (const vessel of vessels.slice(0, 50)) await bench.workOn(dayOf(vessel, '2025-03-01'));
    expect(await driver.step(never)).toMatchObject({ done: 50, queued: MAX_WAITING.backfill, left: 50 });
  });

  test('the scheduler goes on with one whose Redis was flushed', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const scheduler = bench.newScheduler({ jobs: [UNSCHEDULED] });
    await scheduler.look(never);
    expect(await bench.waiting()).toHaveLength(6);
    await bench.workOn(dayOf(VESSELS[0]!, '2025-03-01'));
    for (const key of await redis.keys(`${bench.prefix}:*`)) await redis.del(key);
    await scheduler.look(never);
    expect(await bench.waiting()).toHaveLength(5);
    await bench.workOff();
    await scheduler.look(never);
    expect(await listBackfills(bench.store)).toEqual([]);
  });

  test('what has failed in it and left no note is noted before it goes: after that nobody asks for it any more', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const scheduler = bench.newScheduler({ jobs: [UNSCHEDULED] });
    await scheduler.look(never);
    const [published, noted, unnoted] = ['2025-03-01', '2025-03-02', '2025-03-03'].map((date) =>
      dayOf(VESSELS[0]!, date),
    ) as [VesselDay, VesselDay, VesselDay];
    const fail = () => Promise.reject(new UnrecoverableError('no job here'));
    let left = 6;
    const worker = new Worker(QUEUE_NAME, fail, { connection: redis, prefix: bench.prefix });
    await new Promise<void>((resolve) => worker.on('failed', () => --left === 0 && resolve()));
    await worker.close();
    const at = '2026-01-10T12:00:00.000Z';
    const own = { state: 'failed', code: 'bad-field', message: 'its own' } as const;
    const note = { noteVersion: 1, ...noted, ...own, at } as const;
    await writeNote(bench.store, note);
    await bench.finish(published);
    await scheduler.look(never);
    expect(await listBackfills(bench.store)).toEqual([]);
    expect(await readNote(bench.store, published)).toBeUndefined();
    expect(await readNote(bench.store, noted)).toEqual(note);
    expect(await readNote(bench.store, unnoted)).toMatchObject({
      state: 'failed',
      message: 'no job here',
      at,
    });
  });

  test.for([
    ['no JSON', '{nope'],
    ['a vessel with a path', JSON.stringify({ ...BACKFILL, vessels: ['../x'] })],
    ['a date without end', JSON.stringify({ ...BACKFILL, to: longName })],
    ['a later version', JSON.stringify({ ...BACKFILL, backfillVersion: longName })],
  ])('one that is %s stops no other, is said once, and forgotten when it is gone', async ([, text]) => {
    await defineBackfill(bench.store, BACKFILL);
    await bench.store.put('_backfills/forged.json', Buffer.from(text!));
    await bench.store.put('_backfills/NO id of ours.json', Buffer.from('{}'));
    const said: string[] = [];
    const log = { ...silentLog, error: (_fields: object, message: string) => void said.push(message) };
    const scheduler = bench.newScheduler({ log, jobs: [UNSCHEDULED] });
    await scheduler.look(never);
    await scheduler.look(never);
    expect(await bench.waiting()).toHaveLength(6);
    expect(said).toEqual([expect.stringMatching(/^a backfill cannot be read: _backfills\/forged.json: /)]);
    expect(said[0]!.length).toBeLessThan(2_100);
    expect(scheduler.trouble).toMatch(/^cannot plan: [a-z-]+$/);
    await bench.store.remove('_backfills/forged.json');
    await scheduler.look(never);
    expect(scheduler.trouble).toBeUndefined();
  });

  test('a paused one is left alone, and what waits for it is taken out', async () => {
    await defineBackfill(bench.store, { ...BACKFILL, paused: true });
    await createBackfillDriver(bench.planning, BACKFILL, JOB).step(never);
    await bench.queue.add([{ ...dayOf(VESSELS[0]!, '2026-01-09'), kind: 'nightly' }]);
    expect(await withdrawBackfill(bench.queue, BACKFILL)).toBe(6);
    await bench.newScheduler({ jobs: [] }).look(never);
    expect(await bench.waiting()).toEqual(['IMO9000001/2026-01-09']);
    expect(await listBackfills(bench.store)).toHaveLength(1);
  });

  function follow(signal = never) {
    const said: string[] = [];
    const view = { show() {}, print: (text: string) => void said.push(text), end() {} };
    const { planning } = bench;
    const ended = followBackfill({ planning, backfill: BACKFILL, job: JOB, view, intervalMs: 1_000, signal });
    ended.catch(() => {});
    return { said, ended };
  }

  test('followed, it ends when it is covered and its definition goes', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const { said, ended } = follow();
    await bench.clock.untilSleeping();
    expect(said.join('')).toContain('no worker is connected');
    await bench.workOff();
    await bench.clock.advance(1_000);
    expect(await ended).toMatchObject({ state: 'covered', progress: { done: 6 } });
    expect(await listBackfills(bench.store)).toEqual([]);
  });

  test('followed and cancelled elsewhere, it ends', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const { ended } = follow();
    await bench.clock.untilSleeping();
    await bench.store.remove(`_backfills/${BACKFILL.id}.json`);
    await bench.clock.advance(1_000);
    expect(await ended).toEqual({ state: 'stopped', reason: 'it was cancelled' });
  });

  test('interrupted, it stays defined for the scheduler', async () => {
    await defineBackfill(bench.store, BACKFILL);
    const stop = new AbortController();
    const { said, ended } = follow(stop.signal);
    await bench.clock.untilSleeping();
    stop.abort();
    await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
    expect(said.join('')).toContain('the scheduler continues the backfill');
    expect(await listBackfills(bench.store)).toEqual([BACKFILL]);
  });
});
