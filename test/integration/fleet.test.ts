/** The fleet as processes: what its workers and schedulers do when things go wrong around them. */
import { mkdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { addDays } from '../../src/core/model/index.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { readClaims } from '../helpers/claims.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import { OTHER_VESSEL, VESSEL } from '../helpers/run.ts';
import { startWebhookListener } from '../helpers/webhook-listener.ts';
import type { FleetBench, FleetOptions } from './fleet-bench.ts';
import { JOB, metricOf, openFleetBench, publishedBy, readinessOf } from './fleet-bench.ts';

const READY = /worker is ready/;
/** The noon at which schedulers and workers are where dates are counted from today: no midnight comes in between. */
const TODAY = '2026-01-10';
const aheadMs = () => Date.parse(`${TODAY}T12:00:00Z`) - Date.now();

describe.skipIf(!canStartOwnRedis())('a fleet', () => {
  let bench: FleetBench;
  afterEach(() => bench[Symbol.asyncDispose]());

  async function open(options: FleetOptions = {}): Promise<FleetBench> {
    bench = await openFleetBench({ ...options, service: { readingsPerDay: 1_000, ...options.service } });
    return bench;
  }

  test('a backfill through two workers is exact, and done days are not exported again', async () => {
    // Fewer places than vessel-days, even where one worker is quicker to ask.
    await open({ service: { vessels: 2 }, env: { WORKER_CONCURRENCY: '2' } });
    const workers = [bench.start({ command: 'worker' }), bench.start({ command: 'worker' })];
    await Promise.all(workers.map((worker) => worker.until(READY)));
    await expect.poll(() => bench.queue.workers()).toBe(2);
    const range = { from: '2026-01-05', to: '2026-01-10' };
    const { code, said } = await bench.backfill(range);
    expect(said).toContain('10 done, 0 failed');
    expect(code).toBe(0);
    await bench.expectExact([VESSEL, OTHER_VESSEL], range.from, range.to);
    for (const worker of workers) expect(publishedBy(worker).length).toBeGreaterThan(0);
    const requests = bench.service.requests.length;
    expect((await bench.backfill(range)).said).toContain('10 done, 0 failed');
    expect(bench.service.requests.slice(requests).filter(({ family }) => family === 'measurements')).toEqual(
      [],
    );
  });

  test('SIGTERM hands back what is under way; the next worker goes on at the checkpoint', async () => {
    await open({ service: { readingsPerDay: 20_000 }, job: { select: ['flat/{vessel}/*'] } });
    const sizes = { rowGroupRows: 1_000, partBytes: 30_000, sliceTargetRows: 4_000 };
    let pages = 0;
    // The service stands still after some pages: the day is under way with a checkpoint.
    bench.service.faults = ({ family }) =>
      family === 'measurements' && ++pages > 3 ? { kind: 'stall', at: 'headers' } : undefined;
    // Whose lock has run out hands nothing back, and a process may wait for a processor.
    const first = bench.start({ command: 'worker', lockMs: 30_000, ...sizes });
    const day = { job: JOB, vessel: VESSEL, date: '2026-01-05' };
    await bench.queue.add([{ ...day, kind: 'nightly' }]);
    const store = createLocalStore(bench.lakeDir);
    await expect.poll(async () => (await readClaims(store, day))[0]?.checkpoint).toBeTruthy();
    await expect.poll(() => pages).toBeGreaterThan(3);
    first.child.kill('SIGTERM');
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(first.output).toContain('"msg":"handed-back"');
    expect(await bench.queue.depth()).toMatchObject({ waiting: 1, active: 0, failed: 0 });
    const job = await bench.queue.bull.getJob('measurements/IMO9321483/2026-01-05');
    expect(job?.attemptsMade).toBe(0);
    bench.service.faults = undefined;
    const next = bench.start({ command: 'worker', ...sizes });
    await next.until(/"msg":"published"/);
    expect(next.output).toContain('"msg":"resuming"');
    await bench.expectExact([VESSEL], '2026-01-05', '2026-01-06');
  });

  test('refused credentials hold the queue, say so once, and lose no vessel-day', async () => {
    await open();
    const wrong = { QUERY_CLIENT_SECRET: 'a-secret-that-was-regenerated' };
    const old = [bench.start({ command: 'worker' }, wrong), bench.start({ command: 'worker' }, wrong)];
    await Promise.all(old.map((worker) => worker.until(READY)));
    const dates = ['05', '06', '07', '08', '09', '10'].map((day) => `2026-01-${day}`);
    await bench.queue.add(
      dates.map((date) => ({ job: 'measurements', vessel: VESSEL, date, kind: 'nightly' as const })),
    );
    await expect.poll(() => bench.queue.bull.isPaused()).toBe(true);
    await expect.poll(() => bench.queue.depth()).toMatchObject({ waiting: 6, active: 0, failed: 0 });
    await Promise.any(old.map((worker) => worker.until(/"level":"error"/)));
    const errors = old.flatMap(({ output }) => output.match(/"level":"error".*/g) ?? []);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('QUERY_CLIENT_SECRET');
    const fresh = bench.start({ command: 'worker' });
    await fresh.until(/the fault has passed/);
    await expect.poll(() => publishedBy(fresh).length).toBe(6);
    expect(old.flatMap(publishedBy)).toEqual([]);
    await bench.expectExact([VESSEL], '2026-01-05', '2026-01-11');
  });

  test('poisoned vessel-days, one for each that is worked on at once, stop nobody else', async () => {
    await open();
    const dates = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => addDays('2026-01-01', from + n));
    const [poisoned, healthy] = [dates(4, 4), dates(8, 5)];
    // Root, too, may not write there.
    const folders = poisoned.map((date) => join(bench.lakeDir, JOB, `vessel=${VESSEL}`, `date=${date}`));
    await mkdir(dirname(folders[0]!), { recursive: true });
    for (const folder of folders) await symlink('/sys/fs', folder);
    const queued = [...poisoned, ...healthy].map((date) => ({ job: JOB, vessel: VESSEL, date }));
    await bench.queue.add(queued.map((day) => ({ ...day, kind: 'nightly' as const })));
    const worker = bench.start({ command: 'worker' });
    await expect.poll(() => bench.queue.deadLetters()).toHaveLength(4);
    for (const letter of await bench.queue.deadLetters())
      expect(letter).toMatchObject({ code: expect.stringMatching(/no-permission|read-only/), mayPass: true });
    await expect.poll(() => publishedBy(worker).length).toBe(5);
    expect(worker.output).not.toContain('on hold');
    const { stdout } = await bench.status({ from: poisoned[0]!, to: healthy[0]! });
    expect(stdout).toMatch(/4 failed;/);
    for (const folder of folders) await rm(folder);
    expect((await bench.backfill({ failed: true })).code).toBe(0);
    await bench.expectExact([VESSEL], poisoned[0]!, addDays(healthy.at(-1)!, 1));
  });

  test('a scheduler that cannot plan is not ready, and says so, until it can', async () => {
    const job = {
      vessels: [VESSEL],
      schedule: { cron: '* * * * * *' },
      reconcile: { cron: '0 8 1 1 *', lookback: '2d' },
    };
    await open({ job });
    const scheduler = bench.start({ command: 'schedule', aheadMs: aheadMs() });
    await scheduler.until(/"msg":"planned"/);
    // A look-back that Redis refuses is tried again minutes later, and makes the scheduler unready until then.
    await scheduler.until(/"msg":"looked back"/);
    const plannedAt = () =>
      metricOf(scheduler, 'vessel_export_planned_timestamp_seconds{job="measurements"}');
    const figures = async () => ({
      ready: await readinessOf(scheduler),
      leader: await metricOf(scheduler, 'vessel_export_scheduler_leader'),
      missing: await metricOf(scheduler, 'vessel_export_missing_vessel_days{job="measurements"}'),
    });
    const well = { ready: { status: 'ready' }, leader: 1, missing: 2 };
    expect(await figures()).toEqual(well);
    await bench.redis.command('config', 'set', 'maxmemory', '1');
    const ready = { status: 'not ready', reason: 'redis-full' };
    await expect.poll(figures).toEqual({ ...well, ready });
    const failures = () => metricOf(scheduler, 'vessel_export_planning_failures_total');
    await expect.poll(failures).toBeGreaterThan(0);
    const [times, at] = [await failures(), await plannedAt()];
    await expect.poll(failures).toBeGreaterThan(times);
    expect(await plannedAt()).toBe(at);
    await bench.redis.command('config', 'set', 'maxmemory', '0');
    await expect.poll(figures).toEqual(well);
    expect(await plannedAt()).toBeGreaterThan(at);
    const standby = bench.start({ command: 'schedule' });
    await standby.until(/scheduler is ready/);
    await expect.poll(() => metricOf(standby, 'vessel_export_scheduler_leader')).toBe(0);
  });

  test('people are told once by schedulers that take over from each other, and when Redis is flushed', async () => {
    await using listener = await startWebhookListener();
    const env = { NOTIFY_URL: listener.url };
    const job = {
      vessels: [VESSEL],
      schedule: { cron: '0 0 1 1 *' },
      reconcile: { cron: '0 0 1 1 *', lookback: '1d' },
    };
    await open({ job });
    // As a worker does whose credentials are refused, which then dies.
    const fault = { code: 'credentials-refused', message: 'refused', host: 'here', sinceMs: Date.now() };
    await bench.queue.hold.place(fault);
    const news: string[] = [];
    const told = () => {
      news.push(...listener.news());
      return news;
    };
    const first = bench.start({ command: 'schedule' }, env);
    await first.until(/"msg":"told"/);
    expect(told()).toContain('begun hold');
    const second = bench.start({ command: 'schedule' }, env);
    await second.until(/scheduler is ready/);
    first.child.kill('SIGTERM');
    expect(await first.ended).toEqual({ code: 0, signal: null });
    await expect.poll(() => metricOf(second, 'vessel_export_scheduler_leader')).toBe(1);
    // The hold goes with the flush, and so does who leads.
    await bench.redis.command('flushall');
    await second.until(/"msg":"told"/);
    await expect.poll(told).toContain('over hold');
    expect(news.filter((line) => line.endsWith(' hold'))).toEqual(['begun hold', 'over hold']);
  });
});
