/** Series that the vessel's expressions list, and that metadata say to be another vessel's. */
import { beforeAll, expect, test } from 'vitest';
import { acceptCommand } from '../../src/cli/commands/accept.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { commandRun } from '../cli/commands/command-run.ts';
import { askService, receiptOf, serviceNames } from '../helpers/lake.ts';
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
const dayAfter = (days: number) => ({ ...DAY, date: addDays(DATE, days) });

const service = await serviceForTests({ readingsPerDay: 1_000 });
let names: [id: string, name: string][];
/** What metadata say of the vessel's series, as the service answers. */
let metadata: { timeSeriesId: string; vessel: { imo: string } }[];

beforeAll(async () => {
  names = [...(await serviceNames(service, [`flat/${VESSEL}/S*`]))].sort();
  metadata = JSON.parse(await askService(service, `/metadata/flat/${VESSEL}/S*`, { version: '2026-09-10' }));
});

/** Metadata say from now on that so many of the series are another vessel's. */
function giveAway(count: number): void {
  const given = new Set(names.slice(0, count).map(([id]) => id));
  const elements = metadata.map((one) =>
    given.has(one.timeSeriesId) ? { ...one, vessel: { ...one.vessel, imo: OTHER_VESSEL.slice(3) } } : one,
  );
  const body = JSON.stringify(elements);
  service.faults = ({ family }) =>
    family === 'metadata' ? { kind: 'garbage', body, contentType: 'application/json' } : undefined;
}

function exportDay(lake: TestLake, { date }: typeof DAY, job: JobFile = FEW_SERIES, clock = systemClock) {
  const jobs = { [job.dataset as string]: job };
  return runExport({ service, lakeUrl: lake.url, jobs, args: { from: date }, overrides: { clock } });
}

/** What status and verify say of warnings. */
async function said(lake: TestLake) {
  const place = { lakeUrl: lake.url, jobs: { measurements: FEW_SERIES } };
  const dates = { from: DATE, to: addDays(DATE, 9), json: true };
  const warnings = [];
  for (const perform of [statusCommand, verifyCommand]) {
    const { stdout } = await commandRun(place, (context) => perform(context, [], dates));
    warnings.push(JSON.parse(stdout).warnings);
  }
  return warnings;
}

async function accept(lake: TestLake) {
  const place = { service, lakeUrl: lake.url, jobs: { measurements: FEW_SERIES } };
  const { code, stdout } = await commandRun(place, (context) =>
    acceptCommand(context, 'measurements', [VESSEL], { json: true }),
  );
  return { code, ...JSON.parse(stdout).vessels[0] };
}

test('series of the vessel that metadata give another IMO number are left out with a warning, until it is accepted', async () => {
  await using lake = await newLake();
  giveAway(2);
  const ran = await exportDay(lake, DAY);
  expect(ran.code).toBe(0);
  const left = [names[0]![1], names[1]![1]].map((name) => `${name} (${OTHER_VESSEL})`).sort();
  const message = `2 series are left out since ${DATE}, as metadata say that they are another vessel's: ${left.join('; ')}`;
  expect(ran.results).toMatchObject([{ state: 'published', warning: message }]);
  const receipt = await receiptOf(lake.dir, DAY);
  expect(receipt).toMatchObject({ proof: 'exact', selectedSeries: names.length - 2 });
  expect(receipt?.warnings).toMatchObject([{ kind: 'other-vessel', series: 2, since: DATE }]);

  await exportDay(lake, dayAfter(1));
  expect((await receiptOf(lake.dir, dayAfter(1)))?.warnings).toEqual(receipt?.warnings);
  for (const warnings of await said(lake))
    expect(warnings).toMatchObject([
      { ...dayAfter(1), code: 'other-vessel', message: expect.stringContaining(message) },
    ]);

  expect(await accept(lake)).toMatchObject({ code: 0, state: 'accepted', message: `accepted: ${message}` });
  expect(await accept(lake)).toMatchObject({ code: 0, state: 'accepted-before' });
  expect(await said(lake)).toEqual([[], []]);
  await exportDay(lake, dayAfter(2));
  expect(await receiptOf(lake.dir, dayAfter(2))).not.toHaveProperty('warnings');
});

test('what is accepted is these series: with others the warning comes back', async () => {
  await using lake = await newLake();
  giveAway(1);
  await exportDay(lake, DAY);
  await accept(lake);
  giveAway(2);
  await exportDay(lake, dayAfter(1));
  // Fewer series than before wait as well; both are said.
  const later = { ...systemClock, nowMs: () => Date.now() + 3 * 3_600_000 };
  await exportDay(lake, dayAfter(1), FEW_SERIES, later);
  expect(await receiptOf(lake.dir, dayAfter(1))).toMatchObject({
    remark: { kind: 'fewer-series', missing: 1 },
    warnings: [{ kind: 'other-vessel', series: 2, since: dayAfter(1).date }],
  });
  const [status] = await said(lake);
  expect(status.map(({ code }: { code: string }) => code)).toEqual(['fewer-series', 'other-vessel']);
  expect(await accept(lake)).toMatchObject({ state: 'accepted', series: names.length - 2 });
  expect(await said(lake)).toEqual([[], []]);
});

test('a snapshot of metadata says so too', async () => {
  await using lake = await newLake();
  giveAway(2);
  const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  const { results } = await exportDay(lake, DAY, { ...FEW_SERIES, dataset: 'metadata' }, clock);
  expect(results).toMatchObject([{ state: 'published', rows: names.length - 2 }]);
  const receipt = await receiptOf(lake.dir, { ...DAY, job: 'metadata' });
  expect(receipt?.warnings).toMatchObject([{ kind: 'other-vessel', series: 2 }]);
});

test('ids of several vessels are left out without a word, as documented', async () => {
  await using lake = await newLake();
  giveAway(2);
  const select = [`id/${names.map(([id]) => id).join(',')}`];
  expect((await exportDay(lake, DAY, { ...FEW_SERIES, select })).results).toMatchObject([
    { state: 'published' },
  ]);
  const receipt = await receiptOf(lake.dir, DAY);
  expect(receipt).toMatchObject({ selectedSeries: names.length - 2 });
  expect(receipt).not.toHaveProperty('warnings');
});

test('where all series are of another vessel the day fails, and says so', async () => {
  await using lake = await newLake();
  giveAway(names.length);
  const { code, results } = await exportDay(lake, DAY);
  expect(code).toBe(1);
  expect(results).toMatchObject([{ state: 'failed', code: 'no-series' }]);
  expect(results[0]!.message).toContain(`is of ${OTHER_VESSEL}`);
});
