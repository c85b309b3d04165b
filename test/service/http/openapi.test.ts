import { Validator } from '@seriousme/openapi-schema-validator';
import axios from 'axios';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { RESPONSE_SCHEMAS } from '../../../src/service/http/response-schemas.ts';
import { openService, type TestService, VESSEL } from '../running-service.ts';

interface Operation {
  readonly operationId: string;
  readonly parameters?: { name: string; in: string; required: boolean }[];
  readonly responses: Record<string, unknown>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<'get' | 'post', Operation | undefined>>;
  readonly components: { schemas: Record<string, unknown> };
}

describe('the OpenAPI document', () => {
  let s: TestService;
  let document: Document;
  beforeAll(async () => {
    s = await openService();
    const response = await fetch(new URL('/openapi.json', s.service.baseUrl));
    expect(response.status).toBe(200);
    document = (await response.json()) as Document;
  });
  afterAll(() => s[Symbol.asyncDispose]());

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      (['get', 'post'] as const).flatMap((method) => {
        const operation = methods[method];
        return operation === undefined ? [] : [{ path, method, operation }];
      }),
    );

  test('is 3.1, as a published validator says too, and names each operation once', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    expect(document.openapi).toBe('3.1.0');
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(3 * 5 + 1 + 1);
  });

  test('declares every level of every path, and nothing else in paths', () => {
    for (const { path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
      const declared = (operation.parameters ?? []).filter((one) => one.in === 'path');
      expect(declared.map(({ name }) => name)).toEqual(inPath);
      expect(declared.every(({ required }) => required)).toBe(true);
    }
  });

  test('refers only to what it holds', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(10);
    for (const [, name] of references) expect(Object.keys(document.components.schemas)).toContain(name);
  });

  test('every GET it lists is served', async () => {
    for (const { path, method, operation } of operations()) {
      if (method !== 'get') continue;
      const filled = path
        .replace('{ids}', '00000000-0000-4000-8000-000000000000')
        .replace('{domain}/{expression}', 'flat/IMO1234567/x')
        .replaceAll(/\{[^}]+\}/g, 'x');
      const response = await s.get(filled);
      expect([operation.operationId, response.status]).toEqual([operation.operationId, 404]);
      expect(await response.json()).toEqual({ error: expect.stringContaining('no time series matches') });
    }
  });

  test.each<[keyof typeof RESPONSE_SCHEMAS, string, string]>([
    ['measurements', `/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-06`, '2026-09-10'],
    ['metadata', `/metadata/flat/${VESSEL}/*`, '2026-09-10'],
    ['metadata', `/metadata/flat/${VESSEL}/*`, '2025-10-31'],
    [
      'statistics',
      `/statistics/flat/${VESSEL}/*?last=1day&window=6h&aggregations=count,avg,first_val`,
      '2026-09-10',
    ],
    [
      'statistics',
      `/statistics/flat/${VESSEL}/*?last=1day&window=6h&aggregations=count,avg,first_val`,
      '2025-10-31',
    ],
  ])('%s fit their schema: %s in %s', async (name, path, version) => {
    const schema: z.ZodType = RESPONSE_SCHEMAS[name];
    const result = schema.safeParse(await s.json(path, { 'x-api-version': version }));
    expect(result.error?.issues ?? []).toEqual([]);
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
});
