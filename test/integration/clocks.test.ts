/** The clock of this machine, and the service's as its answers show it: a day is due when it is over by both. */
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/core/model/index.ts';
import { lakeFiles, noteOf, receiptOf } from '../helpers/lake.ts';
import type { RunExportOptions } from '../helpers/run.ts';
import { DATE, FEW_SERIES, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const NOON = Date.parse(`${DATE}T12:00:00Z`);
const DAY_MS = 86_400_000;

let serviceMs = NOON;
const service = await serviceForTests({ clock: { ...systemClock, nowMs: () => serviceMs } });

afterEach(() => {
  serviceMs = NOON;
});

/** An export of the day with this machine's clock, and the service's date in every answer. */
async function exportWith(
  lakeUrl: string,
  hereMs: number,
  date: string = new Date(serviceMs).toUTCString(),
  options: Partial<RunExportOptions> = {},
) {
  service.faults = () => ({ kind: 'date', value: date });
  const overrides = { clock: { ...systemClock, nowMs: () => hereMs } };
  return runExport({ service, lakeUrl, overrides, ...options });
}

/** The header is left out. */
const NO_DATE = '';

test("a clock a day ahead publishes nothing of a day that is not over by the service's", async () => {
  await using lake = await newLake();
  const ran = await exportWith(lake.url, NOON + DAY_MS);
  expect(ran.results).toMatchObject([{ state: 'not-due', exported: false, code: 'day-not-over' }]);
  expect(ran.results[0]!.message).toContain("1440 minutes behind this machine's");
  expect(ran.stderr).toContain('the clocks of this machine and of the query service are minutes apart');
  expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
  expect(await noteOf(lake.dir, DAY)).toBeUndefined();
  const left = [...(await lakeFiles(lake.dir)).keys()].filter((key) => key.includes(DATE));
  expect(left).toEqual([]);
  // Once the day is over, nothing of the attempt is in the way.
  serviceMs = NOON + DAY_MS;
  expect((await exportWith(lake.url, NOON + DAY_MS)).results).toMatchObject([{ state: 'published' }]);
});

test('a witness that is there when the days are planned spares the attempt', async () => {
  await using lake = await newLake();
  const before = service.requests.length;
  const job = { ...FEW_SERIES, vessels: { discover: `flat/${VESSEL}/*` } };
  const { results } = await exportWith(lake.url, NOON + DAY_MS, undefined, { jobs: { measurements: job } });
  expect(results).toMatchObject([{ state: 'not-due', code: 'day-not-over' }]);
  expect(service.requests.slice(before).map(({ family }) => family)).toEqual(['token', 'metadata']);
});

test('of a day that ends within minutes the later clock does not decide either, and nothing is warned of', async () => {
  await using lake = await newLake();
  const midnight = NOON + DAY_MS / 2;
  serviceMs = midnight - 1_000;
  const ran = await exportWith(lake.url, midnight + 1_000);
  expect(ran.results).toMatchObject([{ state: 'not-due', code: 'day-not-over' }]);
  expect(ran.stderr).not.toContain('are minutes apart');
});

test("a service's clock that is ahead makes no day due, and one that is not ours either", async () => {
  await using lake = await newLake();
  serviceMs = NOON + 2 * DAY_MS;
  const early = await exportWith(lake.url, NOON);
  expect(early.results).toMatchObject([{ state: 'not-due' }]);
  expect(early.results[0]!.code).toBeUndefined();
  const ran = await exportWith(lake.url, NOON + DAY_MS);
  expect(ran.results).toMatchObject([{ state: 'published' }]);
  expect(ran.stderr.match(/are minutes apart/g)).toHaveLength(1);
});

test.each([
  ['is missing', NO_DATE],
  ['is of 1970', 'Thu, 01 Jan 1970 00:00:10 GMT'],
])('a date that %s is no witness', async (_, date) => {
  await using lake = await newLake();
  serviceMs = NOON + DAY_MS;
  const ran = await exportWith(lake.url, NOON + DAY_MS, date);
  expect(ran.results).toMatchObject([{ state: 'published' }]);
  expect(ran.stderr).not.toContain('are minutes apart');
});

test('a snapshot of a day that has not begun at the service is not taken', async () => {
  await using lake = await newLake();
  const jobs = { metadata: { ...FEW_SERIES, dataset: 'metadata' } };
  serviceMs = NOON - DAY_MS;
  const early = await exportWith(lake.url, NOON, undefined, { jobs });
  expect(early.results).toMatchObject([{ state: 'not-due', code: 'day-not-over' }]);
  serviceMs = NOON - 60_000;
  expect((await exportWith(lake.url, NOON, undefined, { jobs })).results).toMatchObject([
    { state: 'published' },
  ]);
});
