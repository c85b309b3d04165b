/** What is sent to the acts, by whom ever: nothing but an act does anything. And what is done without a fleet, or Redis. */
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Job, silentLog, type VesselDay } from '../../src/core/model/index.ts';
import { type Fleet, openFleet } from '../../src/fleet/fleet.ts';
import { readAcceptance } from '../../src/lake/warnings.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { parseJob } from '../../src/runtime/config/jobs.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { unseenIn } from '../helpers/hostile-text.ts';
import { lakeFiles } from '../helpers/lake.ts';
import { makeReceipt, writeReceipts } from '../helpers/ledger.ts';
import { canStartOwnRedis, type OwnRedis, redisForTests, startOwnRedis } from '../helpers/redis.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { exportEnv, FEW_SERIES, newLake, startTestService, VESSEL, writeJobs } from '../helpers/run.ts';
import { ACT_HEADERS, signIn } from '../helpers/web.ts';
import { ACT_PASSWORD, type ActsPage, openActs } from './acts-bench.ts';

const redis = await redisForTests();
const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: '2026-01-05' };
const BACKFILL = { act: 'start-backfill', job: DAY.job, from: '2026-01-01', to: '2026-02-01' };
const JOB = parseJob('measurements.yaml', 'measurements', JSON.stringify(FEW_SERIES)).job as Job;
const WARNING = {
  kind: 'fewer-series',
  ...{ missing: 2, names: ['Draught'], since: DAY.date },
  comparedWith: { date: '2026-01-04', finishedAt: '2026-01-04T23:00:12.000Z', series: 9 },
} as const;

