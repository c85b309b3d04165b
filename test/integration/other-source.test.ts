/** A job is from one service: whoever would mix in another one's readings, or take them for late data, is refused. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { acceptCommand } from '../../src/cli/commands/accept.ts';
import { backfillCommand } from '../../src/cli/commands/backfill.ts';
import { checkCommand } from '../../src/cli/commands/check.ts';
import type { CommandContext } from '../../src/cli/commands/context.ts';
import { demoCommand } from '../../src/cli/commands/demo.ts';
import { rebuildLogCommand } from '../../src/cli/commands/rebuild-log.ts';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { runCommand } from '../../src/cli/commands/run.ts';
import { scheduleCommand } from '../../src/cli/commands/schedule.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { workerCommand } from '../../src/cli/commands/worker.ts';
import { addDays } from '../../src/core/model/index.ts';
import { LAKE_KEY } from '../../src/lake/keys.ts';
import { commandRun } from '../helpers/command-run.ts';
import { lakeFiles, receiptOf } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import {
  DATE,
  FEW_SERIES,
  mustExport,
  newLake,
  runCli,
  serviceForTests,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const redis = await redisForTests();
const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const DATES = { from: DATE, to: addDays(DATE, 1) };
const service = await serviceForTests({ readingsPerDay: 1_000 });
let other: TestService;
let lake: TestLake;
beforeAll(async () => {
  other = await startTestService({ readingsPerDay: 1_000, seed: 2 });
});
beforeEach(async () => {
  lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  return () => lake[Symbol.asyncDispose]();
});
afterAll(async () => {
  await other.close();
  await redis?.stop();
});

/** A command of somebody who has the address of the other service. */
const run = (command: (context: CommandContext) => Promise<number>, env: Record<string, string> = {}) =>
  commandRun({ service: other, lakeUrl: lake.url, jobs: { measurements: FEW_SERIES }, env }, command);
const exportAgain = () =>
  run((context) => runCommand(context, [], { ...DATES, force: true, allowShrink: true }));
const bytesOf = async () => [...(await lakeFiles(lake.dir))].map(([key, bytes]) => [key, String(bytes)]);

type Command = readonly [string, (context: CommandContext) => Promise<number>];
const OF_A_FLEET: readonly Command[] = [
  ['worker', (context) => workerCommand(context)],
  ['schedule', (context) => scheduleCommand(context, {})],
  ['schedule --once', (context) => scheduleCommand(context, { once: true })],
  ['backfill', (context) => backfillCommand(context, 'measurements', DATES)],
  ['reconcile --enqueue', (context) => reconcileCommand(context, [], { ...DATES, enqueue: true })],
];

test.each<Command>([
  ['run', (context) => runCommand(context, [], DATES)],
  ['reconcile', (context) => reconcileCommand(context, [], DATES)],
  ['reconcile --run', (context) => reconcileCommand(context, [], { ...DATES, run: true })],
  ['accept JOB', (context) => acceptCommand(context, 'measurements', [], {})],
  ['accept JOB VESSEL', (context) => acceptCommand(context, 'measurements', [VESSEL], {})],
  ['rebuild-log --yes', (context) => rebuildLogCommand(context, 'measurements', { yes: true })],
  ['verify --deep', (context) => verifyCommand(context, [], { ...DATES, deep: true })],
  ...(redis === undefined ? [] : OF_A_FLEET),
])('%s is refused with what to do, asks the service nothing and writes nothing', async (_, command) => {
  const before = await bytesOf();
  const asked = other.requests.length;
  const env = redis && { REDIS_URL: redis.url, REDIS_PREFIX: redis.newPrefix(), HTTP_PORT: '0' };
  const { code, stderr } = await run(command, env);
  expect(code).toBe(2);
  for (const said of [service.baseUrl, other.baseUrl, "'vessel-export accept measurements --source'"])
    expect(stderr).toContain(said);
  expect(other.requests.length).toBe(asked);
  expect(await bytesOf()).toEqual(before);
});

test('who only reads the lake is not concerned; check says it', async () => {
  const looks: Command[1][] = [
    (context) => verifyCommand(context, [], DATES),
    (context) => statusCommand(context, [], DATES),
  ];
  for (const look of looks) expect(await run(look)).toMatchObject({ code: 0 });
  const checked = await run((context) => checkCommand(context, [], { json: true }));
  expect(JSON.parse(checked.stdout).checks).toContainEqual(
    expect.objectContaining({ check: 'lake-file', state: 'failed', code: 'other-source' }),
  );
});

test('accepted once, it is exported from there, and the receipt says so', async () => {
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ sourceUrl: service.baseUrl });
  expect(await exportAgain()).toMatchObject({ code: 2 });
  const accept = () => run((context) => acceptCommand(context, 'measurements', [], { source: true }));
  const accepted = `measurements: accepted: ${other.baseUrl}, where it was ${service.baseUrl}\n`;
  expect(await accept()).toMatchObject({ code: 0, stdout: accepted });
  expect(await accept()).toMatchObject({ code: 0, stdout: expect.stringContaining('accepted before') });
  expect(await exportAgain()).toMatchObject({ code: 0 });
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ sourceUrl: other.baseUrl, epoch: 2 });
  const bytes = (await lakeFiles(lake.dir)).get(`_ledger/measurements/date=${DATE}/vessel=${VESSEL}.json`);
  expect(bytes!.length).toBeLessThan(2_000);
});

test('what cannot be accepted is said', async () => {
  const twice = run((context) => acceptCommand(context, 'measurements', [VESSEL], { source: true }));
  expect(await twice).toMatchObject({ code: 2, stderr: expect.stringContaining('the job alone') });
  const unknown = run((context) => acceptCommand(context, 'others', [], { source: true }));
  expect(await unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("no job 'others'") });
});

test('the demo writes nowhere but into a lake of its own, which takes nothing else', async () => {
  const before = await bytesOf();
  const demo = (folder: string) =>
    run((context) => demoCommand(context, { lake: folder, readingsPerDay: 1_000 }));
  expect(await demo(lake.dir)).toMatchObject({ code: 2, stderr: expect.stringContaining('--lake') });
  expect(await bytesOf()).toEqual(before);
  await using own = await newLake();
  const folder = join(own.dir, 'demo-lake');
  // Whatever jobs lie beside it, and whatever is set.
  const made = await runCli(
    ['demo', '--readings-per-day', '1000'],
    { JOBS_DIR: 'none', LAKE_URL: lake.url },
    own.dir,
  );
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/15 vessel-days: 15 published[\s\S]*DuckDB on the lake/),
  });
  const files = await lakeFiles(folder);
  const file = JSON.parse(String(files.get(LAKE_KEY)));
  expect(file).toMatchObject({ madeUp: true, sources: { measurements: 'made-up:demo' } });
  const vessels = new Set([...files.keys()].flatMap((key) => /vessel=(\w+)/.exec(key)?.[1] ?? []));
  expect([...vessels].every((vessel) => /^IMO0\d{6}$/.test(vessel))).toBe(true);
  expect(await bytesOf()).toEqual(before);
  lake = { ...lake, url: lake.url.replace(lake.dir, folder) };
  expect(await exportAgain()).toMatchObject({ code: 2, stderr: expect.stringContaining('made up') });
});
