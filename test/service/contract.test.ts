/**
 * The contract, a row per sentence of the query service's document, each run over real HTTP against the made-up
 * fleet. The clock stands at 2026-01-07T12:00Z. What the document does not show is marked "decision".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCESS } from './contract/access.ts';
import { DOMAINS } from './contract/domains.ts';
import { MEASUREMENTS } from './contract/measurements.ts';
import { METADATA } from './contract/metadata.ts';
import { DAY, HOUR, points, refusal, status } from './contract/row.ts';
import { STATISTICS } from './contract/statistics.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';

const TABLE = {
  domains: DOMAINS,
  measurements: MEASUREMENTS,
  metadata: METADATA,
  statistics: STATISTICS,
  'access, versions, formats, errors': ACCESS,
};

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service[Symbol.asyncDispose]());

describe.each(Object.entries(TABLE))('contract: %s', (_part, rows) => {
  test.each(Object.entries(rows))('%s', async (_sentence, check) => check(service));
});

/** Time ranges that say the same in two ways. */
const RANGES: readonly (readonly [sentence: string, parameters: string, same: string])[] = [
  ['from and to, with offsets', 'from=2026-01-05T02:00:00%2B02:00&to=2026-01-05T01:00:00Z', HOUR],
  ['from_epoch and to_epoch in seconds', 'from_epoch=1767571200&to_epoch=1767574800', HOUR],
  ['since: that far back until now', 'since=90minutes', 'from=2026-01-07T10:30&to=2026-01-07T12:00'],
  ['since=1day', 'since=1day', 'from=2026-01-06T12:00&to=2026-01-07T12:00'],
  ['since: minutes', 'since=5minutes', 'from=2026-01-07T11:55&to=2026-01-07T12:00'],
  ['since: hour', 'since=1hour', 'from=2026-01-07T11:00&to=2026-01-07T12:00'],
  ['since: hours', 'since=6hours', 'from=2026-01-07T06:00&to=2026-01-07T12:00'],
  ['since: days', 'since=2days', 'from=2026-01-05T12:00&to=2026-01-07T12:00'],
  ['since: month', 'since=1month', 'from=2025-12-07T12:00&to=2026-01-07T12:00'],
  ['since: months', 'since=2months', 'from=2025-11-07T12:00&to=2026-01-07T12:00'],
  ['last: minutes', 'last=10minutes', 'from=2026-01-07T11:50&to=2026-01-07T12:00'],
  ['last=1day is the previous whole day', 'last=1day', 'from=2026-01-06&to=2026-01-07'],
  [
    'decision: last=6hours is the six whole hours before this one',
    'last=6hours',
    'from=2026-01-07T06:00&to=2026-01-07T12:00',
  ],
  ['last=1month', 'last=1month', 'from=2025-12-01&to=2026-01-01'],
  ['year alone', 'year=2026', 'from=2026-01-01&to=2027-01-01'],
  ['year and month', 'year=2025&month=12', 'from=2025-12-01&to=2026-01-01'],
  ['year, month and day', 'year=2026&month=1&day=5', DAY],
  ['decision: from alone ends now', 'from=2026-01-07T11:00', 'from=2026-01-07T11:00&to=2026-01-07T12:00'],
  ['decision: to alone begins an hour before', 'to=2026-01-05T01:00', HOUR],
];

describe('contract: time ranges', () => {
  const path = `/measurements/flat/${VESSEL}/Roll?`;

  test.each(RANGES)('%s', async (_sentence, parameters, same) => {
    const found = await points(service, path + parameters);
    expect(found).not.toHaveLength(0);
    expect(found).toEqual(await points(service, path + same));
  });

  test.each([
    ...'from=2026-01-05&since=1day from=2026-01-05&to_epoch=1767574800 last=1day&year=2026 month=1'.split(
      ' ',
    ),
    ...'year=2026&day=3 year=2026&month=2&day=29 from=yesterday from=2026-02-30 since=1week'.split(' '),
    ...'from=2026-01-06&to=2026-01-05 since=0days last=day from_epoch=1.5 year=20260'.split(' '),
    ...'from=2026-01-05&from=2026-01-06 since=999999months last=900000days'.split(' '),
  ])('refuses %s with 400', async (parameters) => {
    expect(await status(service, path + parameters)).toBe(400);
  });

  test('names the parameters that conflict', async () => {
    const response = await service.get(`${path}from=2026-01-05&since=1day&year=2026`);
    expect((await refusal(response)).error).toContain('from, since, year');
  });
});
