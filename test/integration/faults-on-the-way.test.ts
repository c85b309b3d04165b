/** What goes wrong between us and the service costs time, never readings. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RetriableError } from '../../src/core/errors.ts';
import {
  dayRange,
  MICROS_PER_HOUR,
  MICROS_PER_SECOND,
  microsToDate,
  systemClock,
} from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import type { Fault, FaultPort, FaultyRequest } from '../helpers/faulty-service/faults.ts';
import {
  expectExactDay,
  lakeFiles,
  noteOf,
  readObject,
  receiptOf,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { RunExportOptions, TestLake, TestService } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  QUICK_LIMITS,
  runExport,
  serviceForTests,
  serviceOfTest,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const SIZES = { rowGroupRows: 600, partBytes: 15_000 };
const SMALL = { sizes: SIZES, sliceTargetRows: 500 };
const STATISTICS = { dataset: 'statistics', window: '10m', aggregations: ['mean', 'min', 'max', 'count'] };

const service = await serviceForTests({ readingsPerDay: 28_000 });

type Options = Partial<Omit<RunExportOptions, 'service'>> & { readonly service?: TestService };

/** Export into a lake under faults. */
async function runUnder(lake: TestLake, faults: FaultPort, { service: from = service, ...options }: Options) {
  from.faults = faults;
  const overrides = { ...SMALL, ...options.overrides };
  const ran = await runExport({ service: from, lakeUrl: lake.url, ...options, overrides });
  from.faults = undefined;
  return ran;
}

const expectExact = (lake: TestLake, transport = 'ndjson', from = service) => {
  const day = { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS };
  return expectExactDay(from, { ...day, millis: transport === 'parquet' });
};
/** A fault for all requests of a family. */
const all =
  (which: string, fault: Fault): FaultPort =>
  ({ family }) =>
    family === which ? fault : undefined;

/** Export under faults: the day must be exact all the same. */
async function expectExactUnder(faults: FaultPort, options: Options = {}) {
  await using lake = await newLake();
  const ran = await runUnder(lake, faults, options);
  expect(ran.code, ran.stderr).toBe(0);
  await expectExact(lake, options.jobs?.measurements?.transport as string, options.service);
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  expect(await noteOf(lake.dir, DAY)).toBeUndefined();
  return { ran, receipt: (await receiptOf(lake.dir, DAY))! };
}

/** Export under faults: nothing may be published, and a note says why. */
async function expectFailureUnder(faults: FaultPort, options: Options = {}) {
  await using lake = await newLake();
  const ran = await runUnder(lake, faults, options);
  expect(ran.code).toBe(1);
  expect(await readObject(lake.dir, DAY)).toBeUndefined();
  expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
  return { ran, note: await noteOf(lake.dir, DAY) };
}

/** A fault for the first of every three requests. */
const oftenBut = (fault: Fault) => (request: FaultyRequest) => (request.n % 3 === 0 ? undefined : fault);

for (const status of [429, 504] as const) {
  test(`status ${status} twice of three times, everywhere but at the token endpoint`, async () => {
    const faults = (request: FaultyRequest) =>
      request.family === 'token' ? undefined : oftenBut({ kind: 'status', status })(request);
    // A page that the gateway gave up on is split; all others are repeated.
    const { receipt } = await expectExactUnder(faults);
    expect(receipt.retries).toBeGreaterThan(5);
  });
}

test('429 with Retry-After in seconds and as a date', async () => {
  let refusals = 0;
  const { receipt } = await expectExactUnder(({ family }) => {
    if (family !== 'measurements' || refusals >= 2) return undefined;
    refusals++;
    const retryAfter = refusals === 1 ? '1' : new Date(Date.now() + 1_000).toUTCString();
    return { kind: 'status', status: 429, retryAfter };
  });
  expect(receipt.retries).toBe(2);
});

