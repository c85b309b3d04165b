/**
 * A lake in trouble, for real: a disk that is full or read-only, a bucket that refuses, throttles or is out of reach.
 * People are told once of each, although the lake is where it stands what was told, and once when it is over.
 */
import { execFileSync } from 'node:child_process';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readReceipt } from '../../src/lake/ledger/ledger.ts';
import { openStore } from '../../src/store/open-store.ts';
import { lakeFiles } from '../helpers/lake.ts';
import { canStartOwnRedis, redisForTests, startOwnRedis } from '../helpers/redis.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import { mountSmallDisk } from '../helpers/small-disk.ts';
import type { TempFolder } from '../helpers/temp.ts';
import type { Fault, FaultProxy } from '../store/fault-proxy.ts';
import { startFaultProxy } from '../store/fault-proxy.ts';
import type { NoticeBench, NoticeBenchOptions } from './fleet-in-process.ts';
import {
  expectSilence,
  MINUTE_MS,
  NIGHT,
  NIGHTLY_JOB,
  openNoticeBench,
  publishNightsBefore,
} from './fleet-in-process.ts';

const redis = await redisForTests();
const s3 = await s3ForTests();

let base: TestLake;
let service: TestService;
let bench: NoticeBench;

beforeAll(async () => {
  ({ service, base } = await publishNightsBefore('2026-01-06', NIGHTLY_JOB));
});
afterAll(async () => {
  await service.close();
  await base[Symbol.asyncDispose]();
  await redis?.stop();
});

function open(more: Partial<NoticeBenchOptions>): Promise<NoticeBench> {
  return openNoticeBench({
    ...{
      service,
      lakeDir: base.dir,
      job: NIGHTLY_JOB,
      redis: redis!,
      mayFail: true,
    },
    ...more,
  });
}
const poll = <T>(look: () => T | Promise<T>) => expect.poll(look);
const receipt = () => readReceipt(bench.fleet.app.store, NIGHT);
const isOnHold = () => bench.fleet.queue.bull.isPaused();

/** The queue is put on hold for the lake's sake, however long, and goes on by itself when it is fixed. */
async function expectHold(code: string, fix: () => Promise<void>): Promise<void> {
  bench.work();
  await poll(isOnHold).toBe(true);
  expect(await bench.look()).toEqual(['begun hold']);
  const told = bench.listener.received.at(-1)!.json.changes![0]!;
  expect(told.members).toEqual([code]);
  // That nothing can be planned meanwhile has this cause.
  await expectSilence(bench, [1, 6, 30, 120]);
  await fix();
  await poll(isOnHold).toBe(false);
  await poll(receipt).toBeDefined();
  bench.advance(MINUTE_MS);
  expect(await bench.look()).toEqual(['over hold']);
  await expectSilence(bench);
}

describe.skipIf(redis === undefined)('people are told of a disk', () => {
  let disk: TempFolder | undefined;
  beforeAll(async () => {
    disk = await mountSmallDisk();
  });
  afterAll(() => disk?.remove());
  afterEach(async () => {
    await bench[Symbol.asyncDispose]();
    for (const name of ['lake', 'ballast'])
      await rm(join(disk!.path, name), { recursive: true, force: true });
  });

  async function openOnDisk(): Promise<void> {
    const dir = join(disk!.path, 'lake');
    await cp(base.dir, dir, { recursive: true });
    bench = await open({ place: { url: pathToFileURL(dir).href, dir } });
    expect(await bench.look()).toEqual([]);
  }

  test('that is full, and that it has room again', async (context) => {
    if (disk === undefined) return context.skip();
    await openOnDisk();
    const ballast = join(disk.path, 'ballast');
    await expect(writeFile(ballast, Buffer.alloc(2 << 20))).rejects.toMatchObject({ code: 'ENOSPC' });
    await expectHold('disk-full', () => rm(ballast));
  });

  test('that is read-only, and that it is not any more', async (context) => {
    if (disk === undefined) return context.skip();
    await openOnDisk();
    const remount = (how: string) => execFileSync('mount', ['-o', `remount,${how}`, disk!.path]);
    remount('ro');
    await expectHold('read-only', async () => void remount('rw')).finally(() => remount('rw'));
  });
});

