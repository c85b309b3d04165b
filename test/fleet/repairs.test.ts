/** Repairs of a look-back on a real queue and lake: bounded, once, and only what is still as it was compared. */
import { UnrecoverableError, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, type VesselDay } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import type { ExportTask } from '../../src/export/ports.ts';
import { MAX_WAITING, type QueuedRepair, queueRepairs } from '../../src/fleet/fill-queue.ts';
import { QUEUE_NAME } from '../../src/fleet/queue/queued-day.ts';
import { acceptSelect } from '../../src/lake/accept.ts';
import { receiptKey } from '../../src/lake/keys.ts';
import { queueRedisForTests } from '../helpers/redis.ts';
import { JOB, openPlanningBench, type PlanningBench } from './planning-bench.ts';

const { server, redis } = await queueRedisForTests();

describe.skipIf(server === undefined)('repairs', () => {
  let bench: PlanningBench;

  beforeEach(async () => {
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T08:00:00Z'));
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  const dayOf = (n: number): VesselDay => ({
    job: JOB.name,
    vessel: `IMO${9_100_000 + n}`,
    date: '2026-01-05',
  });
  const taskOf = (n: number, more: Partial<ExportTask> = {}): ExportTask => ({
    job: JOB,
    day: dayOf(n),
    settingsHash: settingsHash(JOB, '2026-09-10'),
    force: false,
    allowShrink: false,
    takeover: false,
    ...more,
  });
  const changed = (n: number, epoch: number) =>
    taskOf(n, { force: true, compared: { epoch, totalsSha256: 'a digest' } });

  async function queue(tasks: readonly ExportTask[]): Promise<readonly QueuedRepair[]> {
    return await queueRepairs({ queue: bench.queue, store: bench.store }, tasks, { retryFailed: true });
  }

  /** Of another job. */
  const fill = (kind: 'nightly' | 'reconcile' | 'backfill', count: number) =>
    bench.queue.add(Array.from({ length: count }, (_, n) => ({ ...dayOf(n), job: `a-${kind}`, kind })));

  const countOf = (queued: readonly QueuedRepair[], status: QueuedRepair['status']) =>
    queued.filter((one) => one.status === status).length;

  test('as many as there is room for are queued, and more as they are done', async () => {
    await fill('reconcile', MAX_WAITING.reconcile - 30);
    const tasks = Array.from({ length: 50 }, (_, n) => taskOf(n));
    const first = await queue(tasks);
    expect([countOf(first, 'enqueued'), countOf(first, 'no-room')]).toEqual([30, 20]);
    expect(await bench.queue.depth()).toMatchObject({ prioritized: MAX_WAITING.reconcile });
    const again = await queue(tasks);
    expect([countOf(again, 'in-queue'), countOf(again, 'no-room')]).toEqual([30, 20]);
    for (let n = 0; n < 10; n++) await bench.workOn(dayOf(n));
    const later = await queue(tasks);
    expect([countOf(later, 'done'), countOf(later, 'enqueued'), countOf(later, 'no-room')]).toEqual([
      10, 10, 10,
    ]);
    expect(await bench.queue.depth()).toMatchObject({ prioritized: MAX_WAITING.reconcile });
  });

  test('nights have room beside them, and they beside backfills', async () => {
    await fill('nightly', MAX_WAITING.nightly);
    await fill('backfill', MAX_WAITING.backfill);
    expect(countOf(await queue([taskOf(1)]), 'enqueued')).toBe(1);
  });

  test('what was refused stays in the failed set until it is accepted that series go', async () => {
    await bench.finish(dayOf(1), 'other settings');
    const failure = { code: 'would-shrink', message: 'fewer readings' };
    await bench.queue.add([{ ...dayOf(1), kind: 'reconcile', failure }]);
    const failer = new Worker(
      QUEUE_NAME,
      async () => {
        throw new UnrecoverableError('refused');
      },
      { connection: redis, prefix: bench.prefix },
    );
    await expect.poll(async () => (await bench.queue.deadLetters()).length).toBe(1);
    await failer.close();
    expect(await queue([taskOf(1)])).toMatchObject([{ status: 'in-failed-set', code: 'would-shrink' }]);
    await acceptSelect({ ...bench, log: silentLog, apiVersion: '2026-09-10' }, JOB);
    expect(await queue([taskOf(1)])).toMatchObject([{ status: 'enqueued' }]);
  });

  test('what was published since it was compared is done, a receipt that cannot be read is no answer', async () => {
    for (const n of [1, 2, 3, 4]) await bench.finish(dayOf(n));
    await bench.finish(dayOf(3), 'other settings');
    await bench.store.put(receiptKey(dayOf(4)), Buffer.from('{'));
    // The receipts are of epoch 1; the third is stale, and the fifth was never published.
    const queued = await queue([changed(1, 1), changed(2, 7), taskOf(3), changed(4, 1), taskOf(5)]);
    expect(queued.map(({ status }) => status)).toEqual([
      'enqueued',
      'done',
      'enqueued',
      'enqueued',
      'enqueued',
    ]);
  });
});