test('a token endpoint in trouble', async () => {
  await expectExactUnder(({ family, n }) =>
    family === 'token' && n % 3 !== 0 ? { kind: 'status', status: n % 3 === 1 ? 500 : 503 } : undefined,
  );
});

test('a service that takes fewer requests at once than our cap', async () => {
  // Every request keeps its place for a while, so that they overlap although both sides share an event loop.
  const narrow = await serviceOfTest({ readingsPerDay: 28_000, maxConcurrency: 1, latencyMs: 10 });
  await using lake = await newLake();
  const { results } = await mustExport({
    service: narrow,
    lakeUrl: lake.url,
    args: { to: '2026-01-11' },
    env: { QUERY_MAX_CONCURRENCY: '8', WORKER_CONCURRENCY: '6' },
  });
  expect(results).toHaveLength(6);
  const day = { ...DAY, date: results[0]!.date };
  await expectExactDay(narrow, { lakeDir: lake.dir, day, expressions: FEW_EXPRESSIONS });
  // How many depends on how soon it is asked again; that the limit is lowered, and settles, others test.
  expect(narrow.requests.some(({ status }) => status === 429)).toBe(true);
});

test('every body of every family cut once, anywhere', async () => {
  const choices = fc.record({
    fractions: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 8, maxLength: 40 }),
    version: fc.constantFrom('2025-10-31', '2026-09-10'),
    transport: fc.constantFrom('ndjson', 'json', 'parquet'),
  });
  await fc.assert(
    fc.asyncProperty(choices, async ({ fractions, version, transport }) => {
      const left = [...fractions];
      const faults: FaultPort = ({ family, n }) => {
        const fraction = n % 2 === 0 || family === 'token' ? undefined : left.pop();
        const longest = { metadata: 6_000, statistics: 35_000, measurements: 60_000 }[family as 'metadata'];
        return fraction === undefined
          ? undefined
          : { kind: 'cut', afterBytes: Math.floor(fraction * longest) };
      };
      const jobs = { measurements: { ...FEW_SERIES, transport } };
      await expectExactUnder(faults, { jobs, env: { QUERY_API_VERSION: version } });
    }),
    { numRuns: 4 },
  );
});

test('bodies that end too soon as if they were whole: exact or refused', async () => {
  const choices = fc.record({
    family: fc.constantFrom('measurements', 'statistics', 'metadata'),
    fraction: fc.double({ min: 0, max: 0.99, noNaN: true }),
    transport: fc.constantFrom('ndjson', 'json', 'parquet'),
    times: fc.constantFrom(1, 2, 5, 100),
  });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(choices, async ({ family: which, fraction, transport, times }) => {
      await using lake = await newLake();
      const longest = { metadata: 6_000, statistics: 35_000, measurements: 60_000 }[which]!;
      let left = times;
      service.faults = ({ family }) =>
        family === which && left-- > 0
          ? { kind: 'cut', clean: true, afterBytes: Math.floor(fraction * longest) }
          : undefined;
      const jobs = { measurements: { ...FEW_SERIES, transport } };
      const ran = await runExport({ service, lakeUrl: lake.url, jobs, overrides: SMALL });
      service.faults = undefined;
      if (ran.code === 0) await expectExact(lake, transport);
      else {
        refused++;
        expect(ran.code).toBe(1);
        expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
        expect(await readObject(lake.dir, DAY)).toBeUndefined();
        await mustExport({ service, lakeUrl: lake.url, jobs, overrides: SMALL });
        await expectExact(lake, transport);
      }
      expect(await unfinishedFiles(lake.dir)).toEqual([]);
    }),
    // Chance alone may leave out all that are refused. Metadata cannot be asked for in halves that would fit.
    { numRuns: 6, examples: [[{ family: 'metadata', fraction: 0.05, transport: 'ndjson', times: 100 }]] },
  );
  expect(refused).toBeGreaterThan(0);
});

