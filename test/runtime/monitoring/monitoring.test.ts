import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { silentLog } from '../../../src/core/model/index.ts';
import type { OperationsOptions, OperationsServer } from '../../../src/runtime/monitoring/http-server.ts';
import { startOperationsServer } from '../../../src/runtime/monitoring/http-server.ts';
import { createMetrics, type MetricSources, type Metrics } from '../../../src/runtime/monitoring/metrics.ts';
import { startHttpServer } from '../../helpers/http-server.ts';

const SOURCES: MetricSources = {
  concurrencyLimit: () => 3,
  depth: async () => ({ waiting: 12, failed: 1 }),
  active: () => 2,
  oldestVesselDayMs: () => 61_500,
  oldestRequestMs: () => 250,
  takesWrites: async () => true,
  isHeld: async () => false,
};

const servers: OperationsServer[] = [];
afterAll(async () => {
  for (const server of servers) await server.close();
});

async function serve(options: Partial<OperationsOptions> = {}): Promise<OperationsServer> {
  const server = await startOperationsServer({
    host: '127.0.0.1',
    port: 0,
    log: silentLog,
    metrics: createMetrics(SOURCES),
    unready: async () => undefined,
    ...options,
  });
  servers.push(server);
  return server;
}

/** Samples of the exposition text: name with labels → value. */
async function samplesOf(metrics: Metrics): Promise<Map<string, number>> {
  const { text } = await metrics.read();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

test('metrics count vessel-days, rows, requests, refusals and times', async () => {
  const metrics = createMetrics(SOURCES);
  metrics.onEvent({
    kind: 'day-outcome',
    job: 'measurements',
    outcome: 'published',
    rows: 1_200,
    seconds: 4,
  });
  metrics.onEvent({ kind: 'day-outcome', job: 'measurements', outcome: 'published', rows: 300, seconds: 2 });
  metrics.onEvent({ kind: 'day-outcome', job: 'measurements', outcome: 'failed' });
  metrics.onEvent({ kind: 'request', status: 200, ms: 250 });
  metrics.onEvent({ kind: 'request', status: 429, ms: 5 });
  metrics.onEvent({ kind: 'request', ms: 1_000 });
  metrics.onEvent({ kind: 'encoded', seconds: 0.2 });
  metrics.onEvent({ kind: 'uploaded', seconds: 0.4, sizeBytes: 5_000_000 });
  metrics.onEvent({ kind: 'missing', job: 'measurements', missing: 7, oldest: '2026-01-05' });
  metrics.onEvent({ kind: 'missing', job: 'metadata', missing: 0, oldest: undefined });
  metrics.onEvent({ kind: 'discovered', job: 'measurements', troubles: [{}, {}] });
  metrics.onEvent({ kind: 'failed', job: 'measurements', failed: 3, refused: 1 });
  metrics.onEvent({ kind: 'looked-back', job: 'measurements', found: { changed: 2, refused: 1 } });
  metrics.onEvent({ kind: 'looked-back', job: 'measurements', found: { changed: 0, refused: 1 } });
  const samples = await samplesOf(metrics);
  expect(Object.fromEntries(samples)).toMatchObject({
    'vessel_export_vessel_days_total{job="measurements",outcome="published"}': 2,
    'vessel_export_vessel_days_total{job="measurements",outcome="failed"}': 1,
    'vessel_export_rows_total{job="measurements"}': 1_500,
    vessel_export_vessel_day_seconds_sum: 6,
    'vessel_export_requests_total{status="200"}': 1,
    'vessel_export_requests_total{status="429"}': 1,
    'vessel_export_requests_total{status="0"}': 1,
    vessel_export_rate_limited_total: 1,
    vessel_export_request_seconds_count: 3,
    vessel_export_encode_seconds_sum: 0.2,
    vessel_export_upload_seconds_sum: 0.4,
    vessel_export_uploaded_bytes_total: 5_000_000,
    'vessel_export_missing_vessel_days{job="measurements"}': 7,
    'vessel_export_oldest_missing_timestamp_seconds{job="measurements"}': 1_767_571_200,
    'vessel_export_oldest_missing_timestamp_seconds{job="metadata"}': 0,
    'vessel_export_unsettled_vessels{job="measurements"}': 2,
    'vessel_export_failed_vessel_days{job="measurements"}': 3,
    'vessel_export_refused_vessel_days{job="measurements"}': 1,
    'vessel_export_look_back_vessel_days{job="measurements",state="changed"}': 0,
    'vessel_export_look_back_vessel_days{job="measurements",state="refused"}': 1,
    'vessel_export_look_back_timestamp_seconds{job="measurements"}': expect.any(Number),
    vessel_export_cap: 3,
    vessel_export_active_vessel_days: 2,
    vessel_export_oldest_vessel_day_seconds: 61.5,
    vessel_export_oldest_request_seconds: 0.25,
    vessel_export_on_hold: 0,
    'vessel_export_queue_vessel_days{state="waiting"}': 12,
    'vessel_export_queue_vessel_days{state="failed"}': 1,
  });
});

test('what cannot be looked up has no sample, and none of before', async () => {
  let isThere = true;
  const metrics = createMetrics({
    ...SOURCES,
    depth: async () => (isThere ? { waiting: 12 } : {}),
    isHeld: async () => (isThere ? true : undefined),
  });
  const [waiting, held] = [
    'vessel_export_queue_vessel_days{state="waiting"}',
    'vessel_export_on_hold',
  ] as const;
  const seen = async () => {
    const samples = await samplesOf(metrics);
    return [samples.get(waiting), samples.get(held)];
  };
  expect(await seen()).toEqual([12, 1]);
  isThere = false;
  expect(await seen()).toEqual([undefined, undefined]);
  isThere = true;
  expect(await seen()).toEqual([12, 1]);
});

test('who plans says so, and what is missing; who stands by leaves that to the other', async () => {
  const metrics = createMetrics(SOURCES);
  expect([...(await samplesOf(metrics)).keys()]).not.toContain('vessel_export_scheduler_leader');
  metrics.onEvent({ kind: 'lead', leads: true });
  metrics.onEvent({ kind: 'missing', job: 'measurements', missing: 7, oldest: '2026-01-05' });
  metrics.onEvent({ kind: 'job-planned', job: 'measurements' });
  metrics.onEvent({ kind: 'discovered', job: 'measurements', troubles: [{}] });
  metrics.onEvent({ kind: 'warned', job: 'measurements', open: [{}] });
  metrics.onEvent({ kind: 'planning-failed' });
  const leading = {
    'vessel_export_missing_vessel_days{job="measurements"}': 7,
    'vessel_export_oldest_missing_timestamp_seconds{job="measurements"}': 1_767_571_200,
    'vessel_export_planned_timestamp_seconds{job="measurements"}': expect.any(Number),
    vessel_export_planning_failures_total: 1,
    vessel_export_scheduler_leader: 1,
  };
  expect(Object.fromEntries(await samplesOf(metrics))).toMatchObject(leading);
  // Redis cannot say who leads: the figures stay, the lead is not claimed.
  metrics.onEvent({ kind: 'lead', leads: undefined });
  const unknown = { ...leading, vessel_export_scheduler_leader: 0 };
  expect(Object.fromEntries(await samplesOf(metrics))).toMatchObject(unknown);
  metrics.onEvent({ kind: 'lead', leads: false });
  const names = [...(await samplesOf(metrics)).keys()].filter((name) => name.includes('measurements'));
  expect(names).toEqual([]);
});

test('health, readiness and metrics answer', async () => {
  let reason: string | undefined;
  const { url } = await serve({ unready: async () => reason });
  expect(await (await fetch(`${url}/health`)).json()).toEqual({
    status: 'ok',
    service: 'vessel-export',
  });
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  reason = 'on hold: credentials-refused';
  const unready = await fetch(`${url}/ready`);
  expect([unready.status, await unready.json()]).toEqual([503, { status: 'not ready', reason }]);
  const metrics = await fetch(`${url}/metrics`);
  expect(metrics.headers.get('content-type')).toContain('text/plain');
  expect(await metrics.text()).toContain('vessel_export_cap 3');
});

test('what cannot be asked makes it unready, not broken, and tells strangers its code alone', async () => {
  const { url } = await serve({
    unready: async () => {
      throw new FatalError('no-permission', 'the key may not s3:PutObject in bucket ours-alone');
    },
  });
  const answer = await fetch(`${url}/ready`);
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: 'not ready', reason: 'no-permission' },
  ]);
});

