/** What commands say of a vessel whose series get fewer, or are another's, until it is accepted. Which days wait: test/export/series-checks.test.ts. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { acceptCommand } from '../../src/cli/commands/accept.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { addDays } from '../../src/core/model/index.ts';
import { commandRun } from '../helpers/command-run.ts';
import { askService, expectExactDay, noteOf, receiptOf, serviceNames } from '../helpers/lake.ts';
import type { JobFile, TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_SERIES,
  newLake,
  OTHER_VESSEL,
  runExport,
  serviceForTests,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const NEXT = { ...DAY, date: addDays(DATE, 1) };
const THIRD = { ...DAY, date: addDays(DATE, 2) };
const DATES = { from: DATE, to: addDays(DATE, 9) };
const SHAFTS: JobFile = { ...FEW_SERIES, select: ['flat/{vessel}/Shaft *'] };

const service = await serviceForTests({ readingsPerDay: 1_000 });
let ids: string[];
let lake: TestLake;
beforeAll(async () => {
  ids = [...(await serviceNames(service, [`flat/${VESSEL}/S*`])).keys()].sort();
});
beforeEach(async () => {
  lake = await newLake();
  return () => lake[Symbol.asyncDispose]();
});
afterEach(() => service.hiddenSeries.clear());

function run({ date }: typeof DAY, args = {}, job = FEW_SERIES) {
  const jobs = { measurements: job };
  return runExport({ service, lakeUrl: lake.url, jobs, args: { from: date, ...args } });
}

async function accept(vessels = [VESSEL], job = FEW_SERIES) {
  const place = { service, lakeUrl: lake.url, jobs: { measurements: job } };
  const { code, stdout } = await commandRun(place, (context) =>
    acceptCommand(context, 'measurements', vessels, { json: true }),
  );
  const accepted = stdout === '' ? {} : JSON.parse(stdout);
  return { code, ...accepted[vessels.length > 0 ? 'vessels' : 'jobs']?.[0] };
}

/** What status and verify say of warnings, in JSON and in text. */
async function said() {
  const place = { lakeUrl: lake.url, jobs: { measurements: FEW_SERIES } };
  const warnings: { code: string; message: string }[][] = [];
  let texts = '';
  for (const perform of [statusCommand, verifyCommand]) {
    const ran = await commandRun(place, (context) => perform(context, [], { ...DATES, json: true }));
    expect(ran.code, ran.stderr).toBe(0);
    warnings.push(JSON.parse(ran.stdout).warnings);
    texts += (await commandRun(place, (context) => perform(context, [], DATES))).stdout;
  }
  return { texts, warnings };
}

async function statusOf({ date }: typeof DAY, job = FEW_SERIES) {
  const place = { lakeUrl: lake.url, jobs: { measurements: job } };
  const dates = { from: date, to: addDays(date, 1), json: true };
  return JSON.parse((await commandRun(place, (context) => statusCommand(context, [], dates))).stdout).days;
}

test('run, status and verify show that it waits, and a warning until someone accepts it', async () => {
  await run(DAY);
  expect(await accept()).toMatchObject({ code: 1, state: 'nothing-to-accept' });
  expect(await accept(['../../etc'])).toMatchObject({ code: 2 });
  expect((await said()).warnings).toEqual([[], []]);
  for (const id of ids.slice(2)) service.hiddenSeries.add(id);
  const ran = await run(NEXT);
  expect(ran).toMatchObject({
    code: 1,
    results: [{ state: 'waiting', code: 'fewer-series', exported: false }],
  });
  expect(await statusOf(NEXT)).toMatchObject([{ state: 'waiting', code: 'fewer-series' }]);
  const warned = await run(NEXT, { allowShrink: true });
  expect(warned).toMatchObject({ code: 0, results: [{ warning: expect.stringContaining('are missing') }] });
  expect(warned.stderr).toContain('published with a warning');
  await run(THIRD);
  const { texts, warnings } = await said();
  const message = `of the ${ids.length} series of ${DATE} are missing since ${NEXT.date}`;
  for (const one of warnings)
    expect(one).toMatchObject([
      { ...THIRD, code: 'fewer-series', message: expect.stringContaining(message) },
    ]);
  expect(texts.split(`vessel-export accept measurements ${VESSEL}`)).toHaveLength(3);
  const saidSo = `accepted: 2 series, where ${DATE} had ${ids.length}`;
  expect(await accept()).toMatchObject({
    code: 0,
    vessel: VESSEL,
    state: 'accepted',
    series: 2,
    message: saidSo,
  });
  expect((await said()).warnings).toEqual([[], []]);
  expect(await accept()).toMatchObject({ code: 0, state: 'accepted-before' });
});

test.for(['plain', 'delta'])(
  'a narrowed select is refused, and exact once it is accepted: %s',
  async (layout) => {
    const env = { LAKE_LAYOUT: layout };
    const again = (job: JobFile) =>
      runExport({ service, lakeUrl: lake.url, jobs: { measurements: job }, env });
    await again(FEW_SERIES);
    const before = await receiptOf(lake.dir, DAY);
    const refused = await again(SHAFTS);
    expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
    const { message = '' } = refused.results[0]!;
    expect(message).toMatch(/series would lose \d+ readings: .*: \d+ published, 0 now/);
    expect(await receiptOf(lake.dir, DAY)).toEqual(before);
    expect(await noteOf(lake.dir, DAY)).toMatchObject({ state: 'refused', code: 'would-shrink' });
    expect(await statusOf(DAY, SHAFTS)).toMatchObject([{ state: 'refused', message }]);
    expect(await accept([], SHAFTS)).toMatchObject({ code: 0, state: 'accepted', vesselDays: 1 });
    expect((await again(SHAFTS)).results).toMatchObject([{ state: 'published' }]);
    await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: [`flat/${VESSEL}/Shaft *`] });
    expect(await accept([], SHAFTS)).toMatchObject({ code: 1, state: 'nothing-to-accept' });
  },
);

test('series that metadata give another IMO number are named, until that is accepted', async () => {
  const text = await askService(service, `/metadata/flat/${VESSEL}/S*`, { version: '2026-09-10' });
  const elements = JSON.parse(text).map((one: { vessel: object }, at: number) =>
    at < 2 ? { ...one, vessel: { ...one.vessel, imo: OTHER_VESSEL.slice(3) } } : one,
  );
  const body = JSON.stringify(elements);
  service.faults = ({ family }) =>
    family === 'metadata' ? { kind: 'garbage', body, contentType: 'application/json' } : undefined;
  const left = [0, 1].map((at) => `${elements[at].id} (${OTHER_VESSEL})`).sort();
  const message = `2 series are left out since ${DATE}, as metadata say that they are another vessel's: ${left.join('; ')}`;
  expect(await run(DAY)).toMatchObject({ code: 0, results: [{ state: 'published', warning: message }] });
  const warning = { ...DAY, code: 'other-vessel', message: expect.stringContaining(message) };
  expect((await said()).warnings).toMatchObject([[warning], [warning]]);
  expect(await accept()).toMatchObject({ code: 0, state: 'accepted', message: `accepted: ${message}` });
  expect((await said()).warnings).toEqual([[], []]);
});
