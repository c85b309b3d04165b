/** `plan` before a backfill: near what the backfill then takes, and nothing is written. */
import { expect, test } from 'vitest';
import type { RangeOptions } from '../../src/cli/commands/dates.ts';
import { planCommand } from '../../src/cli/commands/plan.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { commandRun } from '../helpers/command-run.ts';
import { lakeFiles, receiptOf } from '../helpers/lake.ts';
import type { JobFile } from '../helpers/run.ts';
import { mustExport, newLake, OTHER_VESSEL, QUICK_LIMITS, serviceForTests, VESSEL } from '../helpers/run.ts';

const FROM = '2026-01-05';
const TO = addDays(FROM, 10);
const clock = { ...systemClock, nowMs: () => Date.parse(`${TO}T12:00:00Z`) };
const JOB: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL, OTHER_VESSEL],
  select: ['flat/{vessel}/*'],
};

const service = await serviceForTests({ vessels: 2, readingsPerDay: 2_000 });
async function plan(
  lakeUrl: string,
  options: RangeOptions & { json?: boolean } = {},
  { job = JOB, env = {} }: { job?: JobFile; env?: Record<string, string> } = {},
) {
  const before = service.requests.filter(({ family }) => family !== 'token').length;
  const ran = await commandRun({ service, lakeUrl, jobs: { measurements: job }, env }, (context) =>
    planCommand(
      context,
      [],
      { from: FROM, to: TO, json: true, ...options },
      { clock, clientLimits: QUICK_LIMITS },
    ),
  );
  const asked = service.requests.filter(({ family }) => family !== 'token').length - before;
  const json = ran.stdout.startsWith('{') ? JSON.parse(ran.stdout) : undefined;
  return { ...ran, asked, json, cost: json?.jobs[0].cost };
}

for (const [dataset, more] of [
  ['measurements', {}],
  ['statistics', { dataset: 'statistics', window: '10m' }],
] as const) {
  test(`${dataset}: the estimate is near what the export takes`, async () => {
    await using lake = await newLake();
    const job = { ...JOB, ...more };
    const { code, cost, json, asked } = await plan(lake.url, {}, { job });
    expect(code).toBe(0);
    expect(json.jobs[0]).toMatchObject({
      vesselCount: 2,
      totals: { missing: 20, published: 0, stale: 0, 'not-due': 0 },
      sampled: expect.objectContaining({ length: 12 }),
    });
    expect(json.requests).toBe(asked);
    // Metadata of two vessels, six dates of each; one timed request for readings.
    expect(asked).toBe(dataset === 'measurements' ? 15 : 14);
    const { results } = await mustExport({
      service,
      lakeUrl: lake.url,
      jobs: { measurements: job },
      args: { from: FROM, to: TO },
    });
    const receipts = await Promise.all(results.map((day) => receiptOf(lake.dir, day)));
    const rows = receipts.reduce((sum, receipt) => sum + receipt!.rows, 0);
    const requests = receipts.reduce((sum, receipt) => sum + receipt!.requests, 0);
    expect(Math.abs(cost.rows / rows - 1)).toBeLessThan(0.2);
    expect(cost.requests).toBe(requests);
    expect(cost.leastRows).toBeLessThanOrEqual(cost.mostRows);

    const sizeBytes = receipts.reduce((sum, receipt) => sum + (receipt!.object?.sizeBytes ?? 0), 0);
    const later = await plan(lake.url, { to: addDays(TO, 20) }, { job });
    expect(later.json.jobs[0]).toMatchObject({
      experience: { vesselDays: 20, rows, sizeBytes },
      timed: null,
    });
    expect(later.cost).toMatchObject({ vesselDays: 0 });
    expect(later.asked).toBe(0);
  });
}

test('nothing is written', async () => {
  await using lake = await newLake();
  await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: { measurements: JOB },
    args: { from: FROM, to: addDays(FROM, 2) },
  });
  const before = await lakeFiles(lake.dir);
  const { json } = await plan(lake.url);
  expect(json.jobs[0].totals).toMatchObject({ published: 4, missing: 16 });
  expect(await lakeFiles(lake.dir)).toEqual(before);
});

test('in words: what was found, and what it rests on', async () => {
  await using lake = await newLake();
  const env = { QUERY_MAX_CONCURRENCY: '3', WORKER_CONCURRENCY: '5' };
  const { stdout } = await plan(lake.url, { json: false }, { env });
  const shape = [
    /^measurements: 2026-01-05 to 2026-01-15, 2 vessels, vessel-days: 20 to do, 0 done, 0 not due$/,
    /^ {2}readings {2}about [\d,]+$/,
    /^ {2}rows {6}about [\d,]+: [\d,]+ to [\d,]+ a vessel-day$/,
    /^ {2}requests {2}about 60$/,
    /^ {2}bytes {5}about [\d.]+ kB in the lake, assuming 7 bytes a row: nothing is published yet$/,
    /^ {2}time {6}about .* with 3 requests and 5 vessel-days at once, from one timed request \([\d,]+ readings in [\d.]+ s\)$/,
    /^ {2}sampled {3}12 vessel-days of 2 vessels between 2026-01-05 and 2026-01-14; the others are taken to be like them$/,
    /^15 requests to plan$/,
  ];
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBe(shape.length);
  for (const [index, line] of lines.entries()) expect(line).toMatch(shape[index]!);
});

test('the rate limit bounds the time', async () => {
  await using lake = await newLake();
  const env = { QUERY_MAX_REQUESTS_PER_MINUTE: '1000' };
  const { cost } = await plan(lake.url, { from: '2020-01-01', vessel: [VESSEL] }, { env });
  expect(cost.requests).toBeGreaterThan(6_000);
  expect(cost).toMatchObject({ boundBy: 'rate-limit', durationMs: (cost.requests / 1_000) * 60_000 });
});

test('a metadata job has a snapshot a vessel to take today', async () => {
  await using lake = await newLake();
  const job = { dataset: 'metadata', vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/*'] };
  const { json, cost, asked } = await plan(lake.url, { to: addDays(TO, 1) }, { job });
  expect(json.jobs[0].totals).toMatchObject({ missing: 2 });
  expect(cost).toMatchObject({ vesselDays: 2, readings: 0, requests: 2 });
  expect(cost.rows).toBeGreaterThan(200);
  expect(asked).toBe(3);
});

test('nothing to do is said', async () => {
  await using lake = await newLake();
  const { stdout, asked } = await plan(lake.url, { json: false, from: '2027-01-01', to: '2027-01-03' });
  expect(stdout).toContain('vessel-days: 0 to do, 0 done, 4 not due: nothing to do');
  expect(asked).toBe(0);
});
