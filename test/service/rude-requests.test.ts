/** Bodies and requests that ask for trouble, over real sockets. */
import { afterEach, describe, expect, test } from 'vitest';
import { ERROR_BODY, endClients, get, LONG, open, post, QUERY, serve, statuses } from './raw-client.ts';
import { basic, CLIENT, openService, VESSEL } from './running-service.ts';

afterEach(endClients);

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
    const most = `${await post(s, 'content-length: 1000000')}["${'x'.repeat(900_000)}`;
    let [half, other] = [await open(s), await open(s)];
    half.send(most);
    const large = await post(s, 'content-length: 600002');
    const body = `["${'y'.repeat(599_998)}"]`.slice(0, 600_002);
    // Until the first has taken its part of the memory.
    let refused: number[] = [];
    for (; refused[0] !== 503; other = await open(s)) {
      // The other may have had the memory first.
      if (statuses(half.received).length > 0) {
        half = await open(s);
        half.send(most);
      }
      other.send(large + body);
      await other.until(/HTTP\/1\.1 \d/);
      refused = statuses(other.received);
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
