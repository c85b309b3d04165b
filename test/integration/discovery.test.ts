/** Discovery: what it leaves out, or names by what is no vessel, is told, and nothing is lost in silence. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { planCommand } from '../../src/cli/commands/plan.ts';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { receiptKey } from '../../src/lake/keys.ts';
import { commandRun } from '../helpers/command-run.ts';
import type { Fault, FaultyRequest } from '../helpers/faulty-service/faults.ts';
import { askService, receiptOf } from '../helpers/lake.ts';
import type { JobFile, RanExport, TestLake } from '../helpers/run.ts';
import {
  DATE,
  mustExport,
  newLake,
  OTHER_VESSEL,
  QUICK_LIMITS,
  runExport,
  serviceForTests,
  VESSEL,
} from '../helpers/run.ts';

const JOB: JobFile = {
  dataset: 'measurements',
  vessels: { discover: 'flat/*/*' },
  select: ['flat/{vessel}/Shaft *'],
};
const NEXT = addDays(DATE, 1);
const clock = { ...systemClock, nowMs: () => Date.parse(`${addDays(DATE, 3)}T12:00:00Z`) };
const overrides = { clock, clientLimits: QUICK_LIMITS, encoderThreads: 0 };

interface Element {
  readonly id: string;
  readonly vessel: { imo: string };
}

const service = await serviceForTests({ vessels: 2, readingsPerDay: 1_000 });
let lake: TestLake;
let fleet: readonly Element[];

beforeAll(async () => {
  fleet = JSON.parse(await askService(service, '/metadata/flat/*/*', { version: '2026-09-10' }));
});
beforeEach(async () => {
  service.faults = undefined;
  lake = await newLake();
  return () => lake[Symbol.asyncDispose]();
});

const isDiscovery = ({ family, url }: FaultyRequest) => family === 'metadata' && !url.includes('IMO');
const answer = (elements: readonly unknown[]): Fault => ({
  kind: 'garbage',
  body: JSON.stringify(elements),
  contentType: 'application/json',
});
const NOTHING: readonly (readonly [string, Fault])[] = [
  ['404', { kind: 'status', status: 404 }],
  ['an empty list', answer([])],
];

const run = (from = DATE, at: Partial<typeof overrides> = {}): Promise<RanExport> =>
  runExport({
    ...{ service, lakeUrl: lake.url, jobs: { measurements: JOB } },
    args: { from },
    overrides: { ...overrides, ...at },
  });
const command = (perform: Parameters<typeof commandRun>[1]) =>
  commandRun({ service, lakeUrl: lake.url, jobs: { measurements: JOB } }, perform);
const vesselsOf = ({ results }: RanExport) => results.map(({ vessel }) => vessel).sort();

for (const [what, fault] of NOTHING) {
  test(`${what} once: discovery is asked again, and every vessel is exported`, async () => {
    let left = 1;
    service.faults = (request) => (isDiscovery(request) && left-- > 0 ? fault : undefined);
    const ran = await run();
    expect(ran.code).toBe(0);
    expect(vesselsOf(ran)).toEqual([VESSEL, OTHER_VESSEL]);
  });

  test(`${what} to stay: run, plan, reconcile and status --discover say so and fail`, async () => {
    service.faults = (request) => (isDiscovery(request) ? fault : undefined);
    const ran = await run();
    expect(ran).toMatchObject({ code: 1, results: [], error: { code: 'no-vessels' } });
    expect(ran.stderr).toMatch(/metadata of flat\/\*\/\*.*no vessel was discovered; check the job's/);
    const range = { from: DATE, to: NEXT };
    const others = [
      await command((context) => planCommand(context, [], range, overrides)),
      await command((context) => reconcileCommand(context, [], range, overrides)),
      await command((context) => statusCommand(context, [], { ...range, discover: true }, overrides)),
    ];
    for (const { code, stdout, stderr } of others) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('no vessel was discovered');
    }
  });
}

test('a vessel that is left out of one answer is named, asked for by its name, and exported', async () => {
  await mustExport({ service, lakeUrl: lake.url, jobs: { measurements: JOB }, overrides });
  const own = fleet.filter(({ vessel }) => `IMO${vessel.imo}` === VESSEL);
  service.faults = (request) => (isDiscovery(request) ? answer(own) : undefined);
  const ran = await run(NEXT);
  expect(ran.code).toBe(0);
  expect(vesselsOf(ran)).toEqual([VESSEL, OTHER_VESSEL]);
  expect(JSON.parse(ran.stdout).vessels).toMatchObject([
    { job: 'measurements', vessel: OTHER_VESSEL, code: 'unlisted', message: expect.stringContaining(DATE) },
  ]);
  expect(ran.stderr).toContain(OTHER_VESSEL);
  expect(await receiptOf(lake.dir, day(OTHER_VESSEL, NEXT))).toMatchObject({ unlisted: true });
  expect(await receiptOf(lake.dir, day(VESSEL, NEXT))).not.toHaveProperty('unlisted');
  const range = { from: DATE, to: addDays(DATE, 2) };
  const status = (json: boolean) =>
    command((context) => statusCommand(context, [], { ...range, json }, overrides));
  expect(JSON.parse((await status(true)).stdout).vessels).toMatchObject([
    { vessel: OTHER_VESSEL, code: 'unlisted', message: expect.stringContaining(NEXT) },
  ]);
  expect((await status(false)).stdout).toMatch(new RegExp(`not listed +${OTHER_VESSEL}: .*${NEXT}`));
});

