/** Requests that are written in odd ways, and what every answer carries whatever was asked. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { originForm } from '../../src/service/http/http-server.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';

const ROLL = `/test/metadata/flat/${VESSEL}/Roll`;

let s: TestService;
beforeAll(async () => {
  s = await openService();
});
afterAll(() => s[Symbol.asyncDispose]());

interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends a request line with a token, as it is. */
async function ask(requestLine: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(s.service.baseUrl);
  const socket = connect(Number(port), hostname);
  const authorization = `Bearer ${await s.token()}`;
  socket.write(
    `${requestLine}\r\nhost: service\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`,
    'latin1',
  );
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  const [head = '', ...body] = answer.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(statusLine.split(' ')[1]), headers: new Map(headers), body: body.join('\r\n\r\n') };
}

function expectSafe(headers: { get(name: string): string | null | undefined }): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('cache-control')).toBe('no-store');
}

describe('the target of a request', () => {
  test.each([`http://service${ROLL}`, `HTTPS://a@service:1${ROLL}`, `http://[::1]:80${ROLL}?format=json`])(
    'may be absolute: %s',
    async (target) => {
      const { status, body } = await ask(`GET ${target} HTTP/1.1`);
      expect(status).toBe(200);
      expect(body).toContain(`"${VESSEL}/Roll":{`);
    },
  );

  test('keeps its levels and parameters when it is absolute', async () => {
    const slash = await ask(
      `GET http://service/test/metadata/flat/${VESSEL}/Fuel%2FDistance%20Ratio HTTP/1.1`,
    );
    expect(slash.status).toBe(200);
    const climbing = await ask('GET http://service/test/metadata/../../openapi.json HTTP/1.1');
    expect([climbing.status, climbing.body]).toEqual([404, expect.stringContaining("no domain '..'")]);
    const refused = await ask(`GET http://service${ROLL}?format=xml HTTP/1.1`);
    expect(refused.status).toBe(406);
  });

  test('loses scheme and host, and nothing else', () => {
    expect(originForm('http://a/b%2Fc/../d?e=http://f')).toBe('/b%2Fc/../d?e=http://f');
    expect(originForm('http://a?b')).toBe('/?b');
    expect(originForm('http://a')).toBe('/');
    for (const other of [
      ...'/http://a/b * //a/b http:///b http://[::1/b http://a:99999/b ftp://a/b'.split(' '),
    ])
      expect(originForm(other)).toBe(other);
  });

  test.each([
    'GET http://service HTTP/1.1',
    'GET http:///test HTTP/1.1',
    `GET http://[::1${ROLL} HTTP/1.1`,
    `GET ftp://service${ROLL} HTTP/1.1`,
    'OPTIONS * HTTP/1.1',
    'GET * HTTP/1.1',
    'GET // HTTP/1.1',
    `GET /${ROLL} HTTP/1.1`,
    'GET /..;/ HTTP/1.1',
    'GET /test/..;/metadata/flat/x/y HTTP/1.1',
    'GET /%2e%2e/ HTTP/1.1',
    'GET /test/metadata/%2e%2e/%2e%2e/x HTTP/1.1',
    'GET /test/metadata/flat//x HTTP/1.1',
    'GET /% HTTP/1.1',
    'GET /test/metadata/% HTTP/1.1',
    'GET /test/metadata/\\..\\ HTTP/1.1',
    'GET ? HTTP/1.1',
    'GET test HTTP/1.1',
    'GET /test/metadata/flat/\xe9/x HTTP/1.1',
    'GET /test/metadata/../../../etc/passwd HTTP/1.1',
    'GET /test/metadata/flat/..%2F..%2F..%2Fetc%2Fpasswd/x HTTP/1.1',
    "GET /test/metadata/flat/IMO9321483/x'%20OR%201=1-- HTTP/1.1",
    "GET /test/metadata/id/'%20OR%20'1'='1 HTTP/1.1",
    'GET /test/metadata/flat/%00/%00 HTTP/1.1',
    'GET /test/metadata/flat/%ff/x HTTP/1.1',
    'GET /test/metadata/vis-3-8a/%2e%2e/%2e%2e HTTP/1.1',
    'GET /test/metadata/__proto__/x HTTP/1.1',
    'GET /test/metadata/constructor/x HTTP/1.1',
    `GET /test/metadata/flat/${'*'.repeat(3000)}x/y HTTP/1.1`,
    `GET /test/metadata/flat/${VESSEL}/${'*a'.repeat(500)}*b HTTP/1.1`,
    `GET /test/metadata/parameters/${'%7Ba,b%7D'.repeat(40)}/x HTTP/1.1`,
    `GET ${ROLL} HTTP/3.0`,
    `NONSENSE ${ROLL} HTTP/1.1`,
    ...['TRACE', 'PUT', 'DELETE', 'PATCH'].map((method) => `${method} ${ROLL} HTTP/1.1`),
    'nonsense',
    'PRI * HTTP/2.0',
  ])('is refused with the error body and safe headers: %s', async (requestLine) => {
    const { status, headers, body } = await ask(requestLine);
    expect([400, 404]).toContain(status);
    expect(Object.keys(JSON.parse(body) as object)).toEqual(['error']);
    expect(body).not.toContain('root:');
    expectSafe(headers);
  });
});

test('html escapes what it shows', async () => {
  const query = 'from=2026-01-05&to=2026-01-06&window=1d&aggregations=first_val&format=html';
  const text = await s.text(`/statistics/flat/${VESSEL}/Alarm%20State?${query}`);
  expect(text).toContain('&quot;active&quot;');
});

describe('every answer tells browsers to be careful', () => {
  const DAY = 'from=2026-01-05&to=2026-01-06&window=1d';
  test.each([
    [200, `/metadata/flat/${VESSEL}/Roll`],
    [200, `/measurements/flat/${VESSEL}/Roll?format=ndjson`],
    [200, `/measurements/flat/${VESSEL}/Roll?format=parquet`],
    [200, `/statistics/flat/${VESSEL}/Roll?${DAY}&format=csv`],
    [200, `/statistics/flat/${VESSEL}/Roll?${DAY}&format=html`],
    [400, `/measurements/flat/${VESSEL}/Roll?from=x`],
    [404, '/metadata/flat/x/y'],
    [406, `/measurements/flat/${VESSEL}/Roll?format=html`],
  ])('with %i for %s', async (status, path) => {
    const response = await s.get(path);
    expect(response.status).toBe(status);
    expectSafe(response.headers);
    await response.arrayBuffer();
  });

  test('without a token, with a token, and with the document', async () => {
    const refused = await fetch(`${s.service.baseUrl}/metadata/flat/x/y`);
    expect(refused.status).toBe(401);
    const token = await fetch(`${s.service.authUrl}/oauth2/token`, { method: 'POST' });
    expect(token.status).toBe(401);
    const document = await fetch(new URL('/openapi.json', s.service.baseUrl));
    expect(document.status).toBe(200);
    for (const response of [refused, token, document]) {
      expectSafe(response.headers);
      await response.arrayBuffer();
    }
  });
});
