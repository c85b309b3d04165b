/**
 * The contract, a row per sentence of the query service's document, each run over real HTTP against the made-up
 * fleet. The clock stands at 2026-01-07T12:00Z. What the document does not show is marked "decision".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCESS } from './contract/access.ts';
import { DOMAINS } from './contract/domains.ts';
import { MEASUREMENTS } from './contract/measurements.ts';
import { METADATA } from './contract/metadata.ts';
import { points, type Row, refusal, status } from './contract/row.ts';
import { STATISTICS } from './contract/statistics.ts';
import { RANGES } from './contract/time-ranges.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';

const TABLE: readonly (readonly [string, readonly Row[]])[] = [
  ['domains', DOMAINS],
  ['measurements', MEASUREMENTS],
  ['metadata', METADATA],
  ['statistics', STATISTICS],
  ['access, versions, formats, errors', ACCESS],
];

describe.each(TABLE)('contract: %s', (_part, rows) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service[Symbol.asyncDispose]());
  test.each(rows)('%s', async (_sentence, check) => check(service));
});

describe('contract: time ranges', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test.each(RANGES)('%s', async (_sentence, parameters, same) => {
    const path = `/measurements/flat/${VESSEL}/Roll?`;
    const found = await points(service, path + parameters);
    expect(found).not.toHaveLength(0);
    expect(found).toEqual(await points(service, path + same));
  });

  test.each([
    'from=2026-01-05&since=1day',
    'from=2026-01-05&to_epoch=1767574800',
    'last=1day&year=2026',
    'month=1',
    'year=2026&day=3',
    'year=2026&month=2&day=29',
    'from=yesterday',
    'from=2026-02-30',
    'from=2026-01-06&to=2026-01-05',
    'since=1week',
    'since=0days',
    'last=day',
    'from_epoch=1.5',
    'from=2026-01-05&from=2026-01-06',
    'year=20260',
    'since=999999months',
    'last=900000days',
  ])('refuses %s with 400', async (parameters) => {
    expect(await status(service, `/measurements/flat/${VESSEL}/Roll?${parameters}`)).toBe(400);
  });

  test('names the parameters that conflict', async () => {
    const response = await service.get(
      `/measurements/flat/${VESSEL}/Roll?from=2026-01-05&since=1day&year=2026`,
    );
    expect((await refusal(response)).error).toContain('from, since, year');
  });
});
