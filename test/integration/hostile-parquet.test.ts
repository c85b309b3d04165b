/** A service whose Parquet claims more than it holds: the day fails with what was found, and what is published stays. */
import { expect, test } from 'vitest';
import { noteOf, readObject, receiptOf, unfinishedFiles } from '../helpers/lake.ts';
import { DATE, FEW_SERIES, mustExport, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';
import { HOSTILE_BODIES } from '../parquet/read/hostile-parquet-bodies.ts';
import { withChecksums } from '../parquet/read/page-checksums.ts';
import { arrowBody } from '../source/decode/arrow-body.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const JOBS = { measurements: { ...FEW_SERIES, transport: 'parquet' } };
/** What a time slice of a day is halved to at most, down to a second, with each attempt at one of them. */
const MAX_REQUESTS = 40;

const service = await serviceForTests({ readingsPerDay: 2_000 });

test.each([
  // Of a day that counts readings, twice as many are allowed, and 250,000 more.
  ['a thousand million rows in some hundred bytes', /found 1000000000 rows, allowed are 25\d{4};/],
  ['a ZSTD page of 40 MB that says so', /bytes in pages that are open at once, allowed are 33554432;/],
  ['structures a hundred thousand deep', /found structures 25 deep, expected at most 24;/],
])('%s', async (name, message) => {
  const { body, code } = HOSTILE_BODIES.find((each) => each.name === name)!;
  const garbage = { kind: 'garbage', body: body(), contentType: 'application/vnd.apache.parquet' } as const;
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url, jobs: JOBS });
  const published = await readObject(lake.dir, DAY);
  const receipt = await receiptOf(lake.dir, DAY);

  service.faults = ({ family }) => (family === 'measurements' ? garbage : undefined);
  const before = service.requests.length;
  const args = { from: DATE, to: '2026-01-06', force: true };
  const ran = await runExport({ service, lakeUrl: lake.url, jobs: JOBS, args });
  expect(ran).toMatchObject({ code: 1, results: [{ code, message: expect.stringMatching(message) }] });
  expect(ran.results[0]!.message).toContain('measurements');
  expect(service.requests.length - before).toBeLessThan(MAX_REQUESTS);
  expect(await noteOf(lake.dir, DAY)).toMatchObject({ state: 'failed', code });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  expect(await receiptOf(lake.dir, DAY)).toEqual(receipt);
  expect(await readObject(lake.dir, DAY)).toEqual(published);
});

const DAMAGED = {
  kind: 'garbage',
  body: withChecksums(arrowBody([{ millis: 1_767_571_200_000n, id: 'a', value: 1.5 }]), () => 7),
  contentType: 'application/vnd.apache.parquet',
} as const;

test('an answer whose pages do not fit their checksums is asked for again, and the day is whole', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url, jobs: JOBS });
  await using other = await newLake();
  let damaged = 2;
  service.faults = ({ family }) => (family === 'measurements' && damaged-- > 0 ? DAMAGED : undefined);
  await mustExport({ service, lakeUrl: other.url, jobs: JOBS });
  expect(damaged).toBeLessThan(0);
  expect(await readObject(other.dir, DAY)).toEqual(await readObject(lake.dir, DAY));
});

test('answers whose pages never fit their checksums end the day with what was found, and what is published stays', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url, jobs: JOBS });
  const published = await readObject(lake.dir, DAY);
  service.faults = ({ family }) => (family === 'measurements' ? DAMAGED : undefined);
  const before = service.requests.length;
  const args = { from: DATE, to: '2026-01-06', force: true };
  const ran = await runExport({ service, lakeUrl: lake.url, jobs: JOBS, args });
  const message = /CRC-32 [0-9a-f]{8} of its \d+ bytes, expected 00000007, as its header says;.*in a row/;
  expect(ran).toMatchObject({
    code: 1,
    results: [{ code: 'body-damaged', message: expect.stringMatching(message) }],
  });
  expect(service.requests.length - before).toBeLessThan(MAX_REQUESTS);
  expect(await noteOf(lake.dir, DAY)).toMatchObject({ state: 'failed', code: 'body-damaged' });
  expect(await readObject(lake.dir, DAY)).toEqual(published);
});
