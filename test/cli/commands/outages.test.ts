import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { perform } from '../../../src/cli/cli.ts';
import { backfillCommand, backfillListCommand } from '../../../src/cli/commands/backfill.ts';
import { gcCommand } from '../../../src/cli/commands/gc.ts';
import { holdCommand, liftHoldCommand } from '../../../src/cli/commands/hold.ts';
import { reconcileCommand } from '../../../src/cli/commands/reconcile.ts';
import { runCommand } from '../../../src/cli/commands/run.ts';
import { statusCommand } from '../../../src/cli/commands/status.ts';
import { verifyCommand } from '../../../src/cli/commands/verify.ts';
import { addDays, microsToDate, silentLog } from '../../../src/core/model/index.ts';
import { openFleet } from '../../../src/fleet/fleet.ts';
import { runFleetProcess } from '../../../src/fleet/fleet-process.ts';
import { openVesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { openRedis } from '../../../src/redis/connection.ts';
import { loadConfig } from '../../../src/runtime/config/config.ts';
import { type CommandPlace, commandRun } from '../../helpers/command-run.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { redisForTests } from '../../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../../helpers/run.ts';
import {
  DATE,
  exportEnv,
  FEW_SERIES,
  mustExport,
  newLake,
  OTHER_VESSEL,
  QUICK_LIMITS,
  startTestService,
  VESSEL,
  writeJobs,
} from '../../helpers/run.ts';

const redis = await redisForTests();
const RANGE = { from: DATE, to: addDays(DATE, 3) };
const JOBS: Record<string, JobFile> = { measurements: { ...FEW_SERIES, vessels: [VESSEL, OTHER_VESSEL] } };
const DISCOVERING = { measurements: { ...FEW_SERIES, vessels: { discover: 'flat/*/*' } } };
const overrides = {
  clientLimits: { ...QUICK_LIMITS, retry: { baseDelayMs: 2, maxDelayMs: 5, maxAttempts: 2 } },
  encoderThreads: 0,
} as const;

let service: TestService;
let lake: TestLake;
let place: CommandPlace;
beforeAll(async () => {
  service = await startTestService({ vessels: 2 });
  lake = await newLake();
  place = { service, lakeUrl: lake.url, jobs: JOBS };
  await mustExport({ service, lakeUrl: lake.url, jobs: JOBS, args: RANGE });
});
afterEach(() => {
  service.faults = undefined;
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
  await redis?.stop();
});

const today = () => microsToDate(Date.now() * 1_000);
const away = { kind: 'status', status: 503 } as const;

test('a first run without dates that is interrupted has asked for its days', async () => {
  await using empty = await newLake();
  const interruption = new AbortController();
  const own = { ...place, lakeUrl: empty.url, signal: interruption.signal };
  service.faults = ({ family }) => {
    if (family === 'statistics') interruption.abort();
    return undefined;
  };
  const { code } = await commandRun(own, (context) => runCommand(context, [], {}, overrides));
  expect(code).toBe(130);
  const [from, to] = [addDays(today(), -3), today()];
  const { stdout } = await commandRun({ ...place, lakeUrl: empty.url }, (context) =>
    statusCommand(context, [], { from, to, json: true }),
  );
  expect(JSON.parse(stdout).jobs[0].totals).toMatchObject({ missing: 2, 'not-asked-for': 4 });
});

describe('reconcile', () => {
  const reconcile = (json = false) =>
    commandRun(place, (context) => reconcileCommand(context, [], { ...RANGE, json }, overrides));

  test('with a service that gives no counts says that nothing could be compared', async () => {
    service.faults = ({ family }) => (family === 'statistics' ? away : undefined);
    const { code, stdout } = await reconcile();
    expect(stdout).toContain('0 vessel-days compared, 6 could not be: nothing could be compared');
    expect(stdout).not.toContain('nothing changed');
    expect(code).toBe(1);
    const { stdout: text } = await reconcile(true);
    const { vesselDays, notCompared, jobs, unasked } = JSON.parse(text);
    expect({ vesselDays, notCompared }).toEqual({ vesselDays: 0, notCompared: 6 });
    expect(jobs).toMatchObject([{ vesselDays: 0, notCompared: 6 }]);
    expect(unasked.map(({ vessel }: { vessel: string }) => vessel).sort()).toEqual(
      [VESSEL, OTHER_VESSEL].sort(),
    );
  });

  test('that could ask for one vessel only counts that one', async () => {
    service.faults = ({ family, url }) =>
      family === 'metadata' && url.includes(OTHER_VESSEL) ? away : undefined;
    const { code, stdout } = await reconcile();
    expect(stdout).toContain('3 vessel-days compared, 3 could not be: nothing changed in those compared');
    expect(stdout).toContain(`not asked  ${OTHER_VESSEL}`);
    expect(code).toBe(1);
  });
});

describe('verify --deep', () => {
  const verify = (json: boolean) =>
    commandRun(place, (context) => verifyCommand(context, [], { ...RANGE, deep: true, json }, overrides));

  test('without an answer of the service says that nothing could be verified', async () => {
    service.faults = ({ family }) => (family === 'token' ? undefined : away);
    const { code, stdout } = await verify(false);
    expect(stdout).toContain('nothing could be verified of 6 vessel-days: 6 findings');
    expect(stdout).not.toContain('every row read back');
    expect(code).toBe(1);
    const counted = JSON.parse((await verify(true)).stdout);
    expect(counted).toMatchObject({ planned: 6, vesselDays: 0, notVerified: 6, withFindings: 6, rows: 0 });
  });

  test('that was answered for one vessel only counts that one', async () => {
    service.faults = ({ family, url }) =>
      family === 'metadata' && url.includes(OTHER_VESSEL) ? away : undefined;
    const { code, stdout } = await verify(false);
    expect(stdout).toMatch(/3 of 6 vessel-days verified, 3 could not be \(.*: 3 findings/);
    expect(code).toBe(1);
  });
});

test('gc of a lake that is out of reach does not say that there is nothing', async () => {
  const env = {
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
    ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_MAX_ATTEMPTS: '1' },
  };
  const { code, stdout, stderr } = await commandRun(
    { ...place, lakeUrl: 's3://bucket/lake', env },
    (context) => gcCommand(context, {}),
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('cannot list s3://bucket/lake');
});

describe.skipIf(redis === undefined)('with a queue', () => {
  const queueEnv = () => ({ REDIS_URL: redis!.url, REDIS_PREFIX: redis!.newPrefix() });

  test.for([
    ['that the lake knows', true],
    ['that nobody knows', false],
  ] as const)('backfill list answers without the service, of vessels %s', async ([, isKnown]) => {
    await using empty = await newLake();
    const lakeUrl = isKnown ? lake.url : empty.url;
    const env = queueEnv();
    const at = { service, lakeUrl, jobs: DISCOVERING, env };
    const range = { from: DATE, to: addDays(DATE, 5) };
    const begun = await commandRun(at, (context) =>
      backfillCommand(context, 'measurements', { ...range, detach: true }, overrides),
    );
    expect(begun.code).toBe(0);
    // One that takes requests, and answers none.
    let asked = 0;
    await using silent = await startHttpServer(() => asked++);
    const down = {
      ...at,
      service: { ...service, baseUrl: `${silent.url}/fleet`, authUrl: `${silent.url}/auth` },
    };
    const list = (json: boolean) =>
      commandRun(down, (context) => backfillListCommand(context, { json }, { encoderThreads: 0 }));
    const { code, stdout } = await list(true);
    expect({ code, asked }).toEqual({ code: 0, asked: 0 });
    const [backfill] = JSON.parse(stdout).backfills;
    expect(backfill).toMatchObject({ state: 'running', vesselsFrom: 'lake', vessels: [] });
    expect(backfill.progress).toEqual(
      isKnown ? { due: 10, published: 6, failed: 0, queued: 4, left: 0 } : null,
    );
    const { stdout: text } = await list(false);
    expect(text).toContain(
      'counts the vessels in the lake; the service, which may have others, was not queried',
    );
    if (!isKnown) expect(text).toMatch(/under way +- +- +- +- +-/);
    expect(asked).toBe(0);
    const id = `measurements-${range.from}-${range.to}`;
    // As they are typed: what the table makes of the words counts.
    for (const [word, said] of [
      ['pause', 'paused'],
      ['resume', 'goes on'],
      ['cancel', 'cancelled'],
    ] as const) {
      const typed = ['node', 'vessel-export', 'backfill', word, id];
      const changed = await commandRun(down, (context) => perform(context, typed));
      expect({ ...changed, stderr: '' }).toEqual({
        code: 0,
        stdout: expect.stringContaining(`${id}: ${said}`),
        stderr: '',
      });
    }
  });

  test('hold says why the queue is on hold, and hold lift sets it going, whatever the probes say', async () => {
    const env = queueEnv();
    // Neither service nor lake is asked.
    const place = { lakeUrl: 's3://no-such-bucket', jobs: JOBS, env };
    const ask = (command: typeof holdCommand) =>
      commandRun(place, (context) => command(context, { encoderThreads: 0 }));
    const connection = await openRedis(env.REDIS_URL);
    const queue = openVesselDayQueue({ redis: connection.openForQueue(), prefix: env.REDIS_PREFIX });
    const hold = queue.hold;
    const none = { code: 0, stdout: 'the queue is not on hold\n', stderr: '' };
    expect(await ask(holdCommand)).toEqual(none);
    expect(await ask(liftHoldCommand)).toEqual(none);
    const sinceMs = Date.parse('2026-01-08T06:30:00Z');
    await hold.place({ code: 'credentials-refused', message: 'refused', host: 'other', sinceMs });
    expect(await ask(holdCommand)).toEqual({
      ...none,
      stdout: 'the queue is on hold since 2026-01-08T06:30:00.000Z: credentials-refused at other: refused\n',
    });
    const lifted = await ask(liftHoldCommand);
    expect(lifted).toMatchObject({ code: 0, stderr: '' });
    expect(lifted.stdout).toMatch(/^the queue continues; it was on hold for 'credentials-refused'\. /);
    expect([await hold.read(), await hold.handLifts()]).toEqual([undefined, 1]);
    expect((await ask(liftHoldCommand)).stdout).toBe(none.stdout);
    await queue.bull.pause();
    expect((await ask(holdCommand)).stdout).toMatch(
      /^the queue is on hold: paused: .*for an unknown reason.*hold lift/,
    );
    expect((await ask(liftHoldCommand)).stdout).toContain("it was on hold for 'paused'");
    expect(await queue.bull.isPaused()).toBe(false);
    await queue.close();
    await connection.close();
  });

  test('a queue on hold is seen in every process; the scheduler goes on, and says so', async () => {
    const jobsDir = await writeJobs(JOBS);
    onTestFinished(() => rm(jobsDir, { recursive: true }));
    const env = { ...exportEnv(service, lake.url, jobsDir), ...queueEnv(), HTTP_PORT: '0' };
    const config = loadConfig(env);
    const other = await openFleet(config, env, silentLog, overrides);
    const hold = other.queue.hold;
    const stop = new AbortController();
    const options = {
      role: 'scheduler',
      config,
      env,
      log: silentLog,
      overrides,
      signal: stop.signal,
    } as const;
    await runFleetProcess(options, async (_fleet, _metrics, url) => {
      const ask = async () => {
        const ready = await fetch(`${url}/ready`);
        const metrics = await (await fetch(`${url}/metrics`)).text();
        return [ready.status, await ready.json(), /^vessel_export_on_hold (.*)$/m.exec(metrics)?.[1]];
      };
      expect(await ask()).toEqual([200, { status: 'ready' }, '0']);
      const fault = { code: 'credentials-refused', message: 'refused', host: 'other', sinceMs: 0 };
      await hold.place(fault);
      expect(await ask()).toEqual([200, { status: 'ready', onHold: 'credentials-refused' }, '1']);
      await hold.lift();
      expect(await ask()).toEqual([200, { status: 'ready' }, '0']);
    });
    await other.close();
  });
});
