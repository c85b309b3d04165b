/** A store that ignores `If-None-Match` on PUT: one process may export into a plain lake there, and nobody else anything. */
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { backfillCommand } from '../../src/cli/commands/backfill.ts';
import { checkCommand } from '../../src/cli/commands/check.ts';
import type { CommandContext } from '../../src/cli/commands/context.ts';
import { convertCommand } from '../../src/cli/commands/convert.ts';
import { scheduleCommand } from '../../src/cli/commands/schedule.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { workerCommand } from '../../src/cli/commands/worker.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { commitEntry } from '../../src/lake/table/table-log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { commandRun } from '../helpers/command-run.ts';
import type { HeedlessS3 } from '../helpers/heedless-s3.ts';
import { startHeedlessS3 } from '../helpers/heedless-s3.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { TestService } from '../helpers/run.ts';
import { DATE, FEW_SERIES, mustExport, runExport, startTestService } from '../helpers/run.ts';

const redis = await redisForTests();
afterAll(() => redis?.stop());
const lakeUrl = 's3://bucket/lake';
let service: TestService;
let s3: HeedlessS3;
let env: Record<string, string>;
beforeEach(async () => {
  service = await startTestService({ readingsPerDay: 1_000 });
  s3 = await startHeedlessS3();
  env = {
    ...{ AWS_ENDPOINT_URL_S3: s3.endpoint, AWS_REGION: 'us-east-1' },
    ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush-hush' },
  };
});
afterEach(async () => {
  await s3[Symbol.asyncDispose]();
  await service.close();
});

const REFUSED = { code: 2, stderr: expect.stringContaining('If-None-Match') };
const run = (command: (context: CommandContext) => Promise<number>, more: Record<string, string> = {}) =>
  commandRun({ service, lakeUrl, jobs: { measurements: FEW_SERIES }, env: { ...env, ...more } }, command);
const keys = () => [...s3.objects.keys()];
const probes = () => s3.asked.filter((request) => /^PUT .*_probes/.test(request)).length;

test('one process exports into a plain lake, is warned once, and what it wrote is right', async () => {
  const args = { from: '2026-01-05', to: '2026-01-08' };
  const { stderr, results } = await mustExport({ service, lakeUrl, env, args });
  expect(results).toHaveLength(3);
  expect(stderr.match(/If-None-Match/g)).toHaveLength(1);
  // Once a process, whatever it exports.
  expect(probes()).toBe(3);
  const verified = await run((context) => verifyCommand(context, [], {}));
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
});

test('a table is refused before anything is written, with what to do', async () => {
  const ran = await runExport({ service, lakeUrl, env: { ...env, LAKE_LAYOUT: 'delta' } });
  expect(ran.error).toMatchObject({ code: 'unfit-store', message: expect.stringContaining('a table') });
  expect(ran.code).toBe(2);
  expect(service.requests).toEqual([]);
  expect(keys()).toEqual([]);
});

test('a lake that is there becomes no table, and stays as it was', async () => {
  await mustExport({ service, lakeUrl, env });
  const before = keys();
  expect(await run((context) => convertCommand(context, { to: 'delta' }))).toMatchObject(REFUSED);
  expect(keys()).toEqual(before);
  expect(String(s3.objects.get('/bucket/lake/_lake.json')!.bytes)).not.toContain('converting');
});

test('no entry is put into the log of a table that is there', async () => {
  const store = await openStore(lakeUrl, env);
  const ports = { store, clock: systemClock, prefix: 'measurements/' };
  await expect(commitEntry(ports, 0, 'WRITE', [])).rejects.toMatchObject({ code: 'unfit-store' });
  await store.close();
  expect(keys()).toEqual([]);
});

test.skipIf(redis === undefined).each<[string, (context: CommandContext) => Promise<number>]>([
  ['worker', (context) => workerCommand(context)],
  ['schedule', (context) => scheduleCommand(context, {})],
  ['schedule --once', (context) => scheduleCommand(context, { once: true })],
  ['backfill', (context) => backfillCommand(context, 'measurements', { from: DATE, to: addDays(DATE, 1) })],
])('a fleet is refused: %s', async (_, command) => {
  const own = { REDIS_URL: redis!.url, REDIS_PREFIX: redis!.newPrefix(), HTTP_PORT: '0' };
  expect(await run(command, own)).toMatchObject(REFUSED);
  expect(keys()).toEqual([]);
});

test.each([
  [{}, 'warning', 0],
  [{ LAKE_LAYOUT: 'delta' }, 'failed', 1],
] as const)('check says it, with %j as a %s', async (more, state, code) => {
  const ran = await run((context) => checkCommand(context, [], { json: true }), more);
  expect(ran.code).toBe(code);
  const { checks } = JSON.parse(ran.stdout) as { checks: { check: string }[] };
  const found = { state, code: 'unfit-store', message: expect.stringContaining('are refused') };
  expect(checks.find(({ check }) => check === 'conditional-put')).toMatchObject(found);
  expect(keys()).toEqual([]);
});