describe('from a lake alone', () => {
  let lake: TestLake;
  let store: ObjectStore;
  let page: ActsPage;
  beforeEach(async () => {
    lake = await newLake();
    store = await openStore(lake.url, {});
    page = await openActs({ store, jobs: [JOB] });
  });
  afterEach(async () => {
    await page[Symbol.asyncDispose]();
    await store.close();
    await lake[Symbol.asyncDispose]();
  });

  test('a warning is accepted, once', async () => {
    await writeReceipts(store, [makeReceipt(DAY, { remark: WARNING, selectedSeries: 7 })]);
    const act = { act: 'accept-warning', job: DAY.job, vessel: VESSEL };
    expect(await page.act(act)).toEqual({
      ...{ status: 200, code: '' },
      message: `measurements/${VESSEL}: accepted: 7 series, where 2026-01-04 had 9`,
    });
    const accepted = await readAcceptance(store, DAY.job, VESSEL);
    expect(accepted).toMatchObject({ series: 7 });
    expect((await page.act(act)).message).toContain('accepted before');
    expect(await readAcceptance(store, DAY.job, VESSEL)).toEqual(accepted);
  });

  test('nothing is accepted where nothing is missing', async () => {
    const act = { act: 'accept-warning', job: DAY.job, vessel: VESSEL };
    expect(await page.act(act)).toMatchObject({ status: 409, code: 'nothing-to-accept' });
    await writeReceipts(store, [makeReceipt(DAY)]);
    expect(await page.act(act)).toMatchObject({ status: 409, code: 'nothing-to-accept' });
    expect(await readAcceptance(store, DAY.job, VESSEL)).toBeUndefined();
  });

  test.for<[body: Readonly<Record<string, unknown>>, command: string]>([
    [
      { act: 'try-again', ...DAY, allowShrink: false },
      `vessel-export run measurements --from 2026-01-05 --to 2026-01-06 --vessel ${VESSEL}`,
    ],
    [
      { act: 'try-again', ...DAY, allowShrink: true },
      `vessel-export run measurements --from 2026-01-05 --to 2026-01-06 --vessel ${VESSEL} --force --allow-shrink`,
    ],
    [{ act: 'try-failed-again', job: DAY.job }, 'vessel-export backfill measurements --failed'],
    [
      { ...BACKFILL, vessels: [VESSEL], allowShrink: true },
      `vessel-export backfill measurements --from 2026-01-01 --to 2026-02-01 --vessel ${VESSEL} --allow-shrink`,
    ],
    [{ act: 'pause-backfill', id: 'a-b' }, 'vessel-export backfill pause a-b'],
    [{ act: 'resume-backfill', id: 'a-b' }, 'vessel-export backfill resume a-b'],
    [{ act: 'cancel-backfill', id: 'a-b' }, 'vessel-export backfill cancel a-b'],
    [{ act: 'lift-hold' }, 'vessel-export hold lift'],
  ])('%j is not done, and told how it is', async ([body, command]) => {
    const { status, code, message } = await page.act(body);
    expect([status, code]).toEqual([409, 'no-fleet']);
    expect(message.endsWith(command), message).toBe(true);
    expect((await lakeFiles(lake.dir)).size).toBe(0);
  });

  test('names with markup and control characters hold in answers and in the log, and no secret is there', async () => {
    const evil = '<script>alert(1)</script>\u001b[2J\u202e\n{"level":"error","msg":"forged"}';
    const cookie = await signIn(page.url, ACT_PASSWORD, evil);
    const ask = async (body: unknown) => {
      const headers = { ...ACT_HEADERS, cookie };
      const sent = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await fetch(`${page.url}/api/acts`, sent);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      return ((await answer.json()) as { error: { message: string } }).error.message;
    };
    for (const body of [
      { act: evil },
      { act: 'accept-warning', job: evil, vessel: VESSEL },
      { act: 'accept-warning', job: DAY.job, vessel: evil },
      { act: 'accept-warning', job: 'no-job', vessel: VESSEL, [evil]: 1 },
      { act: 'cancel-backfill', id: evil },
    ])
      expect(unseenIn(await ask(body))).toEqual([]);
    // One line each: nobody can write another.
    expect(page.lines).toHaveLength(5);
    for (const line of page.written) {
      expect(unseenIn(line.trimEnd()), line).toEqual([]);
      expect(JSON.parse(line).msg).not.toBe('forged');
    }
    expect(page.lines.every(({ by }) => typeof by === 'string' && by.includes('<script>'))).toBe(true);
    for (const secret of ['a password to', cookie.split('=')[1]!, page.cookie.split('=')[1]!])
      expect(page.written.join('')).not.toContain(secret);
  });
});

/** Bodies that are no acts. */
const NO_ACTS: readonly unknown[] = [
  ...[null, [], 'lift-hold', 7, {}, { act: 'drop-everything' }, { act: ['lift-hold'] }],
  ...[{ act: 'lift-hold', force: true }, { act: '__proto__' }, { act: 'constructor' }],
  ...['../measurements', '_ledger', '', 'A', 'a'.repeat(64), null, ['measurements'], '<b>'].map((job) => ({
    act: 'try-failed-again',
    job,
  })),
  ...['IMO1', 'imo9321483', 'IMO9321483/../x', 'IMO93214834', '<img src=x>', 'IMO9321483\n', '\u202eIMO'].map(
    (vessel) => ({ act: 'accept-warning', job: DAY.job, vessel }),
  ),
  ...['2026-02-30', '1969-12-31', '2200-01-01', '2026-1-5', 'today', 20_260_105, '2026-01-05T00:00'].map(
    (date) => ({ act: 'try-again', ...DAY, date, allowShrink: false }),
  ),
  { act: 'try-again', ...DAY },
  { act: 'try-again', ...DAY, allowShrink: 'yes' },
  { act: 'try-again', ...DAY, allowShrink: false, kind: 'nightly' },
  ...[{}, { vessels: 'all', allowShrink: false }, { vessels: [VESSEL, VESSEL], allowShrink: false }].map(
    (more) => ({ ...BACKFILL, ...more }),
  ),
  {
    ...BACKFILL,
    vessels: Array.from({ length: 2_001 }, (_, n) => `IMO${9_000_000 + n}`),
    allowShrink: false,
  },
  { ...BACKFILL, vessels: [], allowShrink: false, from: '2026-02-01' },
  { ...BACKFILL, vessels: [], allowShrink: false, from: '2026-03-01' },
  ...['', '../../_lake', 'a/b', '-a', 'A', 'a'.repeat(101), 'a.json', null, { $gt: '' }].map((id) => ({
    act: 'cancel-backfill',
    id,
  })),
];

