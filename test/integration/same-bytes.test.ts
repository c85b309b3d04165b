/** For unchanged source data the object is byte for byte the same, however it came to be. */
import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { readObject, receiptOf } from '../helpers/lake.ts';
import type { RunExportOptions } from '../helpers/run.ts';
import {
  DATE,
  FEW_SERIES,
  mustExport,
  newLake,
  serviceForTests,
  serviceOfTest,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const DATA = { seed: 7, readingsPerDay: 14_000 };
const SMALL = { rowGroupRows: 250, partBytes: 3_000 };

const service = await serviceForTests(DATA);
let small: string;
let whole: string;

type Variation = Partial<Omit<RunExportOptions, 'lakeUrl'>> & { readonly job?: Record<string, unknown> };

/** Digest of the object that an export in a fresh lake makes. */
async function digest({ job = {}, ...options }: Variation): Promise<string> {
  await using lake = await newLake();
  const jobs = { measurements: { ...FEW_SERIES, ...job } };
  await mustExport({ service, lakeUrl: lake.url, jobs, ...options });
  return createHash('sha256')
    .update((await readObject(lake.dir, DAY))!)
    .digest('hex');
}

beforeAll(async () => {
  small = await digest({ overrides: { sizes: SMALL } });
  whole = await digest({});
});

test('the parts of the reference objects are several', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url, overrides: { sizes: SMALL } });
  expect((await receiptOf(lake.dir, DAY))!.object!.parts.length).toBeGreaterThan(2);
  expect(small).not.toBe(whole);
});

test.for<[what: string, variation: Variation]>([
  ['short time slices', { overrides: { sliceTargetRows: 61 } }],
  ['longer ones', { overrides: { sliceTargetRows: 1_200 } }],
  ['without statistics, time slices that go by time alone', { job: { verify: 'off' } }],
  ['an encoder thread', { overrides: { encoderThreads: 1 } }],
  ['the transport json', { job: { transport: 'json' } }],
  ['API version 2025-10-31', { env: { QUERY_API_VERSION: '2025-10-31' } }],
  ['API version 2026-01-01-beta', { env: { QUERY_API_VERSION: '2026-01-01-beta' } }],
])('%s', async ([, variation]) => {
  expect(await digest({ ...variation, overrides: { sizes: SMALL, ...variation.overrides } })).toBe(small);
});

test('the real sizes of the format, in small time slices', async () => {
  expect(await digest({ overrides: { sliceTargetRows: 300 } })).toBe(whole);
});

test('a service whose ranges include their end, and that compresses', async () => {
  const other = await serviceOfTest({ ...DATA, toInclusive: true });
  const overrides = { sizes: SMALL, sliceTargetRows: 400 };
  expect(await digest({ service: other, overrides })).toBe(small);
});

test('transport parquet in time slices of any length', async () => {
  const job = { transport: 'parquet' };
  const reference = await digest({ job, overrides: { sizes: SMALL } });
  expect(await digest({ job, overrides: { sizes: SMALL, sliceTargetRows: 300 } })).toBe(reference);
});
