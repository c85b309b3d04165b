/** What the rows of the contract table share. */
import { expect } from 'vitest';
import { type TestService, VESSEL } from '../running-service.ts';

export const NEW = { 'x-api-version': '2026-09-10' };
export const OLD = { 'x-api-version': '2025-10-31' };
export const HOUR = 'from=2026-01-05T00:00:00Z&to=2026-01-05T01:00:00Z';
export const DAY = 'from=2026-01-05&to=2026-01-06';
export const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

export interface Point {
  readonly id: string;
  readonly timestamp: string;
  readonly value: unknown;
}
export interface Series {
  readonly id: string;
  readonly timeSeriesId: string;
  readonly domains: Record<string, { id: string }>;
}
export interface Statistic {
  readonly timestamp: string;
  readonly id: string;
  readonly aggregations: Record<string, unknown>;
}

/** Sentences of the contract, and what must hold of a service whose clock stands at 2026-01-07T12:00Z. */
export type Rows = Readonly<Record<string, (s: TestService) => Promise<void>>>;

export const points = async (s: TestService, path: string, headers = {}) =>
  (await s.json(path, headers)) as Point[];
export const series = async (s: TestService, path: string) => (await s.json(path, NEW)) as Series[];
export const statistics = async (s: TestService, path: string) => (await s.json(path, NEW)) as Statistic[];
export const refusal = async (response: Response) => {
  const body = (await response.json()) as { error: string };
  // By RFC 6749 `error` is a code there, which the message stands beside.
  const isOfToken = response.url.endsWith('/oauth2/token');
  expect(Object.keys(body)).toEqual(isOfToken ? ['error', 'error_description'] : ['error']);
  expect(typeof body.error).toBe('string');
  return { status: response.status, error: body.error };
};
export const status = async (s: TestService, path: string, headers = {}) =>
  (await refusal(await s.get(path, headers))).status;
export const uuidOf = async (s: TestService, tag: string) =>
  (await series(s, `/metadata/flat/${VESSEL}/${encodeURIComponent(tag)}`))[0]!.timeSeriesId;
