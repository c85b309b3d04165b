/** `--json` and `--ndjson` are an interface: what commands print is what the schemas in the package say. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { backfillCommand, backfillListCommand } from '../../../src/cli/commands/backfill.ts';
import type { OutputOptions } from '../../../src/cli/commands/command.ts';
import { configCommand } from '../../../src/cli/commands/config.ts';
import { gcCommand } from '../../../src/cli/commands/gc.ts';
import { planCommand } from '../../../src/cli/commands/plan.ts';
import { reconcileCommand } from '../../../src/cli/commands/reconcile.ts';
import { runCommand } from '../../../src/cli/commands/run.ts';
import { scheduleCommand } from '../../../src/cli/commands/schedule.ts';
import { statusCommand } from '../../../src/cli/commands/status.ts';
import { verifyCommand } from '../../../src/cli/commands/verify.ts';
import { addDays, dayRange, systemClock } from '../../../src/core/model/index.ts';
import { claimKey, objectKey, receiptKey } from '../../../src/lake/keys.ts';
import { edit } from '../../audit/verify/audit-lake.ts';
import { commandRun } from '../../helpers/command-run.ts';
import { redisForTests } from '../../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../../helpers/run.ts';
import { DATE, newLake, OTHER_VESSEL, QUICK_LIMITS, startTestService, VESSEL } from '../../helpers/run.ts';
import { SCHEMAS_DIR, schemaFiles } from './schemas.ts';

const redis = await redisForTests();
const TO = addDays(DATE, 3);
const clock = { ...systemClock, nowMs: () => Date.parse(`${TO}T12:00:00Z`) };
const overrides = { clock, encoderThreads: 0, clientLimits: QUICK_LIMITS } as const;
const select = ['flat/{vessel}/S*'];
const JOBS: Readonly<Record<string, JobFile>> = {
  measurements: {
    ...{ dataset: 'measurements', vessels: [VESSEL, OTHER_VESSEL], select },
    schedule: { cron: '15 6 * * *', settle: '6h' },
    reconcile: { cron: '45 7 * * *', lookback: '7d' },
  },
  metadata: { dataset: 'metadata', vessels: { discover: 'flat/*/*' }, select },
  statistics: { dataset: 'statistics', vessels: [VESSEL], select, window: '2h' },
};
const RANGE = { from: DATE, to: TO };
const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };

let service: TestService;
let lake: TestLake;
beforeAll(async () => {
  service = await startTestService({ vessels: 2, readingsPerDay: 1_000 });
  lake = await newLake();
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
  await redis?.stop();
});

function schemaOf(name: string): z.ZodType {
  return z.fromJSONSchema(JSON.parse(readFileSync(join(SCHEMAS_DIR, `${name}.schema.json`), 'utf8')));
}

type CommandOf = Parameters<typeof commandRun>[1];
type Item = Readonly<Record<string, unknown>>;

/** Run a command, and hold what it prints against a schema of the package. */
async function printed(name: string, command: CommandOf, env: Record<string, string> = {}) {
  const ran = await commandRun({ service, lakeUrl: lake.url, jobs: JOBS, env }, command);
  const lines = name.endsWith('.ndjson') ? ran.stdout.trimEnd().split('\n') : [ran.stdout];
  const values = lines.map((line) => JSON.parse(line) as Record<string, Item[]> & Item);
  for (const value of values) schemaOf(name).parse(value);
  return { ...ran, values, value: values.at(-1)! };
}

/** The two forms of one result say the same. */
async function bothForms(name: string, command: (options: OutputOptions) => CommandOf) {
  const { value } = await printed(name, command({ json: true }));
  const { values } = await printed(`${name}.ndjson`, command({ ndjson: true }));
  const { kind, ...summary } = values.at(-1)!;
  expect(kind).toBe('summary');
  const lists = Object.entries(value).filter(
    ([, list]) => Array.isArray(list) && !(list as unknown[]).every(isText),
  );
  expect(value).toMatchObject(summary);
  const items = lists.flatMap(([, list]) => list as unknown as Item[]).map((item) => JSON.stringify(item));
  const told = values.slice(0, -1).map(({ kind: _, ...item }) => JSON.stringify(item));
  expect(told.toSorted()).toEqual(items.toSorted());
  return value;
}