const ERROR = (code: string) =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`;
const answer = (status: number, code: string): Fault => ({ kind: 'answer', status, body: ERROR(code) });

describe.skipIf(redis === undefined || s3 === undefined)('people are told of a bucket', () => {
  let line: FaultProxy;
  let drop: () => Promise<void>;
  afterEach(async () => {
    line.always = undefined;
    await bench[Symbol.asyncDispose]();
    await line[Symbol.asyncDispose]();
    await drop();
  });

  async function openInBucket(more: Partial<NoticeBenchOptions> = {}): Promise<void> {
    const made = await s3!.newBucket();
    drop = made.drop;
    line = await startFaultProxy(s3!.endpoint);
    const env = {
      ...awsEnv({ ...s3!, endpoint: line.endpoint }),
      AWS_MAX_ATTEMPTS: '2',
    };
    const url = `s3://${made.bucket}/lake`;
    const store = await openStore(url, env);
    for (const [key, bytes] of await lakeFiles(base.dir)) await store.put(key, bytes);
    await store.close();
    bench = await open({ place: { url, dir: '', env }, ...more });
    expect(await bench.look()).toEqual([]);
  }

  test.for<[what: string, code: string, status: number, error: string]>([
    ['refuses our credentials', 'bad-credentials', 403, 'InvalidAccessKeyId'],
    ['gives us no permission', 'no-permission', 403, 'AccessDenied'],
  ])('that %s, and that it is fixed', async ([, code, status, error]) => {
    await openInBucket();
    line.always = () => answer(status, error);
    await expectHold(code, async () => {
      line.always = undefined;
    });
  });

  test.for<[what: string, fault: Fault]>([
    ['answers with errors of its own', answer(500, 'InternalError')],
    ['throttles', answer(503, 'SlowDown')],
    ['is cut off in the middle', { kind: 'lose-answer' }],
  ])('that %s when a day is uploaded: the day fails, and the next firing fixes it', async ([, fault]) => {
    await openInBucket();
    line.always = ({ method, url }) =>
      method !== 'GET' && /\/data\.parquet\?/.test(url) ? fault : undefined;
    bench.work();
    await poll(() => bench.fleet.queue.deadLetters()).toHaveLength(1);
    bench.advance(MINUTE_MS);
    expect(await bench.look()).toEqual(['begun failed/measurements']);
    await expectSilence(bench);
    line.always = undefined;
    bench.advance(Date.parse('2026-01-09T06:20:00Z') - bench.nowMs());
    await bench.look();
    await poll(receipt).toBeDefined();
    await poll(async () => (await bench.fleet.queue.depth()).failed).toBe(0);
    bench.advance(6 * MINUTE_MS);
    expect(await bench.look()).toEqual(['over failed/measurements']);
    await expectSilence(bench);
  });

  test('that is out of reach, so that nothing is planned, and that it is back', async () => {
    await openInBucket();
    line.always = () => ({ kind: 'break' });
    bench.advance(10 * MINUTE_MS);
    expect(await bench.look()).toEqual([]);
    bench.advance(6 * MINUTE_MS);
    expect(await bench.look()).toEqual(['begun not-planned/measurements']);
    await expectSilence(bench, [1, 30]);
    line.always = undefined;
    bench.advance(MINUTE_MS);
    expect(await bench.look()).toEqual(['over not-planned/measurements']);
    bench.work();
    await poll(receipt).toBeDefined();
    await expectSilence(bench);
  });
});

describe.skipIf(redis === undefined || !canStartOwnRedis())('people are told', () => {
  test('that nothing is planned for want of Redis, and that it is back', async () => {
    await using own = await startOwnRedis();
    bench = await open({ redis: own, mayFail: false });
    try {
      expect(await bench.look()).toEqual([]);
      await own.kill();
      await poll(() => bench.fleet.connection.client.status).not.toBe('ready');
      bench.advance(14 * MINUTE_MS);
      expect(await bench.lookForNews()).toEqual([]);
      bench.advance(2 * MINUTE_MS);
      expect(await bench.lookForNews()).toEqual(['begun not-planned/measurements']);
      bench.advance(60 * MINUTE_MS);
      expect(await bench.lookForNews()).toEqual([]);
      await own.start();
      await poll(() => bench.fleet.connection.client.status).toBe('ready');
      expect(await bench.look()).toEqual(['over not-planned/measurements']);
      bench.work();
      await poll(receipt).toBeDefined();
      await expectSilence(bench);
    } finally {
      await bench[Symbol.asyncDispose]();
    }
  });
});