for (const [transport, families] of [
  ['ndjson', ['metadata', 'statistics', 'measurements']],
  ['json', ['measurements']],
  ['parquet', ['measurements']],
] as const) {
  for (const which of families) {
    test(`${which} that end in mid-record as if they were whole are asked for again, transport ${transport}`, async () => {
      let cuts = 0;
      const { ran } = await expectExactUnder(
        ({ family }) =>
          family === which && ++cuts <= 2 ? { kind: 'cut', clean: true, afterBytes: 1_234 } : undefined,
        { jobs: { measurements: { ...FEW_SERIES, transport } } },
      );
      expect(ran.stderr).not.toContain('starting clean');
    });
  }
}

test('a lake that fails while we fetch is not asked of the service again', async () => {
  const before = service.requests.length;
  const onStep = (step: string) => {
    if (step === 'part-uploaded') throw new RetriableError('store-away', 'the store is away');
  };
  const { ran } = await expectFailureUnder(() => undefined, { overrides: { onStep } });
  expect(ran.results).toMatchObject([{ code: 'store-away', message: 'the store is away' }]);
  const asked = service.requests.slice(before).filter(({ family }) => family === 'measurements');
  expect(new Set(asked.map(({ query }) => query.from)).size).toBe(asked.length);
});

for (const at of ['headers', 'body'] as const) {
  test(`a service that stalls before the ${at}: time slices are asked for again, or in halves`, async () => {
    const overrides = {
      ...SMALL,
      clientLimits: { ...QUICK_LIMITS, headersTimeoutMs: 400, idleTimeoutMs: 400 },
    };
    let stalls = 0;
    await expectExactUnder(
      ({ family, n }) =>
        family === 'measurements' && n % 2 === 1 && stalls++ < 4
          ? { kind: 'stall', at, afterBytes: 5_000 }
          : undefined,
      { overrides },
    );
    expect(stalls).toBeGreaterThan(2);
  });
}

test('pages that never come are split until there were too many failures in a row', async () => {
  const overrides = {
    clientLimits: { headersTimeoutMs: 60, idleTimeoutMs: 60, retry: { baseDelayMs: 1, maxDelayMs: 1 } },
  };
  const { ran } = await expectFailureUnder(all('measurements', { kind: 'stall', at: 'headers' }), {
    overrides,
  });
  expect(ran.results).toMatchObject([{ state: 'failed', code: 'headers-timeout' }]);
});

/** Seconds of the range of a request; 0 where it has none. */
const secondsOf = ({ range }: Pick<FaultyRequest, 'range'>) =>
  range === undefined ? 0 : (range.toMicros - range.fromMicros) / MICROS_PER_SECOND;

for (const family of ['measurements', 'statistics'] as const) {
  test(`${family}: 504 for more than six hours, among 500s, and the next day is asked in what got through`, async () => {
    await using lake = await newLake();
    let long = 0;
    const asked: { date: string; seconds: number }[] = [];
    service.faults = (request) => {
      if (request.family !== family) return undefined;
      const seconds = secondsOf(request);
      asked.push({ date: microsToDate(request.range!.fromMicros), seconds });
      if (seconds > 21_600) return { kind: 'status', status: long++ % 2 === 0 ? 504 : 500 };
      return request.n % 3 === 0 ? { kind: 'status', status: 500 } : undefined;
    };
    const job = { ...FEW_SERIES, ...(family === 'statistics' ? STATISTICS : {}) };
    const ran = await mustExport({
      service,
      lakeUrl: lake.url,
      jobs: { measurements: job },
      args: { to: '2026-01-07' },
      env: { WORKER_CONCURRENCY: '1' },
    });
    service.faults = undefined;
    expect(ran.results.map(({ state }) => state)).toEqual(['published', 'published']);
    const [day, next] = [DATE, '2026-01-06'].map((date) => asked.filter((one) => one.date === date));
    expect(day!.some(({ seconds }) => seconds > 21_600)).toBe(true);
    expect(next!.filter(({ seconds }) => seconds > 21_600)).toEqual([]);
    expect(next!.length).toBeLessThan(20);
    if (family === 'measurements') await expectExact(lake);
  });
}

