/** Slow and greedy clients, over real sockets. What takes time is short here, and awaited by its event. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createManualClock } from '../helpers/manual-clock.ts';
import { ERROR_BODY, endClients, get, LONG, open, post, serve, statuses } from './raw-client.ts';
import { NOW_MS, openService, type TestService, VESSEL } from './running-service.ts';

afterEach(endClients);

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
    // The token, too, is asked for with a body, which may have to wait for a processor.
    await using s = await serve({ bodyTimeoutMs: 1_000 });
    const [half, chunked] = [await open(s), await open(s)];
    half.send(`${await post(s, 'content-length: 1000')}[`);
    chunked.send(`${await post(s, 'transfer-encoding: chunked')}1\r\n[\r\n`);
    for (const client of [half, chunked]) {
      const answer = await client.ended;
      expect(statuses(answer)).toEqual([408]);
      expect(answer).toContain('the body was not there within 1 s');
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

/** One request on a connection of its own, and all that came. */
async function tryOnce(s: TestService): Promise<string> {
  const client = await open(s);
  client.send('GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  if (!client.socket.closed) await Promise.race([client.ended, once(client.socket, 'end')]);
  return client.ended;
}
