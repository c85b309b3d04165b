import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService, VESSEL } from './running-service.ts';

const NEW = { 'x-api-version': '2026-09-10' };

describe('hostile input', () => {
  let s: TestService;
  beforeAll(async () => {
    s = await openService();
  });
  afterAll(() => s[Symbol.asyncDispose]());

  /** Sends bytes as they are and returns all that comes back. */
  async function raw(text: string): Promise<string> {
    const { hostname, port } = new URL(s.service.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write(text);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  }

  test.each([
    '/metadata/flat/..%2F..%2F..%2Fetc%2Fpasswd/x',
    "/metadata/flat/IMO9321483/x'%20OR%201=1--",
    "/metadata/id/'%20OR%20'1'='1",
    '/metadata/flat/%00/%00',
    '/metadata/flat/%ff/x',
    '/metadata/flat/%zz/x',
    '/metadata/vis-3-8a/%2e%2e/%2e%2e',
    '/metadata/__proto__/x',
    '/metadata/constructor/x',
    `/metadata/flat/${'*'.repeat(3000)}x/y`,
    `/metadata/parameters/${'%7Ba,b%7D'.repeat(40)}/x`,
  ])('is refused with the error body: %s', async (path) => {
    const response = await s.get(path);
    expect([400, 404]).toContain(response.status);
    expect(Object.keys((await response.json()) as object)).toEqual(['error']);
  });

  test('a path that climbs out with dots is answered like any other', async () => {
    const token = await s.token();
    const answer = await raw(
      `GET /test/metadata/../../../etc/passwd HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(answer).toContain('{"error":');
    expect(answer).not.toContain('root:');
  });

  test('what is not HTTP, or has a huge header, gets the error body', async () => {
    expect(await raw('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*\{"error":/);
    expect(await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [\s\S]*\{"error":/,
    );
  });

  test('a huge body is refused with 413', async () => {
    const response = await s.post('/metadata/query', `["${'a'.repeat(1_100_000)}"]`);
    expect(response.status).toBe(413);
    expect(await response.json()).toHaveProperty('error');
  });

  test('too many expressions are refused, thousands of ids are served', async () => {
    expect(
      (
        await s.post(
          '/metadata/query',
          new Array(10_001).fill(0).map((_, i) => `flat/x/${i}`),
        )
      ).status,
    ).toBe(400);
    const found = (await s.json('/metadata/maker/*/*/*', NEW)) as { timeSeriesId: string }[];
    const ids = found.map(({ timeSeriesId }) => timeSeriesId);
    const unknown = Array.from(
      { length: 5000 },
      (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    );
    const response = await s.post(
      '/metadata/query',
      [...unknown, ...ids].map((id) => `id/${id}`),
      NEW,
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveLength(ids.length);
    const inUrl = await s.get(
      `/metadata/id/${[...unknown.slice(0, 1000), ...ids.slice(0, 3)].join(',')}`,
      NEW,
    );
    expect(await inUrl.json()).toHaveLength(3);
  });

  test('a wildcard that invites backtracking is quick', async () => {
    const response = await s.get(`/metadata/flat/${VESSEL}/${'*a'.repeat(500)}*b`);
    expect(response.status).toBe(404);
  });

  test('other methods are not served', async () => {
    const authorization = `Bearer ${await s.token()}`;
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${s.service.baseUrl}/metadata/flat/${VESSEL}/Roll`, {
        method,
        headers: { authorization },
      });
      expect(response.status).toBe(404);
      expect(await response.json()).toHaveProperty('error');
    }
  });

  test('html escapes what it shows', async () => {
    const text = await s.text(
      `/statistics/flat/${VESSEL}/Alarm%20State?from=2026-01-05&to=2026-01-06&window=1d&aggregations=first_val&format=html`,
    );
    expect(text).toContain('&quot;active&quot;');
  });

  test('a reader that stops reading does not make the service grow', async () => {
    await using busy = await openService({ data: { seed: 1, vessels: 1, readingsPerDay: 2_000_000 } });
    const path = `/measurements/flat/${VESSEL}/*?from=2026-01-01&to=2026-01-07&format=ndjson`;
    const stopped = await Promise.all([1, 2, 3, 4].map(() => busy.get(path)));
    const settled = async () => {
      for (let i = 0; i < 200; i++) await new Promise(setImmediate);
      return process.memoryUsage().arrayBuffers;
    };
    const first = await settled();
    // Were the bodies made without waiting, each of these turns would add megabytes.
    const later = await settled();
    expect(later - first).toBeLessThan(64 * 1024 * 1024);
    expect(later).toBeLessThan(400 * 1024 * 1024);
    for (const response of stopped) await response.body!.cancel();
  });
});