test('a vessel that the service has no series of any more: its days are missing, and everyone says so', async () => {
  await mustExport({ service, lakeUrl: lake.url, jobs: { measurements: JOB }, overrides });
  loseOther();
  const range = { from: DATE, to: addDays(DATE, 2), json: true };
  const planned = await command((context) => planCommand(context, [], range, overrides));
  expect(JSON.parse(planned.stdout)).toMatchObject({
    jobs: [{ vesselCount: 2, totals: { missing: 2, published: 2 } }],
    vessels: [{ vessel: OTHER_VESSEL, code: 'unlisted' }],
  });
  const ran = await run(NEXT);
  expect(ran.code).toBe(1);
  expect(ran.results.find(({ vessel }) => vessel === OTHER_VESSEL)).toMatchObject({
    state: 'failed',
    code: 'no-series',
  });
  for (const discover of [true, false]) {
    const { stdout } = await command((context) =>
      statusCommand(context, [], { ...range, discover }, overrides),
    );
    expect(JSON.parse(stdout)).toMatchObject({
      jobs: [{ totals: { published: 3, failed: 1 } }],
      vessels: [{ vessel: OTHER_VESSEL, code: 'unlisted' }],
    });
  }
  const reconciled = await command((context) => reconcileCommand(context, [], range, overrides));
  expect(reconciled.code).toBe(1);
  expect(JSON.parse(reconciled.stdout).unasked).toMatchObject([{ vessel: OTHER_VESSEL }]);
});

test('after fourteen days it is taken to have left, also where it was exported meanwhile', async () => {
  await mustExport({ service, lakeUrl: lake.url, jobs: { measurements: JOB }, overrides });
  const own = fleet.filter(({ vessel }) => `IMO${vessel.imo}` === VESSEL);
  service.faults = (request) => (isDiscovery(request) ? answer(own) : undefined);
  const on = (date: string) =>
    run(date, { clock: { ...clock, nowMs: () => Date.parse(`${addDays(date, 1)}T12:00:00Z`) } });
  expect(vesselsOf(await on(addDays(DATE, 12)))).toEqual([VESSEL, OTHER_VESSEL]);
  const later = await on(addDays(DATE, 14));
  expect(later.code).toBe(0);
  expect(vesselsOf(later)).toEqual([VESSEL]);
});

test('a receipt that cannot be read still makes its vessel known', async () => {
  await mustExport({ service, lakeUrl: lake.url, jobs: { measurements: JOB }, overrides });
  await writeFile(join(lake.dir, receiptKey(day(OTHER_VESSEL, DATE))), 'no JSON');
  loseOther();
  expect(await run(NEXT)).toMatchObject({ code: 1 });
});

test('a malformed IMO number names its vessel, cleaned, and stops only that one', async () => {
  const bad = `93228\u001b[31m53 ${'x'.repeat(100)}`;
  const odd = fleet.map((one) =>
    `IMO${one.vessel.imo}` === OTHER_VESSEL ? { ...one, vessel: { ...one.vessel, imo: bad } } : one,
  );
  service.faults = (request) => (isDiscovery(request) ? answer(odd) : undefined);
  const ran = await run();
  expect(ran.code).toBe(1);
  expect(ran.results).toMatchObject([{ vessel: VESSEL, state: 'published' }]);
  const [trouble, ...others] = JSON.parse(ran.stdout).vessels;
  expect(others).toEqual([]);
  expect(trouble).toMatchObject({
    code: 'malformed-imo',
    vessel: expect.stringMatching(/^93228 \[31m53 x+…$/),
  });
  expect(ran.stderr).toContain(trouble.vessel);
  const range = { from: DATE, to: NEXT, json: true };
  const reconciled = await command((context) => reconcileCommand(context, [], range, overrides));
  expect(reconciled.code).toBe(1);
  expect(JSON.parse(reconciled.stdout).unasked).toMatchObject([{ vessel: trouble.vessel }]);
});

test('nothing but malformed IMO numbers is no fleet', async () => {
  const odd = fleet.map((one) => ({ ...one, vessel: { ...one.vessel, imo: '93214830' } }));
  service.faults = (request) => (isDiscovery(request) ? answer(odd) : undefined);
  const ran = await run();
  expect(ran).toMatchObject({ code: 1, error: { code: 'no-vessels' } });
  expect(ran.stderr).toContain("'93214830'");
});

const day = (vessel: string, date: string) => ({ job: 'measurements', vessel, date });

/** The service has, and lists, nothing of the other vessel. */
function loseOther(): void {
  const own = fleet.filter(({ vessel }) => `IMO${vessel.imo}` === VESSEL);
  service.faults = (request) => {
    if (isDiscovery(request)) return answer(own);
    return request.url.includes(OTHER_VESSEL) ? { kind: 'status', status: 404 } : undefined;
  };
}