test('however many ask whether it can work, it is looked once at a time', async () => {
  let looks = 0;
  const looked = Promise.withResolvers<undefined>();
  const unready = () => {
    looks += 1;
    return looked.promise;
  };
  const { url } = await serve({ unready });
  const asked = Array.from({ length: 20 }, () => fetch(`${url}/ready`));
  await expect.poll(() => looks).toBe(1);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  looked.resolve(undefined);
  for (const answer of asked) expect((await answer).status).toBe(200);
  expect(looks).toBeLessThan(20);
});

test('a port that one of ours has is left to it: a free one is taken, and the log says which', async () => {
  const { url } = await serve();
  const wantedPort = Number(new URL(url).port);
  const said: unknown[] = [];
  const log = { ...silentLog, info: (...line: unknown[]) => void said.push(line) };
  const second = await serve({ port: wantedPort, log });
  const port = Number(new URL(second.url).port);
  expect(port).not.toBe(wantedPort);
  expect((await fetch(`${second.url}/health`)).status).toBe(200);
  expect(said).toEqual([[{ wantedPort, port }, expect.stringContaining('another process of vessel-export')]]);
});

test.for([
  ['answers otherwise', 200, '{"status":"ok"}'],
  ['answers no JSON', 404, 'not found'],
  ['sends elsewhere', 302, ''],
] as const)('a port that something has which %s is named, with what to set', async ([, status, body]) => {
  await using other = await startHttpServer((request, answer) => {
    // Followed, it would seem to be ours.
    const isSentOn = request.url === '/ours';
    answer.writeHead(isSentOn ? 200 : status, { location: '/ours' });
    answer.end(isSentOn ? '{"service":"vessel-export"}' : body);
  });
  await expect(serve({ port: other.port })).rejects.toMatchObject({
    code: 'cannot-listen',
    message: expect.stringContaining('HTTP_PORT'),
  });
});

