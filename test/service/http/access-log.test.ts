import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/core/model/index.ts';
import { basic, CLIENT, openService, VESSEL } from '../running-service.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

function newLog() {
  const lines: Record<string, unknown>[] = [];
  const log = { ...silentLog, info: (fields: object, msg: string) => void lines.push({ msg, ...fields }) };
  /** The lines so far, once there are as many. */
  const until = async (count: number) => {
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(count);
    return lines;
  };
  return { log, until };
}

test('a line an answer says who asked for what, and how it ended', async () => {
  const { log, until } = newLog();
  await using s = await openService({ accessLog: log });
  const answer = await s.get(`/metadata/flat/${VESSEL}/Roll?format=json`, { 'x-request-id': 'run-7.3' });
  const body = await answer.text();
  expect(answer.headers.get('x-request-id')).toBe('run-7.3');
  const refused = await fetch(`${s.service.baseUrl}/nowhere`, { method: 'POST', body: 'x' });
  await refused.text();
  const lines = await until(3);
  expect(lines).toEqual([
    {
      ...{ msg: 'request', address: '127.0.0.1', clientId: CLIENT.clientId, method: 'POST' },
      ...{ path: '/auth/oauth2/token', status: 200, bytes: expect.any(Number), durationMs: 0 },
      requestId: expect.stringMatching(UUID),
    },
    {
      ...{ msg: 'request', address: '127.0.0.1', clientId: CLIENT.clientId, method: 'GET' },
      ...{ path: `/test/metadata/flat/${VESSEL}/Roll`, status: 200, durationMs: 0, requestId: 'run-7.3' },
      bytes: expect.any(Number),
    },
    {
      ...{ msg: 'request', address: '127.0.0.1', clientId: undefined, method: 'POST', path: '/test/nowhere' },
      ...{ status: 404, bytes: expect.any(Number), durationMs: 0 },
      requestId: refused.headers.get('x-request-id'),
    },
  ]);
  const sent = Number(lines[1]!.bytes);
  expect(sent).toBeGreaterThan(body.length);
  expect(sent).toBeLessThan(body.length + 1_000);
});

test('neither tokens nor secrets, nor what a client makes of its paths and ids, reach the log', async () => {
  const { log, until } = newLog();
  await using s = await openService({ accessLog: log });
  const token = await s.token();
  const authorization = `Bearer ${token}`;
  const secret = encodeURIComponent(CLIENT.clientSecret);
  const ids = [token, CLIENT.clientSecret, 'a\tb; rm -rf /', 'x'.repeat(5_000), ';;;'];
  const answered = [];
  for (const id of ids)
    answered.push(
      (await s.get('/metadata', { authorization, 'x-request-id': id })).headers.get('x-request-id'),
    );
  await s.get(`/metadata/id/${token}?access_token=${token}&key=${secret}`, { authorization });
  await s.get(`/metadata/flat/${secret}/%1b[31m`, { authorization });
  await s.get(`/metadata/flat/x/${'y'.repeat(5_000)}`, { authorization });
  await fetch(`${s.service.authUrl}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: basic('x', 'a wrong one') },
  });
  expect(answered).toEqual([
    expect.stringMatching(UUID),
    expect.stringMatching(UUID),
    'abrm-rf',
    'x'.repeat(64),
    expect.stringMatching(UUID),
  ]);
  const lines = await until(10);
  expect(lines.map(({ path }) => path)).toEqual([
    '/auth/oauth2/token',
    ...ids.map(() => '/test/metadata'),
    '/test/metadata/id/***',
    '***',
    expect.stringMatching(/^\/test\/metadata\/flat\/x\/y{150,200}…$/),
    '/auth/oauth2/token',
  ]);
  const text = JSON.stringify(lines);
  for (const part of [
    token,
    token.split('.')[2]!,
    CLIENT.clientSecret,
    secret,
    'access_token',
    'a wrong one',
  ])
    expect(text).not.toContain(part);
});

test('an answer that breaks off says so, and how much was handed on', async () => {
  const { log, until } = newLog();
  await using s = await openService({
    accessLog: log,
    data: { seed: 7, vessels: 1, readingsPerDay: 400_000 },
  });
  const answer = await s.get(`/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-06&format=ndjson`);
  await answer.body!.getReader().read();
  await answer.body!.cancel().catch(() => {});
  await s.service.close();
  const line = (await until(2))[1]!;
  expect(line).toMatchObject({ method: 'GET', status: 200, brokenOff: true });
  expect(line.bytes).toBeGreaterThan(10_000);
});

test('what is no request has a line too', async () => {
  const { log, until } = newLog();
  await using s = await openService({ accessLog: log });
  const { hostname, port } = new URL(s.service.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.end('nonsense\r\n\r\n');
  for await (const _ of socket);
  expect(await until(1)).toEqual([
    { msg: 'refused', address: '127.0.0.1', status: 400, bytes: expect.any(Number) },
  ]);
});
