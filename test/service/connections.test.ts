/** Slow, greedy and rude clients, over real sockets. What takes time is short here, and awaited by its event. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ConnectionLimits } from '../../src/service/connections.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import type { RawClient } from './raw-client.ts';
import { openRaw } from './raw-client.ts';
import type { TestService } from './running-service.ts';
import { basic, CLIENT, NOW_MS, openService, VESSEL } from './running-service.ts';

const ROLL = `/test/metadata/flat/${VESSEL}/Roll`;
const QUERY = `["flat/${VESSEL}/Roll"]`;
/** Never over within a test. */
const LONG = { headersTimeoutMs: 600_000, bodyTimeoutMs: 600_000, idleTimeoutMs: 600_000 };

const clients: RawClient[] = [];
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy();
});

async function open(s: TestService, localAddress?: string): Promise<RawClient> {
  const client = await openRaw(s.service.baseUrl, localAddress);
  clients.push(client);
  return client;
}

function serve(limits: Partial<ConnectionLimits> = {}): Promise<TestService> {
  return openService({ connectionLimits: { ...LONG, ...limits } });
}

async function post(s: TestService, ...headers: string[]): Promise<string> {
  const lines = [`authorization: Bearer ${await s.token()}`, 'content-type: application/json', ...headers];
  return `POST /test/metadata/query HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\n\r\n`;
}

async function get(s: TestService, path = ROLL): Promise<string> {
  return `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${await s.token()}\r\n\r\n`;
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => Number(match[1]));
const ERROR_BODY = /\r\n\r\n\{"error":"[^"]+"\}$/;

describe('a slow client', () => {
  test.for([
    ['says nothing', ''],
    ['stops in its headers', 'GET / HTTP/1.1\r\nhost: x\r\nx-part: '],
  ])('that %s is told and let go', async ([, text]) => {
    await using s = await serve({ headersTimeoutMs: 100 });
    const client = await open(s);
    client.send(text!);
    const answer = await client.ended;
    expect(statuses(answer)).toEqual([408]);
    expect(answer).toMatch(ERROR_BODY);
  });

  test('that stops in its body is told and let go, and so is one whose chunks never end', async () => {
    await using s = await serve({ bodyTimeoutMs: 100 });
    const [half, chunked] = [await open(s), await open(s)];
    half.send(`${await post(s, 'content-length: 1000')}[`);
    chunked.send(`${await post(s, 'transfer-encoding: chunked')}1\r\n[\r\n`);
    for (const client of [half, chunked]) {
      const answer = await client.ended;
      expect(statuses(answer)).toEqual([408]);
      expect(answer).toContain('the body was not there within 0.1 s');
    }
  });

  test('that is idle after an answer is let go', async () => {
    await using s = await serve({ idleTimeoutMs: 100 });
    const client = await open(s);
    client.send(await get(s));
    expect(statuses(await client.ended)).toEqual([200]);
  });

  test('that takes its answer in at a byte a minute is ended; one that pauses for a while is not', async () => {
    const clock = createManualClock(NOW_MS);
    await using s = await openService({
      clock,
      connectionLimits: LONG,
      tokenTtlSeconds: 86_400,
      data: { seed: 7, vessels: 1, readingsPerDay: 400_000 },
    });
    const path = `/test/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-06&format=ndjson`;
    const request = (await get(s, path)).replace('host: x', 'host: x\r\nconnection: close');
    const [stalled, pausing] = [await open(s), await open(s)];
    for (const client of [stalled, pausing]) {
      client.send(request);
      await client.until(/HTTP\/1\.1 200 /);
      client.socket.pause();
    }
    const [ofStalled] = s.service.requests.filter(({ family }) => family === 'measurements');
    // Half a minute passes, then one takes a byte, and the other some megabytes.
    while (ofStalled!.status === undefined) {
      await clock.advance(30_000);
      stalled.socket.read(1);
      await takeSome(pausing.socket, 4_000_000);
    }
    pausing.socket.resume();
    expect(await pausing.ended).toMatch(/\r\n0\r\n\r\n$/);
    stalled.socket.resume();
    expect(await stalled.ended).not.toMatch(/\r\n0\r\n\r\n$/);
  });
});

