/** What reads a lake reads a delta lake by its tables: files that were replaced lie beside the others, and count for nothing. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { serviceNames } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { TestLake } from '../helpers/run.ts';
import {
  callCli,
  DATE,
  exportEnv,
  mustExport,
  newLake,
  serviceForTests,
  startCli,
  VESSEL,
  writeJobs,
} from '../helpers/run.ts';
import { expectTableAgrees } from '../helpers/table.ts';

const redis = await redisForTests();
const SELECT = [`flat/${VESSEL}/S*`];
const JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: SELECT },
  metadata: { dataset: 'metadata', vessels: [VESSEL], select: SELECT },
};
const NOON_MICROS = Date.parse(`${DATE}T12:00:00Z`) * 1_000;

const service = await serviceForTests({ readingsPerDay: 1_000 });
let lake: TestLake;
let jobsDir: string;
let env: Record<string, string>;
let rows: number;
let series: string;

beforeAll(async () => {
  lake = await newLake();
  jobsDir = await writeJobs(JOBS);
  env = exportEnv(service, lake.url, jobsDir);
  const delta = { service, lakeUrl: lake.url, env: { LAKE_LAYOUT: 'delta' } };
  const { metadata, ...rest } = JOBS;
  await mustExport({ ...delta, jobs: rest });
  const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  await mustExport({
    ...delta,
    jobs: { metadata },
    overrides: { clock },
  });
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
  service.overlay.addReadings(series, [{ timestampMicros: NOON_MICROS + 1, valueText: '1.5' }]);
  const { results } = await mustExport({ ...delta, jobs: rest, args: { force: true } });
  rows = results[0]!.rows!;
});
afterAll(async () => {
  await redis?.stop();
  await rm(jobsDir, { recursive: true });
  await lake[Symbol.asyncDispose]();
});

async function json(args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout } = await callCli([...args, '--json'], env);
  expect({ code, stdout }).toMatchObject({ code: 0 });
  return JSON.parse(stdout);
}
const RANGE = ['measurements', '--from', DATE, '--to', '2026-01-06'];

test('status and plan say that the day is done', async () => {
  const state = { job: 'measurements', vessel: VESSEL, date: DATE, state: 'published', rows };
  expect(await json(['status', ...RANGE])).toMatchObject({ vesselDays: 1, rows, days: [state] });
  const [job] = (await json(['plan', ...RANGE])).jobs as [{ cost: unknown; experience: unknown }];
  expect(job).toMatchObject({ cost: { vesselDays: 0 }, experience: { vesselDays: 1, rows } });
});

test('sql counts each reading once', async () => {
  const { code, stdout, stderr } = await callCli(
    ['sql', 'SELECT count(*) AS n FROM measurements', '--json'],
    env,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(String(rows));
});

test.for(['duckdb', 'clickhouse', 'trino'])('views for %s read tables', async (engine) => {
  const location = ['duckdb', 'clickhouse'].includes(engine) ? [] : ['--location', 's3://bucket/lake'];
  const { code, stdout, stderr } = await callCli(['views', '--for', engine, ...location], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/delta/i);
  expect(stdout).not.toMatch(/(?<!_ledger\/)measurements\/\*/);
});

test('a service over the lake has each reading once', async () => {
  const running = startCli(['service', '--data', lake.dir, '--port', '0']);
  await running.until('stdout', /\n/);
  const served = JSON.parse(running.stdout);
  await using again = await newLake();
  const jobs = { measurements: JOBS.measurements };
  const { results } = await mustExport({ service: served, lakeUrl: again.url, jobs });
  expect(results[0]).toMatchObject({ rows });
  running.process.kill('SIGTERM');
  await running.ended;
});

test('reconcile finds late data, and brings them into the table', async () => {
  expect(await json(['reconcile', ...RANGE])).toMatchObject({ vesselDays: 1, findings: [] });
  service.overlay.addReadings(series, [{ timestampMicros: NOON_MICROS + 2, valueText: '2.5' }]);
  const found = await callCli(['reconcile', ...RANGE, '--run', '--json'], env);
  expect(found.code).toBe(0);
  expect(JSON.parse(found.stdout)).toMatchObject({
    findings: [{ vessel: VESSEL, date: DATE }],
    days: [{ date: DATE, rows: rows + 1 }],
  });
  const store = createLocalStore(lake.dir);
  const receipts = await expectTableAgrees(store, 'measurements');
  expect([...receipts.values()].map((receipt) => receipt.rows)).toEqual([rows + 1]);
});

test('verify finds nothing in a log that begins with a checkpoint', async () => {
  const log = 'measurements/_delta_log';
  const ports = { store: createLocalStore(lake.dir), clock: systemClock, log: silentLog };
  await (await openTable({ ...ports, prefix: 'measurements/' })).checkpoint();
  await rm(join(lake.dir, `${log}/${'0'.repeat(20)}.json`));
  expect(await json(['verify', ...RANGE])).toMatchObject({ vesselDays: 1, findings: [] });
});

/** Asked to work on a plain lake. */
const runAsPlain = (args: readonly string[]) =>
  callCli(args, {
    ...env,
    ...{ LAKE_LAYOUT: 'plain', HTTP_PORT: '0' },
    ...(redis && { REDIS_URL: redis.url, REDIS_PREFIX: redis.newPrefix() }),
  });

test.for([[['run', ...RANGE]], [['reconcile', ...RANGE, '--run']]])(
  'a lake of another layout is refused by %j',
  async ([args]) => {
    const { code, stderr } = await runAsPlain(args!);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("LAKE_LAYOUT is 'plain'") });
  },
);

test('reconcile that repairs nothing only looks, whatever LAKE_LAYOUT says', async () => {
  expect(await callCli(['reconcile', ...RANGE], { ...env, LAKE_LAYOUT: 'plain' })).toMatchObject({ code: 0 });
});

describe.skipIf(redis === undefined)('with a queue', () => {
  test.for([
    [['worker']],
    [['schedule']],
    [['schedule', '--once']],
    [['backfill', ...RANGE]],
    [['reconcile', ...RANGE, '--enqueue']],
  ])('a lake of another layout is refused by %j', async ([args]) => {
    const { code, stderr } = await runAsPlain(args!);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("LAKE_LAYOUT is 'plain'") });
  });
});