describe.skipIf(redis === undefined)('with a fleet', () => {
  let lake: TestLake;
  let service: TestService;
  let jobsDir: string;
  let fleet: Fleet;
  let page: ActsPage;
  let prefix: string;

  const open = async (redisUrl: string) => {
    const env = exportEnv(service, lake.url, jobsDir);
    const config = loadConfig({ ...env, REDIS_URL: redisUrl, REDIS_PREFIX: prefix });
    const opened = await openFleet(config, env, silentLog, { encoderThreads: 0 });
    return { opened, acts: await openActs({ store: opened.app.store, jobs: config.jobs, fleet: opened }) };
  };
  beforeAll(async () => {
    prefix = redis!.newPrefix();
    lake = await newLake();
    service = await startTestService();
    jobsDir = await writeJobs({ measurements: FEW_SERIES });
    ({ opened: fleet, acts: page } = await open(redis!.url));
  });
  afterAll(async () => {
    await page[Symbol.asyncDispose]();
    await fleet.close();
    await service.close();
    await rm(jobsDir, { recursive: true });
    await lake[Symbol.asyncDispose]();
    await redis!.stop();
  });

  /** All that an act could change. */
  async function state(): Promise<unknown> {
    // BullMQ writes settings of its own when it first has time.
    const all = await fleet.redis.keys(`${prefix}:vessel-days:*`);
    const keys = all.filter((key) => !key.endsWith(':meta')).sort();
    return {
      keys,
      files: [...(await lakeFiles(lake.dir)).keys()],
      paused: await fleet.queue.bull.isPaused(),
    };
  }

  test('what is no act does nothing, and is told what was expected', async () => {
    const before = await state();
    for (const body of NO_ACTS) {
      const { status, code, message } = await page.act(body);
      expect([status, code], JSON.stringify(body)).toEqual([400, 'usage']);
      expect(message, JSON.stringify(body)).toMatch(/expected|exclusive|Invalid|Unrecognized|range/);
      expect(unseenIn(message)).toEqual([]);
      expect(message.length).toBeLessThan(700);
    }
    expect(await state()).toEqual(before);
    expect(page.lines.every(({ outcome }) => outcome !== 'done')).toBe(true);
    expect(page.lines).toHaveLength(NO_ACTS.length);
  });

  test.skipIf(!canStartOwnRedis())('without Redis nothing is done, and who asks is told so', async () => {
    await using server: OwnRedis = await startOwnRedis();
    const { opened, acts } = await open(server.url);
    const act = { act: 'try-again', ...DAY, allowShrink: false };
    try {
      for (const [leave, comeBack] of [
        [() => server.kill(), () => server.start()],
        [async () => server.freeze(), async () => server.thaw()],
      ] as const) {
        await leave();
        expect(await acts.act(act)).toMatchObject({ status: 503, code: 'redis-away' });
        await comeBack();
        await expect.poll(() => opened.connection.client.status).toBe('ready');
        // What was asked meanwhile does not happen afterwards.
        expect(await opened.queue.find(DAY)).toBeUndefined();
      }
      expect(await acts.act(act)).toMatchObject({ status: 200 });
      expect(await opened.queue.find(DAY)).toMatchObject({ state: 'waiting' });
      expect(acts.lines.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'done']);
    } finally {
      await acts[Symbol.asyncDispose]();
      await opened.close();
    }
  });
});