async function putFile(key: string, text: string): Promise<void> {
  await mkdir(dirname(join(lake.dir, key)), { recursive: true });
  await writeFile(join(lake.dir, key), text);
}

const isText = (item: unknown) => typeof item === 'string';

describe('the files', () => {
  test("are up to date: 'npm run generate' writes them", () => {
    const files = schemaFiles();
    expect(readdirSync(SCHEMAS_DIR).sort()).toEqual([...files.keys()].sort());
    for (const [name, text] of files) expect(readFileSync(join(SCHEMAS_DIR, name), 'utf8'), name).toBe(text);
  });

  test('are strict: an unknown key is no result', () => {
    expect(schemaOf('gc').safeParse({ schemaVersion: 1, items: [] }).success).toBe(true);
    expect(schemaOf('gc').safeParse({ schemaVersion: 1, items: [], more: 1 }).success).toBe(false);
    expect(schemaOf('gc').safeParse({ schemaVersion: 2, items: [] }).success).toBe(false);
  });

  test('take the jobs of this package and those of these tests, and no others', () => {
    const folder = join(import.meta.dirname, '../../../jobs');
    const job = schemaOf('job');
    for (const name of readdirSync(folder)) {
      const text = readFileSync(join(folder, name), 'utf8');
      expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/schemas\/job\.schema\.json\n/);
      expect(job.safeParse(parse(text)).error, name).toBeUndefined();
    }
    for (const file of Object.values(JOBS)) expect(job.safeParse(file).error).toBeUndefined();
    const { measurements } = JOBS;
    expect(job.safeParse({ ...measurements, colour: 'red' }).success).toBe(false);
    expect(job.safeParse({ ...measurements, schedule: { cron: '15 6 * * *', settle: '6 h' } }).success).toBe(
      false,
    );
  });
});

