/** For unchanged source data the object is byte for byte the same, however it came to be. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { expectExactDay, readObject, receiptOf } from '../helpers/lake.ts';
import type { RunExportOptions } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  serviceForTests,
  startTestService,
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

test('the reference objects hold exactly the data', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url, overrides: { sizes: SMALL } });
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
  expect((await receiptOf(lake.dir, DAY))!.object!.parts.length).toBeGreaterThan(2);
  expect(small).not.toBe(whole);
});

for (const sliceTargetRows of [61, 1_200]) {
  test(`time slices of ${sliceTargetRows} rows`, async () => {
    expect(await digest({ overrides: { sizes: SMALL, sliceTargetRows } })).toBe(small);
  });
}

test('the real sizes of the format, in small time slices', async () => {
  expect(await digest({ overrides: { sliceTargetRows: 300 } })).toBe(whole);
});

test('without statistics time slices go by time alone', async () => {
  expect(await digest({ job: { verify: 'off' }, overrides: { sizes: SMALL } })).toBe(small);
});

test('an encoder thread', async () => {
  expect(await digest({ overrides: { sizes: SMALL, encoderThreads: 1 } })).toBe(small);
});

test('the transport json', async () => {
  expect(await digest({ job: { transport: 'json' }, overrides: { sizes: SMALL } })).toBe(small);
});

for (const version of ['2025-10-31', '2026-01-01-beta']) {
  test(`API version ${version}`, async () => {
    const env = { QUERY_API_VERSION: version };
    expect(await digest({ env, overrides: { sizes: SMALL } })).toBe(small);
  });
}

test('a service whose ranges include their end, and that compresses', async () => {
  const other = await startTestService({ ...DATA, toInclusive: true });
  try {
    const overrides = { sizes: SMALL, sliceTargetRows: 400 };
    expect(await digest({ service: other, overrides })).toBe(small);
  } finally {
    await other.close();
  }
});

test('transport parquet in time slices of any length', async () => {
  const job = { transport: 'parquet' };
  const reference = await digest({ job, overrides: { sizes: SMALL } });
  expect(await digest({ job, overrides: { sizes: SMALL, sliceTargetRows: 300 } })).toBe(reference);
});

test('bodies cut anywhere', async () => {
  // Each body is cut at its own place, until a page has had its share; then it comes whole.
  const cuts = fc.record({
    places: fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1, maxLength: 60 }),
    sliceTargetRows: fc.constantFrom(200, 1_000, 1_000_000),
    transport: fc.constantFrom('ndjson', 'json', 'parquet'),
  });
  const parquet = await digest({ job: { transport: 'parquet' }, overrides: { sizes: SMALL } });
  await fc.assert(
    fc.asyncProperty(cuts, async ({ places, sliceTargetRows, transport }) => {
      const left = [...places];
      service.faults = ({ family, n }) => {
        // Not more than two in a row, so that patience lasts.
        const afterBytes = family === 'metadata' || n % 3 === 0 ? undefined : left.pop();
        return afterBytes === undefined ? undefined : { kind: 'cut', afterBytes };
      };
      try {
        const overrides = { sizes: SMALL, sliceTargetRows };
        const expected = transport === 'parquet' ? parquet : small;
        expect(await digest({ job: { transport }, overrides })).toBe(expected);
      } finally {
        service.faults = undefined;
      }
    }),
    { numRuns: 8 },
  );
});