test('the page answers what is left, and without one nothing does', async () => {
  const { url } = await serve();
  expect((await fetch(`${url}/coverage/measurements`)).status).toBe(404);
  const asked: unknown[] = [];
  const page: RequestListener = (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('<page>');
  };
  const shown = await serve({ page });
  for (const path of ['/', '/coverage/a%2Fb?x=1', '/%', '/healthy', '/health/'])
    expect(await (await fetch(`${shown.url}${path}`)).text(), path).toBe('<page>');
  for (const path of ['/health', '/ready?x', '/metrics'])
    expect(await (await fetch(`${shown.url}${path}`)).text(), path).not.toContain('<page>');
  expect(asked).toHaveLength(5);
});

test('a port that is fixed is not left for another', async () => {
  const { url } = await serve();
  await expect(serve({ port: Number(new URL(url).port), isPortFixed: true })).rejects.toMatchObject({
    code: 'cannot-listen',
    message: expect.stringContaining('--port'),
  });
});

describe('who is slow or greedy', () => {
  /** What comes back on a connection that says this and then nothing, to its end. */
  async function say(url: string, text: string, localAddress = '127.0.0.1'): Promise<string> {
    const { hostname: host, port } = new URL(url);
    const socket = connect({ port: Number(port), host, localAddress });
    let got = '';
    socket.setEncoding('utf8').on('data', (more: string) => {
      got += more;
    });
    socket.on('error', () => {});
    socket.write(text);
    await new Promise((closed) => socket.on('close', closed));
    return got;
  }

  test('is ended: headers or a body that do not come, and a connection that nobody uses', async () => {
    // Long enough for a whole request that has to wait for a processor.
    const limits = { headersTimeoutMs: 1_000, bodyTimeoutMs: 400, idleTimeoutMs: 100 };
    const page: RequestListener = (request, response) => {
      request.on('error', () => {});
      request.resume().on('end', () => response.end('<page>'));
    };
    const { url } = await serve({ limits, page });
    const [headers, body, idle] = await Promise.all([
      say(url, 'GET / HTTP/1.1\r\nhost: x\r\n'),
      say(url, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12'),
      say(url, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
    ]);
    expect(headers).toMatch(/^HTTP\/1\.1 408 /);
    expect(body).toMatch(/^HTTP\/1\.1 408 /);
    expect(idle).toMatch(/^HTTP\/1\.1 200 .*<page>/s);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  /** Connections from an address that each say this, once the server has them. */
  async function hold(url: string, count: number, text: string, localAddress = '127.0.0.1') {
    const { hostname: host, port } = new URL(url);
    const open = Array.from({ length: count }, () => connect({ port: Number(port), host, localAddress }));
    await Promise.all(
      open.map(async (socket) => {
        socket.on('error', () => {}).resume();
        await once(socket, 'connect');
        socket.write(text);
      }),
    );
    return { [Symbol.dispose]: () => open.forEach((socket) => void socket.destroy()) };
  }
  const HALF_A_HEAD = 'GET / HTTP/1.1\r\nhost: x\r\nx-part: ';
  const ASK = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  const page: RequestListener = (_request, response) => void response.end('<page>');

  test('takes neither health nor readiness away: not by 520 half-sent heads, not from the same address', async () => {
    const { url } = await serve({ page });
    using _held = await hold(url, 520, HALF_A_HEAD);
    for (const path of ['/health', '/ready', '/metrics'])
      expect((await fetch(url + path)).status, path).toBe(200);
    // The page is for others then.
    const refused = await say(url, ASK);
    expect(refused).toMatch(/^HTTP\/1\.1 429 .*retry-after: 5\r\n/is);
    expect(await say(url, ASK, '127.0.0.2')).toContain('<page>');
  });

  test('from many addresses takes the page, and neither health nor readiness', async () => {
    const { url } = await serve({ page, limits: { maxConnections: 20, maxConnectionsPerAddress: 10 } });
    const flood = [];
    for (let i = 2; i < 60; i++) flood.push(await hold(url, 5, HALF_A_HEAD, `127.0.0.${i}`));
    for (let i = 0; i < 5; i++) expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(await say(url, ASK)).toMatch(/^HTTP\/1\.1 503 .*retry-after: 5\r\n.*connection: close/is);
    for (const one of flood) one[Symbol.dispose]();
    await expect.poll(() => say(url, ASK)).toContain('<page>');
  });

  test('behind a proxy shares nobody’s bound: the proxy has the whole', async () => {
    const limits = { maxConnections: 30, maxConnectionsPerAddress: 3 };
    const { url } = await serve({ page, limits, isProxy: (address) => address === '127.0.0.1' });
    using _proxied = await hold(url, 20, HALF_A_HEAD);
    using _other = await hold(url, 3, HALF_A_HEAD, '127.0.0.2');
    expect(await say(url, ASK)).toContain('<page>');
    expect(await say(url, ASK, '127.0.0.2')).toMatch(/^HTTP\/1\.1 429 /);
  });

  test('and takes nothing of an answer is ended, and gets no headers without end', async () => {
    const ended = Promise.withResolvers<boolean>();
    const large: RequestListener = (_request, response) => {
      response.once('close', () => ended.resolve(response.writableFinished)).end(Buffer.alloc(64 << 20));
    };
    const { url } = await serve({ page: large, limits: { sendWindowMs: 100, minSentBytesPerWindow: 1 } });
    const { hostname, port } = new URL(url);
    const stalled = connect(Number(port), hostname).pause();
    stalled.write(ASK);
    expect(await ended.promise).toBe(false);
    stalled.destroy();
    const huge = `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(64 * 1024)}\r\n\r\n`;
    expect(await say(url, huge)).toMatch(/^HTTP\/1\.1 431 /);
  });
});