test('statistics of a day that answer in parts are the same object', async () => {
  const objects: (Uint8Array | undefined)[] = [];
  for (const overSeconds of [Number.POSITIVE_INFINITY, 3_600]) {
    await using lake = await newLake();
    service.faults = all('statistics', { kind: 'refuse-long-ranges', overSeconds, status: 413 });
    const jobs = { measurements: { ...FEW_SERIES, ...STATISTICS } };
    await mustExport({ service, lakeUrl: lake.url, jobs });
    service.faults = undefined;
    objects.push((await lakeFiles(lake.dir)).get(objectKey(DAY)));
  }
  expect(objects[0]!.length).toBeGreaterThan(1_000);
  expect(Buffer.from(objects[1]!).equals(Buffer.from(objects[0]!))).toBe(true);
});

test('an endpoint that only fails ends a vessel-day after so many requests, however small the parts', async () => {
  for (const fault of [
    { kind: 'status', status: 500 },
    { kind: 'status', status: 504 },
    { kind: 'cut', afterBytes: 0 },
  ] as const) {
    let requests = 0;
    const { ran } = await expectFailureUnder(({ family }) => {
      if (family !== 'measurements') return undefined;
      requests += 1;
      return fault;
    });
    expect(ran.results[0]!.message).toMatch(/gave up after 24 failures in a row/);
    expect(requests).toBe(24);
  }
});

test('a service that answers 413 to ranges over two hours', async () => {
  const tooLong = { kind: 'refuse-long-ranges', overSeconds: 7_200, status: 413 } as const;
  const { receipt } = await expectExactUnder(all('measurements', tooLong));
  expect(receipt.pages).toBeGreaterThanOrEqual(12);
});

test('a service that answers 400 to ranges over a minute in one hour of the day', async () => {
  const noon = dayRange(DATE).fromMicros + 12 * MICROS_PER_HOUR;
  const { receipt } = await expectExactUnder(({ family, range }) =>
    family === 'measurements' && range!.fromMicros < noon + MICROS_PER_HOUR && range!.toMicros > noon
      ? { kind: 'refuse-long-ranges', overSeconds: 60, status: 400 }
      : undefined,
  );
  expect(receipt.pages).toBeGreaterThanOrEqual(60);
});

test('a service that refuses every range fails with its own words and the page', async () => {
  const refusal = 'the archive is \u001b[31mclosed\u001b[0m today';
  const { ran, note } = await expectFailureUnder(
    all('measurements', { kind: 'status', status: 400, message: refusal }),
  );
  const message = ran.results[0]!.message!;
  expect(message).toContain('the archive is  [31mclosed [0m today');
  // The range is said once.
  expect(message.match(/2026-01-05T00:00:01\.000000Z/g)).toHaveLength(1);
  expect(note).toMatchObject({ state: 'failed', code: 'bad-request', message });
});

test('a token that expires in mid-run', async () => {
  let shiftMs = 0;
  const aging = await serviceOfTest({
    readingsPerDay: 28_000,
    tokenTtlSeconds: 60,
    clock: { ...systemClock, nowMs: () => Date.now() + shiftMs },
  });
  await expectExactUnder(
    ({ family, n }) => {
      // Each third page finds that a minute has passed at the service.
      if (family === 'measurements' && n % 3 === 0) shiftMs += 61_000;
      return undefined;
    },
    { service: aging },
  );
  const tokens = aging.requests.filter(({ family }) => family === 'token').length;
  expect(tokens).toBeGreaterThan(2);
  expect(aging.requests.some(({ status }) => status === 401)).toBe(true);
});