describe('what commands print', () => {
  test('plan, before anything is published and after', async () => {
    const command: CommandOf = (context) => planCommand(context, [], { ...RANGE, json: true }, overrides);
    const before = await printed('plan', command);
    expect(before.value.jobs).toMatchObject([
      { totals: { missing: 6, published: 0 }, timed: { vessel: expect.anything() }, experience: null },
      { job: 'metadata' },
      { job: 'statistics' },
    ]);
    await printed('run', (context) => runCommand(context, [], { ...RANGE, json: true }, overrides));
    const after = await printed('plan', command);
    expect(after.value.jobs).toMatchObject([
      { totals: { missing: 0, published: 6 }, experience: { vesselDays: 6 } },
      {},
      {},
    ]);
  });

  test('run, of days that are published, already published, failed and not due', async () => {
    service.faults = ({ url }) =>
      url.includes(OTHER_VESSEL) ? { kind: 'statistics-counts', offset: 1 } : undefined;
    const range = { from: DATE, to: addDays(TO, 1) };
    const failing = await printed('run.ndjson', (context) =>
      runCommand(context, ['measurements'], { ...range, force: true, ndjson: true }, overrides),
    );
    service.faults = undefined;
    const { totals } = failing.value as unknown as { totals: Record<string, number> };
    expect(failing.code).toBe(1);
    expect(totals).toMatchObject({ published: 3, failed: 3, 'not-due': 2 });
    expect(failing.values.slice(0, -1)).toHaveLength(8);
    const value = await bothForms(
      'run',
      (options) => (context) => runCommand(context, ['measurements'], { ...range, ...options }, overrides),
    );
    expect(value.days).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ ...DAY, state: 'published', exported: false })]),
    );
  });

  test('reconcile, of changed days, and with --run', async () => {
    service.overlay.removeReadings(undefined, dayRange(addDays(DATE, 1)));
    const value = await bothForms(
      'reconcile',
      (options) => (context) => reconcileCommand(context, [], { ...RANGE, ...options }, overrides),
    );
    expect(value.jobs).toMatchObject([{}, { job: 'metadata', message: expect.any(String) }, {}]);
    expect(value.findings!.length).toBeGreaterThan(0);
    const fixed = await printed('reconcile.ndjson', (context) =>
      reconcileCommand(context, [], { ...RANGE, run: true, allowShrink: true, ndjson: true }, overrides),
    );
    expect(fixed.values.map(({ kind }) => kind)).toContain('day');
  });

  test('status', async () => {
    await printed('status.ndjson', (context) =>
      statusCommand(context, [], { month: DATE.slice(0, 7), ndjson: true }, overrides),
    );
    const value = await bothForms(
      'status',
      (options) => (context) => statusCommand(context, [], { ...RANGE, ...options }, overrides),
    );
    expect(value.days!.length).toBe(value.vesselDays);
  });

  test('verify, with findings and warnings; gc', async () => {
    const claim = { claimVersion: 1, epoch: 9, owner: { host: 'h', pid: 1 }, heartbeatMs: 0, sealed: null };
    await edit(lake.dir, objectKey(DAY), (bytes) => bytes.subarray(1));
    await edit(lake.dir, receiptKey({ ...DAY, job: 'statistics' }), () => Buffer.from('{'));
    await putFile(claimKey(DAY, 9), JSON.stringify({ ...claim, checkpoint: null }));
    await putFile('measurements/loose.parquet', 'PAR1');
    const value = await bothForms('verify', (options) => (context) => verifyCommand(context, [], options));
    expect(value.findings!.map(({ code }) => code).sort()).toEqual([
      'object-stray',
      'receipt-damaged',
      'size-differs',
    ]);
    expect(value).toMatchObject({ withFindings: 2, warnings: [{ code: 'unfinished', ...DAY }] });
    const { value: garbage } = await printed('gc', (context) => gcCommand(context, { json: true }));
    expect(garbage.items).toMatchObject([{ kind: 'claim', state: 'kept' }]);
  });

  test('config, sound and with faults', async () => {
    const config = (env: Record<string, string>) =>
      printed('config', async (context) => configCommand(context, { json: true }), env);
    expect((await config({})).value.jobs).toMatchObject([{ job: 'measurements' }, { job: 'metadata' }, {}]);
    expect(await config({ LAKE_URL: '' })).toMatchObject({ code: 2, value: { faults: [expect.anything()] } });
  });

  test.skipIf(redis === undefined)('backfill list, schedule --once, and reconcile --enqueue', async () => {
    const env = { REDIS_URL: redis!.url, REDIS_PREFIX: redis!.newPrefix() };
    await rm(join(lake.dir, receiptKey({ ...DAY, date: addDays(DATE, 2) })));
    const list = () =>
      printed('backfill-list', (context) => backfillListCommand(context, { json: true }, overrides), env);
    expect((await list()).value.backfills).toEqual([]);
    const queued = await printed(
      'reconcile',
      (context) => reconcileCommand(context, [], { ...RANGE, enqueue: true, json: true }, overrides),
      env,
    );
    expect(queued.value.days).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ state: 'enqueued', exported: false })]),
    );
    await commandRun({ service, lakeUrl: lake.url, jobs: JOBS, env }, (context) =>
      backfillCommand(context, 'measurements', { month: '2026-01', detach: true }, overrides),
    );
    expect((await list()).value.backfills).toMatchObject([
      {
        job: 'measurements',
        from: '2026-01-01',
        to: '2026-02-01',
        state: 'running',
        progress: { published: 5 },
      },
    ]);
    const once = await printed(
      'schedule-once',
      (context) => scheduleCommand(context, { once: true, json: true }, overrides),
      env,
    );
    expect(once.value.jobs).toMatchObject([{ job: 'measurements' }]);
  });

  test('--json and --ndjson together are refused', async () => {
    const both = { json: true, ndjson: true };
    const place = { service, lakeUrl: lake.url, jobs: JOBS };
    for (const command of [runCommand, reconcileCommand, statusCommand, verifyCommand]) {
      expect(await commandRun(place, (context) => command(context, [], both))).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringContaining('--ndjson: given together with --json'),
      });
    }
  });
});
