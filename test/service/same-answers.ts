/** Questions of every kind, to be answered with the same bytes by whoever has the same readings of two days. */
import { expect } from 'vitest';
import { type TestService, VESSEL } from './running-service.ts';

export const DAYS = [
  ['2026-01-05', '2026-01-06'],
  ['2026-01-06', '2026-01-07'],
] as const;
export const NEW = { 'x-api-version': '2026-09-10' };
const OLD = { 'x-api-version': '2025-10-31' };

/** `/ID?` stands for a counter's time series id. */
export const QUERIES: readonly (readonly [string, Record<string, string>])[] = [
  [`/measurements/flat/${VESSEL}/*?from=2026-01-05T03:00&to=2026-01-05T09:00&format=ndjson`, NEW],
  [`/measurements/flat/${VESSEL}/*?year=2026&month=1&day=6&output_domain=id`, NEW],
  [`/measurements/flat/*/Wind%20Speed?from=2026-01-05&to=2026-01-07`, OLD],
  [`/measurements/vis-3-8a/${VESSEL}/421.1/C811/meta/*/*/*?from=2026-01-05&to=2026-01-06&verbose=true`, NEW],
  [`/measurements/maker/${VESSEL}/mac/FQ-1701?from=2026-01-05&to=2026-01-07`, NEW],
  [`/measurements/parameters/${VESSEL}/%7BHeading,GPS%20Position%7D?from=2026-01-05&to=2026-01-07`, NEW],
  [`/metadata/flat/${VESSEL}/*`, NEW],
  [`/metadata/flat/${VESSEL}/*`, OLD],
  [`/metadata/jsmea/${VESSEL}/jsmea_nav?verbose=true`, NEW],
  [`/statistics/flat?from=2026-01-05&to=2026-01-07&window=2h&aggregations=count,first_time,last_time`, NEW],
  [
    `/statistics/flat/*/*?from=2026-01-05&to=2026-01-07&window=6h&aggregations=avg,count,delta,first_time,first_val,integral,kurtosis,last_time,last_val,max,mean,min,skewness,stddev,sum,var`,
    NEW,
  ],
  [
    `/statistics/flat/${VESSEL}?from=2026-01-05T01:30&to=2026-01-06T22:10&window=1d&window_edges=partial&aggregations=sum,var`,
    OLD,
  ],
  [`/statistics/id/ID?from=2026-01-05&to=2026-01-07&window=none&aggregations=mean,sum,kurtosis`, OLD],
  [`/statistics/flat/${VESSEL}/Shaft*?from=2026-01-05&to=2026-01-07&window=12h&format=csv`, NEW],
];

/** `other` answers one of QUERIES as the made-up service does. */
export async function expectSameBytes(
  madeUp: TestService,
  other: TestService,
  [path, headers]: (typeof QUERIES)[number],
): Promise<void> {
  const counters = await madeUp.json(`/metadata/maker/${VESSEL}/mac/FQ-1701`, NEW);
  const [counter] = counters as { timeSeriesId: string }[];
  const query = path.replace('/ID?', `/${counter!.timeSeriesId}?`);
  const expected = await madeUp.text(query, headers);
  expect(expected.length).toBeGreaterThan(100);
  expect(await other.text(query, headers)).toBe(expected);
}
