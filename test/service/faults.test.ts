import { afterEach, describe, expect, test } from 'vitest';
import type { Fault, FaultyRequest } from '../helpers/faulty-service/faults.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';

const NEW = { 'x-api-version': '2026-09-10' };
const DAY = 'from=2026-01-05&to=2026-01-06';
const PATH = `/measurements/flat/${VESSEL}/*?${DAY}&format=ndjson`;
const COUNTS = `/statistics/flat/${VESSEL}/*?${DAY}&window=1d&aggregations=count`;
const FROM = Date.UTC(2026, 0, 5) * 1000;

describe('faults', () => {
  let s: TestService;
  let fault: Fault | undefined;
  const seen: FaultyRequest[] = [];
  const open = async (first: Fault | undefined) => {
    fault = undefined;
    seen.length = 0;
    s = await openService({
      faults: (request) => {
        seen.push(request);
        return fault;
      },
    });
    await s.text(`/metadata/flat/${VESSEL}/Roll`);
    fault = first;
  };
  afterEach(() => s[Symbol.asyncDispose]());

  test('a status with Retry-After', async () => {
    await open({ kind: 'status', status: 503, retryAfter: '7' });
    const response = await s.get(PATH);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7']);
    expect(await response.json()).toHaveProperty('error');
    expect(seen.at(-1)).toMatchObject({
      family: 'measurements',
      method: 'GET',
      n: 1,
      range: { fromMicros: FROM },
    });
  });

  test.each([0, 1, 1000, 100_000])('a body cut after %i bytes breaks off', async (afterBytes) => {
    await open({ kind: 'cut', afterBytes });
    let received = 0;
    await expect(
      (async () => {
        const response = await s.get(PATH);
        for await (const chunk of response.body!) received += chunk.length;
      })(),
    ).rejects.toThrow();
    expect(received).toBeLessThanOrEqual(afterBytes);
  });

  test('a body may end short and look whole', async () => {
    await open({ kind: 'cut', afterBytes: 1000, clean: true });
    expect(await s.text(PATH)).toHaveLength(1000);
  });

  test('headers or bodies stall until the client gives up', async () => {
    await open({ kind: 'stall', at: 'headers' });
    const gaveUp = new AbortController();
    const authorization = `Bearer ${await s.token()}`;
    const waiting = fetch(s.service.baseUrl + PATH, { headers: { authorization }, signal: gaveUp.signal });
    let settled = false;
    waiting.then(
      () => (settled = true),
      () => (settled = true),
    );
    while (seen.at(-1)?.family !== 'measurements') await new Promise(setImmediate);
    fault = undefined;
    // A whole other request is answered meanwhile.
    await s.text(`/metadata/flat/${VESSEL}/Roll`);
    expect(settled).toBe(false);
    gaveUp.abort();
    await expect(waiting).rejects.toThrow();
    fault = { kind: 'stall', at: 'body', afterBytes: 500 };
    const response = await s.get(PATH);
    const reader = response.body!.getReader();
    expect((await reader.read()).value).toHaveLength(500);
    await reader.cancel();
  });

  test('long ranges are refused, short ones are not', async () => {
    await open({ kind: 'refuse-long-ranges', overSeconds: 3600, status: 413 });
    expect((await s.get(PATH)).status).toBe(413);
    expect((await s.get(`/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-05T01:00`)).status).toBe(
      200,
    );
  });

  test('rows are dropped and added in measurements, not in statistics', async () => {
    await open(undefined);
    const whole = (await s.text(PATH)).split('\n');
    const counts = await s.text(COUNTS);
    const id = ((await s.json(`/metadata/flat/${VESSEL}/Roll`, NEW)) as { timeSeriesId: string }[])[0]!
      .timeSeriesId;
    fault = { kind: 'drop-rows', timeSeriesId: id };
    const without = (await s.text(PATH)).split('\n');
    expect(without).toEqual(whole.filter((line) => !line.includes('/Roll"')));
    expect(await s.text(COUNTS)).toBe(counts);
    fault = { kind: 'drop-rows', every: 100 };
    const sparse = (await s.text(PATH)).split('\n');
    expect(sparse.length).toBeLessThan(whole.length);
    expect(sparse.length).toBeGreaterThan(whole.length * 0.9);
    fault = { kind: 'add-rows', rows: [{ timeSeriesId: id, timestampMicros: FROM + 1, valueText: '42' }] };
    expect(await s.text(PATH)).toContain('"timestamp":"2026-01-05T00:00:00.000001Z","value":42}');
    expect(await s.text(COUNTS)).toBe(counts);
    fault = undefined;
    expect((await s.text(PATH)).split('\n')).toEqual(whole);
  });

  test('statistics are empty, late or lying', async () => {
    await open(undefined);
    const truth = (await s.json(COUNTS, NEW)) as { aggregations: { count: number } }[];
    fault = { kind: 'statistics-empty' };
    expect(await s.text(COUNTS, NEW)).toBe('[]');
    fault = { kind: 'statistics-lag', toMicros: FROM + 3_600_000_000 };
    const late = (await s.json(COUNTS, NEW)) as { aggregations: { count: number } }[];
    const total = (rows: typeof late) => rows.reduce((sum, row) => sum + row.aggregations.count, 0);
    expect(total(late)).toBeLessThan(total(truth) / 10);
    fault = { kind: 'statistics-counts', scale: 2, offset: 1 };
    const lies = (await s.json(COUNTS, NEW)) as typeof truth;
    expect(lies.map(({ aggregations }) => aggregations.count)).toEqual(
      truth.map(({ aggregations }) => aggregations.count * 2 + 1),
    );
  });

  test('tokens are revoked, and new ones work', async () => {
    await open({ kind: 'revoke-tokens' });
    expect((await s.get(PATH)).status).toBe(401);
    fault = undefined;
    expect((await s.get(PATH)).status).toBe(401);
    const authorization = `Bearer ${await s.token()}`;
    expect((await s.get(PATH, { authorization })).status).toBe(200);
    s.service.revokeTokens();
    expect((await s.get(PATH, { authorization })).status).toBe(401);
  });

  test('another version, a redirect, garbage', async () => {
    await open({ kind: 'api-version', value: '1999-01-01' });
    expect((await s.get(PATH)).headers.get('api-version')).toBe('1999-01-01');
    fault = { kind: 'api-version', value: undefined };
    expect((await s.get(PATH)).headers.get('api-version')).toBeNull();
    fault = { kind: 'redirect', location: 'http://127.0.0.1:1/elsewhere' };
    const moved = await s.get(PATH);
    expect([moved.status, moved.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/elsewhere']);
    fault = { kind: 'garbage', body: '<html>not json' };
    expect(await s.text(PATH)).toBe('<html>not json');
  });

  test('the token endpoint has faults too', async () => {
    await open({ kind: 'status', status: 500 });
    await expect(s.token()).rejects.toThrow('500');
    expect(seen.at(-1)).toMatchObject({ family: 'token', method: 'POST', range: undefined });
    fault = { kind: 'garbage', body: '{}' };
    expect(await s.token()).toBeUndefined();
  });
});
