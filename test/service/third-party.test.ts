/** Others' eyes: a published OpenAPI validator reads the document, a published HTTP client talks to the service. */
import { Validator } from '@seriousme/openapi-schema-validator';
import axios from 'axios';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService, VESSEL } from './running-service.ts';

let s: TestService;
beforeAll(async () => {
  s = await openService();
});
afterAll(() => s[Symbol.asyncDispose]());

test('a third-party validator accepts the OpenAPI document', async () => {
  const { data } = await axios.get(new URL('/openapi.json', s.service.baseUrl).href);
  const result = await new Validator().validate(data);
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

test('a third-party client gets a token and every family of answers', async () => {
  const { baseUrl, authUrl, clientId, clientSecret } = s.service;
  const token = await axios.post(
    `${authUrl}/oauth2/token`,
    new URLSearchParams({ grant_type: 'client_credentials' }),
    {
      auth: { username: clientId, password: clientSecret },
    },
  );
  const api = axios.create({
    baseURL: baseUrl,
    headers: { Authorization: `Bearer ${token.data.access_token}`, 'x-api-version': '2026-09-10' },
  });
  const range = { from: '2026-01-05T00:00:00Z', to: '2026-01-05T06:00:00Z' };
  const readings = await api.get(`/measurements/flat/${VESSEL}/Speed Over Ground`, { params: range });
  expect(readings.headers['api-version']).toBe('2026-09-10');
  expect(readings.data.length).toBeGreaterThan(0);
  expect(readings.data[0]).toEqual({
    id: `${VESSEL}/Speed Over Ground`,
    timestamp: expect.stringMatching(/^2026-01-05T0\d:\d\d:\d\d\.\d{6}Z$/),
    value: expect.any(Number),
  });
  const metadata = await api.get(`/metadata/flat/${VESSEL}/*`);
  expect(metadata.data[0]).toHaveProperty('timeSeriesId');
  const statistics = await api.post('/statistics/query', [`flat/${VESSEL}/Speed Over Ground`], {
    params: { ...range, aggregations: 'count,mean', window: 'none' },
  });
  expect(statistics.data).toHaveLength(1);
  expect(statistics.data[0].aggregations.count).toBe(readings.data.length);
});

test('a third-party client sees refusals as errors with a message', async () => {
  const refused = await axios.get(`${s.service.baseUrl}/metadata/flat/${VESSEL}/*`, {
    validateStatus: () => true,
  });
  expect(refused.status).toBe(401);
  expect(refused.data).toEqual({ error: expect.any(String) });
});