/** Read so much, or to the end, and pause again. */
async function takeSome(socket: Socket, sizeBytes: number): Promise<void> {
  if (socket.destroyed) return;
  const untilBytes = socket.bytesRead + sizeBytes;
  socket.resume();
  await new Promise<void>((resolve) => {
    socket.once('close', resolve).on('data', () => socket.bytesRead >= untilBytes && resolve());
  });
  socket.pause();
}

describe('bodies', () => {
  test('are not asked for before it is known whose they are', async () => {
    await using s = await serve();
    const paths = ['/auth/oauth2/token', '/test/metadata/query', '/test/nowhere'];
    const found = [];
    for (const path of paths) {
      const client = await open(s);
      const headers =
        'content-type: application/json\r\ncontent-length: 900000\r\nexpect: 100-continue\r\nauthorization: Basic eDp5';
      client.send(`POST ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`);
      const answer = await client.ended;
      expect(answer).toMatch(ERROR_BODY);
      found.push(statuses(answer));
    }
    expect(found).toEqual([[401], [401], [404]]);
  });

  test('are asked for with 100 Continue once it is known', async () => {
    await using s = await serve();
    const client = await open(s);
    client.send(await post(s, 'expect: 100-continue', `content-length: ${QUERY.length}`));
    await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.send(QUERY);
    await client.until(/"timeSeriesId"/);
    expect(statuses(client.received)).toEqual([100, 200]);
  });

  test('another expectation is refused', async () => {
    await using s = await serve();
    const client = await open(s);
    client.send(await post(s, 'expect: miracles', 'content-length: 10'));
    const answer = await client.ended;
    expect(statuses(answer)).toEqual([417]);
    expect(answer).toMatch(ERROR_BODY);
  });

  test('that are too large are refused before or while they come, the token endpoint’s beyond 4 KiB', async () => {
    await using s = await serve();
    const declared = await open(s);
    declared.send(await post(s, 'content-length: 2000000'));
    expect(statuses(await declared.ended)).toEqual([413]);
    const endless = await open(s);
    endless.send(await post(s, 'transfer-encoding: chunked'));
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let i = 0; i < 20; i++) endless.send(chunk);
    expect(statuses(await endless.ended)).toEqual([413]);
    const answer = await fetch(`${s.service.authUrl}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: basic(CLIENT.clientId, CLIENT.clientSecret) },
      body: new URLSearchParams({ grant_type: 'client_credentials', x: 'x'.repeat(5_000) }),
    });
    expect(answer.status).toBe(413);
  });

  test('share a bounded memory: what does not fit is refused, and fits once others have ended', async () => {
    await using s = await serve({ maxBodyBytesInMemory: 1_200_000 });
    const [half, other] = [await open(s), await open(s)];
    half.send(`${await post(s, 'content-length: 1000000')}["${'x'.repeat(900_000)}`);
    const large = await post(s, 'content-length: 600002');
    const body = `["${'y'.repeat(599_998)}"]`.slice(0, 600_002);
    // Until the first has taken its part of the memory.
    let refused: number[] = [];
    for (let client = other; refused[0] !== 503; client = await open(s)) {
      client.send(large + body);
      await client.until(/HTTP\/1\.1 \d/);
      refused = statuses(client.received);
    }
    half.socket.destroy();
    await expect
      .poll(async () => {
        const again = await open(s);
        again.send(large + body);
        await again.until(/HTTP\/1\.1 \d/);
        return statuses(again.received);
      })
      .toEqual([400]);
  });

  test('in single bytes are read like any other', async () => {
    await using s = await serve();
    const client = await open(s);
    client.send(await post(s, 'transfer-encoding: chunked'));
    for (const char of QUERY) client.send(`1\r\n${char}\r\n`);
    client.send('0\r\n\r\n');
    await client.until(/"timeSeriesId"/);
  });
});

describe('connections', () => {
  test('are limited by address, with a clear refusal; another address gets in, and so does the next', async () => {
    await using s = await serve({ maxConnectionsPerAddress: 5 });
    const held = [];
    for (let i = 0; i < 5; i++) held.push(await open(s));
    const answer = await (await open(s)).ended;
    expect(statuses(answer)).toEqual([429]);
    expect(answer).toMatch(/retry-after: 5\r\n/);
    expect(answer).toMatch(ERROR_BODY);
    const other = await open(s, '127.0.0.2');
    other.send('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n');
    await other.until(/HTTP\/1\.1 200 /);
    held[0]!.socket.destroy();
    await expect.poll(async () => statuses(await tryOnce(s))).toEqual([200]);
  });

  test('are limited in all', async () => {
    await using s = await serve({ maxConnections: 3 });
    for (let i = 1; i <= 3; i++) await open(s, `127.0.0.${i}`);
    const answer = await (await open(s, '127.0.0.9')).ended;
    expect(statuses(answer)).toEqual([503]);
    expect(answer).toMatch(ERROR_BODY);
  });

  test('hundreds that are refused leave the others alone', async () => {
    await using s = await serve({ maxConnectionsPerAddress: 5 });
    const held = await open(s);
    for (let i = 0; i < 300; i++) await open(s);
    held.send('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n');
    await held.until(/HTTP\/1\.1 200 /);
  });
});

describe('requests', () => {
  test('that do not wait for answers are answered one by one, in order', async () => {
    await using s = await serve();
    const client = await open(s);
    const paths = Array.from({ length: 20 }, (_, i) => `/test/nowhere/${i}`);
    client.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''));
    await client.until(/nowhere\/19"/);
    expect([...client.received.matchAll(/GET (\S+)"/g)].map((match) => match[1])).toEqual(paths);
  });

  test('by the thousand without an answer end their connection, and nobody else’s', async () => {
    await using s = await serve();
    const client = await open(s);
    client.send((await get(s)).repeat(5_000));
    await client.ended;
    expect(statuses(client.received).length).toBeLessThan(5_000);
    expect((await s.get(`/metadata/flat/${VESSEL}/Roll`)).status).toBe(200);
  });

  test('that wait behind a large answer hold no place among those at once, and leave none behind', async () => {
    await using s = await openService({
      maxConcurrency: 1,
      connectionLimits: LONG,
      data: { seed: 7, vessels: 1, readingsPerDay: 400_000 },
    });
    const client = await open(s);
    const large = await get(s, `/test/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-07`);
    client.send(large + (await get(s)).repeat(3));
    await client.until(/HTTP\/1\.1 200 /);
    client.socket.destroy();
    await expect.poll(async () => (await s.get(`/metadata/flat/${VESSEL}/Roll`)).status).toBe(200);
  });

  test.for([
    [
      'two lengths of a body',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
    ['two unequal lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n'],
    ['a length that is none', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n'],
    ['chunks that are none', 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    ['another version of HTTP', 'GET / HTTP/3.7\r\nhost: x\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a header without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}`],
    ['a proxy’s method', 'CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n'],
  ])('with %s are refused, and their connection ends', async ([, text]) => {
    await using s = await serve();
    const client = await open(s);
    client.send(text!);
    if (/^GET \S+ HTTP\/1\.1\r\n\r\n/.test(text!)) client.socket.end();
    const answer = await client.ended;
    const [status, ...more] = statuses(answer);
    expect([400, 404, 405, 431]).toContain(status);
    expect(more).toEqual([]);
    expect(answer).toMatch(ERROR_BODY);
  });

  test('that would be upgraded are answered as they are', async () => {
    await using s = await serve();
    for (const protocol of ['websocket', 'h2c']) {
      const client = await open(s);
      const asked = (await get(s)).replace(
        'host: x',
        `host: x\r\nconnection: upgrade\r\nupgrade: ${protocol}`,
      );
      client.send(asked);
      await client.until(/"timeSeriesId"/);
      expect(statuses(client.received)).toEqual([200]);
    }
  });

  test('with a body that nobody wants are answered, and their connection ends', async () => {
    await using s = await serve();
    const client = await open(s);
    const asked = (await get(s)).replace('host: x', 'host: x\r\ncontent-length: 100000');
    client.send(asked);
    await client.until(/"timeSeriesId"/);
    expect(statuses(await client.ended)).toEqual([200]);
  });
});

/** One request on a connection of its own, and all that came. */
async function tryOnce(s: TestService): Promise<string> {
  const client = await openRaw(s.service.baseUrl);
  clients.push(client);
  client.send('GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  if (!client.socket.closed) await Promise.race([client.ended, once(client.socket, 'end')]);
  return client.ended;
}