test('tokens that live for less than the wait in the line', async () => {
  const hasty = await serviceOfTest({ readingsPerDay: 1_000, tokenTtlSeconds: 2 });
  await using lake = await newLake();
  // The line is longer than two seconds: four vessel-days, one slot, four turns a second.
  const { results } = await mustExport({
    service: hasty,
    lakeUrl: lake.url,
    args: { to: '2026-01-09' },
    env: {
      QUERY_MAX_CONCURRENCY: '1',
      QUERY_MAX_REQUESTS_PER_MINUTE: '240',
      WORKER_CONCURRENCY: '8',
    },
  });
  expect(results.filter(({ state }) => state === 'published')).toHaveLength(4);
});

test('tokens that are revoked in mid-run', async () => {
  let revoked = 0;
  const { receipt } = await expectExactUnder(({ family, n }) => {
    if (family !== 'measurements' || n % 4 !== 2) return undefined;
    revoked++;
    return { kind: 'revoke-tokens' };
  });
  expect(revoked).toBeGreaterThan(1);
  expect(receipt.proof).toBe('exact');
});

test('refused credentials: one clear message, no storm', async () => {
  const { baseUrl, authUrl, clientId } = service;
  const before = service.requests.length;
  await using lake = await newLake();
  const ran = await runExport({
    service: { baseUrl, authUrl, clientId, clientSecret: 'the-secret-of-last-year' },
    lakeUrl: lake.url,
    args: { to: '2026-02-05' },
    env: { WORKER_CONCURRENCY: '8' },
  });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain('the credentials were refused');
  expect(ran.stderr).toContain('QUERY_CLIENT_SECRET');
  // At most one for each vessel-day that was under way.
  expect(service.requests.length - before).toBeLessThanOrEqual(8);
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  // It is said once, not once for each vessel-day that was under way.
  expect(ran.stderr.match(/the credentials were refused/g)!.length).toBeLessThanOrEqual(2);
});

const ELSEWHERE = 'https://elsewhere.example/x?token=1';
const WRONG: readonly [string, Fault, which: string, string][] = [
  ['another api-version', { kind: 'api-version', value: '2031-01-01' }, 'metadata', 'wrong-api-version'],
  ['no api-version', { kind: 'api-version', value: undefined }, 'statistics', 'wrong-api-version'],
  ['a redirect', { kind: 'redirect', location: ELSEWHERE }, 'measurements', 'redirect-refused'],
  ['status 403', { kind: 'status', status: 403 }, 'measurements', 'forbidden'],
];
for (const [what, fault, which, code] of WRONG) {
  test(`${what} from ${which} ends the run`, async () => {
    const { ran, note } = await expectFailureUnder(all(which, fault));
    expect(ran.results).toMatchObject([{ state: 'failed', code }]);
    expect(note).toMatchObject({ state: 'failed', code });
  });
}

test.for(['metadata', 'statistics', 'measurements'])(
  'a login page instead of %s publishes nothing',
  async (which) => {
    const page = {
      kind: 'garbage',
      body: '<!doctype html><title>Sign in</title>',
      contentType: 'text/html',
    } as const;
    const { ran } = await expectFailureUnder(all(which, page));
    expect(ran.results).toMatchObject([{ state: 'failed' }]);
    expect(ran.results[0]!.message).not.toMatch(/undefined|\[object|internal/);
    expect(ran.results[0]!.code).not.toBe('internal-error');
  },
);

test('garbage instead of a token', async () => {
  for (const body of ['', '{}', '{"access_token":7}', '<html>', '{"access_token":"a b\\n"}']) {
    const before = service.requests.length;
    const { ran } = await expectFailureUnder(all('token', { kind: 'garbage', body }));
    expect(ran.results[0]?.message ?? ran.stderr).toContain('QUERY_AUTH_URL');
    expect(service.requests.length - before).toBeLessThan(5);
  }
});
