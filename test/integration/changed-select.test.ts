/** A job whose `select` changes: what is published stays until somebody says, once, that less is meant. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { acceptCommand } from '../../src/cli/commands/accept.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { commandRun } from '../cli/commands/command-run.ts';
import { expectExactDay, noteOf, receiptOf, serviceNames } from '../helpers/lake.ts';
import type { JobFile, RunExportOptions, TestLake } from '../helpers/run.ts';
import { DATE, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const [SHAFT, SPEED] = ['flat/{vessel}/Shaft *', 'flat/{vessel}/Speed *'];
const expressionsOf = (select: readonly string[]) => select.map((one) => one.replace('{vessel}', VESSEL));
const jobOf = (...select: string[]): JobFile => ({ dataset: 'measurements', vessels: [VESSEL], select });
const [NARROW, WIDE] = [jobOf(SHAFT), jobOf(SHAFT, SPEED)];
const WAITED_MS = 3 * 3_600_000;

const service = await serviceForTests({ readingsPerDay: 2_000 });
let shafts: string[];
let lake: TestLake;
beforeAll(async () => {
  shafts = [...(await serviceNames(service, expressionsOf([SHAFT]))).keys()].sort();
});
beforeEach(async () => {
  lake = await newLake();
  return () => lake[Symbol.asyncDispose]();
});
afterEach(() => service.hiddenSeries.clear());

function run(job: JobFile, more: Partial<RunExportOptions> = {}, afterMs = 0) {
  const clock = { ...systemClock, nowMs: () => Date.now() + afterMs };
  const jobs = { [job.dataset as string]: job };
  return runExport({ service, lakeUrl: lake.url, jobs, overrides: { clock }, ...more });
}

async function accept(job: JobFile) {
  const name = job.dataset as string;
  const ran = await commandRun({ service, lakeUrl: lake.url, jobs: { [name]: job } }, (context) =>
    acceptCommand(context, name, [], { json: true }),
  );
  return { code: ran.code, ...JSON.parse(ran.stdout).jobs[0] };
}

test.for(['plain', 'delta'])(
  'a narrowed select is refused, and says which series, how many readings and both ways out: %s',
  async (layout) => {
    const env = { LAKE_LAYOUT: layout };
    await run(WIDE, { env });
    const before = await receiptOf(lake.dir, DAY);
    const refused = await run(NARROW, { env });
    expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
    const { message = '' } = refused.results[0]!;
    expect(message).toMatch(/2 series would lose \d+ readings: .*Speed Over Ground: \d+ published, 0 now/);
    expect(message).toContain("'vessel-export accept measurements' says so once for the job");
    expect(message).toContain('--allow-shrink');
    expect(await receiptOf(lake.dir, DAY)).toEqual(before);
    expect(await noteOf(lake.dir, DAY)).toMatchObject({ state: 'refused', code: 'would-shrink' });
    const status = await commandRun({ lakeUrl: lake.url, jobs: { measurements: NARROW } }, (context) =>
      statusCommand(context, [], { from: DATE, to: addDays(DATE, 1), json: true }),
    );
    expect(JSON.parse(status.stdout).days).toMatchObject([{ state: 'refused', message }]);

    expect(await accept(NARROW)).toMatchObject({ code: 0, state: 'accepted', vesselDays: 1 });
    expect(await accept(NARROW)).toMatchObject({ code: 0, state: 'accepted-before' });
    // It is of this select alone.
    const other = await run(jobOf(SPEED), { env });
    expect(other.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
    expect((await run(NARROW, { env })).results).toMatchObject([{ state: 'published' }]);
    await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: expressionsOf([SHAFT]) });
    expect(await accept(NARROW)).toMatchObject({ code: 1, state: 'nothing-to-accept' });
  },
);

test('--allow-shrink is a way out as well', async () => {
  await run(WIDE);
  expect((await run(NARROW, { args: { allowShrink: true } })).results).toMatchObject([
    { state: 'published' },
  ]);
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: expressionsOf([SHAFT]) });
});

test('a widened select while the source has lost a series waits, and is refused, accepted or not', async () => {
  await run(NARROW);
  service.hiddenSeries.add(shafts[0]!);
  const waits = await run(WIDE);
  expect(waits.results).toMatchObject([{ state: 'waiting', code: 'fewer-series' }]);
  expect(waits.results[0]!.message).toContain(`1 of the series of ${DATE} are missing since ${DATE}`);
  expect(await accept(WIDE)).toMatchObject({ code: 0, state: 'accepted' });
  const refused = await run(WIDE, {}, WAITED_MS);
  expect(refused.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
  expect(refused.results[0]!.message).toContain('these it still means, or nobody can tell');
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ selectedSeries: shafts.length });
});

test('a narrowed and accepted select stays refused where a series that it still means is lost', async () => {
  await run(WIDE);
  await accept(NARROW);
  service.hiddenSeries.add(shafts[0]!);
  await run(NARROW);
  const refused = await run(NARROW, {}, WAITED_MS);
  expect(refused.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
  expect(refused.results[0]!.message).toContain('1 series would lose');
});

test('series that the source has lost may go where an accepted select does not mean them', async () => {
  await run(WIDE);
  for (const [id] of await serviceNames(service, expressionsOf([SPEED]))) service.hiddenSeries.add(id);
  await accept(NARROW);
  expect((await run(NARROW)).results).toMatchObject([{ state: 'published' }]);
});

test('a new day of another select is compared with the last by what both mean, until someone accepts it', async () => {
  await run(NARROW);
  service.hiddenSeries.add(shafts[0]!);
  const next = { ...DAY, date: addDays(DATE, 1) };
  const args = { from: next.date };
  expect((await run(WIDE, { args })).results).toMatchObject([{ state: 'waiting' }]);
  expect((await run(WIDE, { args }, WAITED_MS)).results).toMatchObject([{ state: 'published' }]);
  const { remark, selectedSeries = 0 } = (await receiptOf(lake.dir, next))!;
  expect(remark).toMatchObject({ missing: 1, comparedWith: { date: DATE, series: selectedSeries + 1 } });
  // The next days carry it on.
  const third = { ...DAY, date: addDays(DATE, 2) };
  await run(WIDE, { args: { from: third.date } });
  expect((await receiptOf(lake.dir, third))?.remark).toEqual(remark);
  const accepted = await commandRun({ service, lakeUrl: lake.url, jobs: { measurements: WIDE } }, (context) =>
    acceptCommand(
      context,
      'measurements',
      [VESSEL],
      {},
      { clock: { ...systemClock, nowMs: () => Date.now() + WAITED_MS } },
    ),
  );
  expect(accepted.stdout).toContain(
    `accepted: ${selectedSeries} series, without those of ${DATE} that are missing`,
  );
  const fourth = { ...DAY, date: addDays(DATE, 3) };
  await run(WIDE, { args: { from: fourth.date } });
  expect(await receiptOf(lake.dir, fourth)).not.toHaveProperty('remark');
});

test('another domain: what has no name there is refused, and goes once it is accepted', async () => {
  await run(jobOf('flat/{vessel}/*'));
  const jsmea = jobOf('jsmea/{vessel}/*/*/*/*/*/*/*');
  const refused = await run(jsmea);
  expect(refused.results).toMatchObject([{ state: 'refused' }]);
  await accept(jsmea);
  expect((await run(jsmea)).results).toMatchObject([{ state: 'published' }]);
});

test('a snapshot keeps its series, whatever comes in their place', async () => {
  const metadata = (job: JobFile) => ({ ...job, dataset: 'metadata' });
  const afterMs = Date.parse(`${DATE}T12:00:00Z`) - Date.now();
  await run(metadata(NARROW), {}, afterMs);
  service.hiddenSeries.add(shafts[0]!);
  const lost = await run(metadata(WIDE), {}, afterMs);
  expect(lost.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
  expect(lost.results[0]!.message).toContain('1 series would be lost: ');
  service.hiddenSeries.clear();
  const swapped = metadata(jobOf(SPEED));
  expect((await run(swapped, {}, afterMs)).results).toMatchObject([{ state: 'refused' }]);
  await accept(swapped);
  expect((await run(swapped, {}, afterMs)).results).toMatchObject([{ state: 'published' }]);
});

test('readings do not give way to another dataset of the same name', async () => {
  await run(NARROW);
  const statistics = { ...NARROW, dataset: 'statistics', window: '1h' };
  const refused = await run(statistics, { jobs: { measurements: statistics } });
  expect(refused.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
  expect(refused.results[0]!.message).toContain('refused to replace published measurements by statistics');
});
