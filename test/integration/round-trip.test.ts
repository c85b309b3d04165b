/**
 * There and back: a lake exported from a service, a service started on that lake, and a second lake exported
 * from it. Both services answer alike, and the second lake's measurements and statistics are the same bytes.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import type { RunningService } from '../../src/service/options.ts';
import { startService } from '../../src/service/service.ts';
import { lakeFiles } from '../helpers/lake.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { DATE, mustExport, newLake, OTHER_VESSEL, startTestService, VESSEL } from '../helpers/run.ts';

const SELECT = ['flat/{vessel}/*', 'jsmea/{vessel}/*/*/*/*/*/*/*'];
const VESSELS = [VESSEL, OTHER_VESSEL];
const JOBS = {
  measurements: { dataset: 'measurements', vessels: VESSELS, select: SELECT },
  metadata: { dataset: 'metadata', vessels: VESSELS, select: SELECT },
};
const STATISTICS = {
  statistics: {
    dataset: 'statistics',
    vessels: VESSELS,
    select: SELECT,
    window: '1h',
    aggregations: ['mean', 'sum', 'stddev'],
  },
};

let original: TestService;
let mirror: RunningService;
let first: TestLake;
let second: TestLake;

/** Measurements of the day, and the snapshot of that day: the clock stands at its noon for metadata. */
async function exportAll(service: RunningService, lake: TestLake): Promise<void> {
  const noon = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  const { measurements, metadata } = JOBS;
  await mustExport({ service, lakeUrl: lake.url, jobs: { measurements } });
  await mustExport({ service, lakeUrl: lake.url, jobs: { metadata }, overrides: { clock: noon } });
  await mustExport({ service, lakeUrl: lake.url, jobs: STATISTICS });
}

beforeAll(async () => {
  original = await startTestService({ vessels: 2, readingsPerDay: 1_500, seed: 11 });
  [first, second] = [await newLake(), await newLake()];
  await exportAll(original, first);
  mirror = await startService({
    host: '127.0.0.1',
    port: 0,
    tenant: 'mirror',
    data: { dataDir: first.dir },
    tokenTtlSeconds: 3_600,
    clock: systemClock,
  });
  await exportAll(mirror, second);
});
afterAll(async () => {
  await Promise.all([original.close(), mirror.close()]);
  await Promise.all([first, second].map((lake) => lake[Symbol.asyncDispose]()));
});

test('the second lake holds the same bytes', async () => {
  const [one, two] = [await lakeFiles(first.dir), await lakeFiles(second.dir)];
  const objects = (files: Map<string, Buffer>) =>
    [...files.keys()].filter((key) => key.endsWith('.parquet')).sort();
  expect(objects(two)).toEqual(objects(one));
  expect(objects(one)).toHaveLength(6);
  for (const vessel of VESSELS) {
    for (const job of ['measurements', 'metadata', 'statistics']) {
      const key = objectKey({ job, vessel, date: DATE });
      expect(Buffer.compare(two.get(key)!, one.get(key)!), key).toBe(0);
    }
  }
});

async function ask(service: RunningService, query: Query): Promise<{ status: number; body: string }> {
  const token = await fetch(`${service.authUrl}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${service.clientId}:${service.clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await token.json()) as { access_token: string };
  const answer = await fetch(`${service.baseUrl}${query.path}`, {
    method: query.body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${access_token}`,
      ...(query.version === undefined ? {} : { 'x-api-version': query.version }),
      ...(query.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(query.body === undefined ? {} : { body: JSON.stringify(query.body) }),
  });
  return { status: answer.status, body: await answer.text() };
}

interface Query {
  readonly path: string;
  readonly version?: string;
  readonly body?: readonly string[];
}

const DAY = `from=${DATE}T00:00:00Z&to=2026-01-06T00:00:00Z`;
const HOUR = `from=${DATE}T06:30:00Z&to=${DATE}T07:30:00.5Z`;
const ALL =
  'avg,count,delta,first_time,first_val,integral,kurtosis,last_time,last_val,max,mean,min,skewness,stddev,sum,var';
const QUERIES: readonly Query[] = [
  { path: `/measurements/flat/${VESSEL}/*?${HOUR}` },
  { path: `/measurements/flat/${VESSEL}/*?${HOUR}&format=ndjson&output_domain=id` },
  { path: `/measurements/jsmea/${VESSEL}/*/Weather?${HOUR}&output_domain=maker` },
  {
    path: `/measurements/query?${HOUR}&format=ndjson`,
    body: [`flat/${VESSEL}/Shaft*`, `flat/${OTHER_VESSEL}/Shaft*`],
  },
  { path: `/measurements/vis-3-8a/${VESSEL}/*/*/meta/*?${HOUR}&verbose=true` },
  { path: `/metadata/flat/${VESSEL}/*` },
  { path: `/metadata/flat/${VESSEL}/*`, version: '2026-09-10' },
  { path: `/metadata/flat/*/*?format=ndjson`, version: '2026-09-10' },
  { path: `/statistics/flat/${VESSEL}/*?${DAY}&aggregations=${ALL}&window=2h`, version: '2026-09-10' },
  { path: `/statistics/flat/${VESSEL}/*?${DAY}&aggregations=${ALL}&window=none` },
  {
    path: `/statistics/flat/${VESSEL}/*?${HOUR}&aggregations=${ALL}&window=10m&window_edges=partial`,
    version: '2026-09-10',
  },
  {
    path: `/statistics/query?${DAY}&aggregations=mean,sum&window=1d&output_domain=id`,
    body: [`flat/${VESSEL}/*`],
  },
  { path: `/statistics/flat/${VESSEL}/*?${DAY}&format=csv&window=6h`, version: '2026-09-10' },
  { path: `/measurements/flat/${VESSEL}/No Such Tag?${HOUR}` },
];

describe('both services give the same answer to', () => {
  test.for(QUERIES.map((query) => [`${query.path} ${query.version ?? ''}`, query] as const))(
    '%s',
    async ([, query]) => {
      const [one, two] = [await ask(original, query), await ask(mirror, query)];
      expect(two.status).toBe(one.status);
      expect(two.body).toBe(one.body);
      expect(one.body.length).toBeGreaterThan(20);
    },
  );
});
