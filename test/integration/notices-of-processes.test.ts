/** Processes that die, stop, or own a vessel-day, for real: people are told once where something is wrong, and else not at all. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatVesselDay } from '../../src/core/model/index.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { noteOf, receiptOf } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { RunningCli, TestLake, TestService } from '../helpers/run.ts';
import { startProgram } from '../helpers/run.ts';
import type { FleetChildPlan } from './fleet-child.ts';
import type { NoticeBench } from './fleet-in-process.ts';
import {
  expectSilence,
  MINUTE_MS,
  NIGHT,
  NIGHTLY_JOB,
  openNoticeBench,
  publishNightsBefore,
} from './fleet-in-process.ts';

const redis = await redisForTests();

describe.skipIf(redis === undefined)('people are told', () => {
  let base: TestLake;
  let service: TestService;
  let bench: NoticeBench;
  const children = new Set<RunningCli>();

  beforeAll(async () => {
    ({ service, base } = await publishNightsBefore('2026-01-06', NIGHTLY_JOB));
  });
  afterAll(async () => {
    await service.close();
    await base[Symbol.asyncDispose]();
    await redis!.stop();
  });
  beforeEach(async () => {
    bench = await openNoticeBench({
      ...{ service, lakeDir: base.dir, job: NIGHTLY_JOB, redis: redis! },
    });
  });
  afterEach(async () => {
    service.faults = undefined;
    for (const child of children) child.process.kill('SIGKILL');
    // One that is not gone yet could take the next test's vessel-day.
    for (const child of children) await child.ended;
    children.clear();
    await bench[Symbol.asyncDispose]();
  });

  const poll = <T>(look: () => T | Promise<T>) => expect.poll(look);
  const published = () => poll(() => receiptOf(bench.lake.dir, NIGHT)).toBeDefined();

  /** In a process of its own. */
  function startProcess(plan: FleetChildPlan) {
    const env = {
      ...bench.env,
      ...COMPILE_CACHE,
      HTTP_PORT: '0',
      LOG_LEVEL: 'info',
      FLEET_CHILD: JSON.stringify(plan),
    };
    const started = startProgram([process.execPath, join(import.meta.dirname, 'fleet-child.ts')], env);
    children.add(started);
    return started;
  }
  // Who waits for a processor keeps its lock: only of the dead it is taken.
  const startWorker = () => startProcess({ command: 'worker', lockMs: 60_000, stalledCheckMs: 200 });

  /** It dies with the vessel-day, and its lock runs out. */
  async function killWithNight(worker: RunningCli): Promise<void> {
    worker.process.kill('SIGKILL');
    expect((await worker.ended).signal).toBe('SIGKILL');
    const { redis, queue } = bench.fleet;
    expect(await redis.del(`${queue.bull.toKey(formatVesselDay(NIGHT))}:lock`)).toBe(1);
  }

  /** The service falls silent in the middle of a day. Resolves when somebody waits for it there. */
  function stallNext(): Promise<void> {
    return new Promise((resolve) => {
      service.faults = ({ family }) => {
        if (family !== 'measurements') return undefined;
        resolve();
        return { kind: 'stall', at: 'headers' };
      };
    });
  }

  test('of a vessel-day with which three workers were killed, until the next firing', {
    timeout: 120_000,
  }, async () => {
    await bench.look();
    for (let killed = 0; killed < 3; killed++) {
      const stalled = stallNext();
      const worker = startWorker();
      await stalled;
      await killWithNight(worker);
      bench.advance(MINUTE_MS);
      expect(await bench.look()).toEqual([]);
    }
    service.faults = undefined;
    startWorker();
    await poll(() => noteOf(bench.lake.dir, NIGHT)).toMatchObject({ state: 'failed', code: 'workers-died' });
    await poll(() => bench.fleet.queue.deadLetters()).toHaveLength(1);
    bench.advance(MINUTE_MS);
    expect(await bench.look()).toEqual(['begun failed/measurements']);
    await expectSilence(bench);
    bench.advance(Date.parse('2026-01-09T06:20:00Z') - bench.nowMs());
    await bench.look();
    await published();
    await bench.idle();
    await poll(() => noteOf(bench.lake.dir, NIGHT)).toBeUndefined();
    bench.advance(6 * MINUTE_MS);
    expect(await bench.look()).toEqual(['over failed/measurements']);
    await expectSilence(bench);
  });

  test('of a vessel-day that another live process owns only where the night is not whole by noon', async () => {
    const stalled = stallNext();
    const owner = startProcess({
      command: 'run',
      range: { from: NIGHT.date, to: '2026-01-08' },
      // Its heart beats by the clock of the test, and it has more patience than a day.
      aheadMs: bench.nowMs() - Date.now(),
      ...{ headersTimeoutMs: 2_000, maxAttempts: 10_000 },
    });
    await stalled;
    const stop = bench.work();
    await bench.look();
    await poll(() => bench.said('waiting').length).toBeGreaterThan(0);
    await stop();
    bench.advance(5 * 3_600_000);
    await bench.look();
    bench.advance(33 * MINUTE_MS);
    await bench.look();
    bench.advance(3 * MINUTE_MS);
    expect(await bench.look()).toEqual(['begun night/measurements']);
    await expectSilence(bench);
    expect(owner.process.exitCode).toBeNull();
    service.faults = undefined;
    expect((await owner.ended).code).toBe(0);
    bench.work();
    await published();
    await poll(async () => (await bench.fleet.queue.depth()).waiting).toBe(0);
    bench.advance(6 * MINUTE_MS);
    expect(await bench.look()).toEqual(['over night/measurements']);
    await expectSilence(bench);
  });
});
