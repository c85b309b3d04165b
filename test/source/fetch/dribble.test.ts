/** Peers that send just enough not to be silent: a request ends by itself all the same, and gives its slot back. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { constants, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { answer, atEnd, clientOf, errorOf, it, PAGE, startListener } from './listener.ts';

const HEAD = 'HTTP/1.1 200 OK\r\napi-version: 2026-09-10\r\ntransfer-encoding: chunked\r\n\r\n';

/** A peer that says `head` and then, as long as somebody listens, `drop` again and again. */
async function startDripping(head: string, drop: string | Uint8Array) {
  const sockets = new Set<Socket>();
  let drops = 0;
  const watchers = new Set<() => void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(head);
      const drip = () => {
        if (socket.destroyed) return;
        drops += 1;
        for (const watch of watchers) watch();
        // The next one when this one has gone out, and others have had their turn.
        socket.write(drop, () => setImmediate(drip));
      };
      drip();
    });
    socket.on('close', () => sockets.delete(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const good = await startListener();
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: `${origin}/t`,
    authUrl: good.authUrl,
    origin,
    untilDrops: (count: number) =>
      new Promise<void>((resolve) => {
        const watch = () => void (drops >= count && watchers.delete(watch) && resolve());
        watchers.add(watch);
        watch();
      }),
    /** Resolves once nobody listens any more. */
    untilLeft: async () => {
      for (const socket of sockets) if (!socket.destroyed) await once(socket, 'close');
    },
  };
}

const ONCE = { maxAttempts: 1 };

describe('a peer', () => {
  it.each([
    ['the headers', 'HTTP/1.1 200 OK\r\nx-slow: ', 'a', 120_000, 'headers-timeout'],
    ['1xx answers', '', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', 120_000, 'headers-timeout'],
    ['the extension of a chunk', `${HEAD}5;`, 'a', 60_000, 'idle-timeout'],
    ['trailers', `${HEAD}2\r\n{}\r\n0\r\nx-slow: `, 'a', 60_000, 'idle-timeout'],
  ])('that dribbles %s is left in the end', async (_, head, drop, limitMs, code) => {
    const clock = createManualClock();
    // So that the time is what ends it, and not what of it is too much: a byte every few milliseconds.
    const peer = await startDripping(head, drop);
    const client = clientOf(peer, { clock, limits: { retry: ONCE } });
    const failed = errorOf(client.readAll(PAGE));
    await peer.untilDrops(20);
    await clock.untilSleeping((delayMs) => delayMs === limitMs);
    expect(client.oldestRequestMs()).toBe(0);
    await clock.advance(limitMs / 2);
    expect(client.oldestRequestMs()).toBe(limitMs / 2);
    await clock.advance(limitMs / 2);
    const error = await failed;
    expect(['connection-failed', 'request-invalid', 'body-broken', code]).toContain(error.code);
    await peer.untilLeft();
    expect(client.oldestRequestMs()).toBe(0);
  });

  it.each([
    [503, 'server-error'],
    [429, 'rate-limited'],
    [404, 'not-found'],
  ])('that dribbles the body of a %i is taken by its status, and the slot is free', async (status, code) => {
    const clock = createManualClock();
    const good = await startListener();
    let left: Promise<unknown> | undefined;
    good.script((response) => {
      left = once(response, 'close');
      response.writeHead(status, { 'content-type': 'application/json' });
      const drip = () => void (response.destroyed || response.write(' ', () => setImmediate(drip)));
      drip();
    });
    const client = clientOf(good, {
      clock,
      maxConcurrency: 1,
      limits: { maxErrorBytes: 1e9, retry: { ...ONCE, maxLimitedMs: -1 } },
    });
    const failed = errorOf(client.readAll(PAGE));
    await clock.untilSleeping((delayMs) => delayMs === 10_000);
    await clock.advance(10_000);
    expect(await failed).toMatchObject({ code });
    await left;
    expect((await client.readAll(PAGE)).bytes).toHaveLength(0);
  });

  it('that dribbles a token is left in the end', async () => {
    const clock = createManualClock();
    const peer = await startDripping(HEAD, '1\r\n \r\n');
    const good = await startListener();
    const limits = { slowBodyGraceMs: 10_000, maxBodyMs: 20_000, retry: ONCE };
    const client = clientOf({ baseUrl: good.baseUrl, authUrl: peer.origin }, { clock, limits });
    const failed = errorOf(client.readAll(PAGE));
    await peer.untilDrops(20);
    let isOver = false;
    void failed.then(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(1_000);
    expect(clock.monotonicMs()).toBeLessThan(70_000);
    expect(await failed).toMatchObject({ code: 'too-slow' });
    expect(good.seen).toEqual([]);
    await peer.untilLeft();
  });

  it.each([
    ['empty blocks', deflateRawSync('', { finishFlush: constants.Z_FULL_FLUSH })],
    ['a name of the file', Buffer.alloc(64, 'a')],
  ])('whose gzip is %s without end is left at once', async (kind, block) => {
    const head = Buffer.from([0x1f, 0x8b, 8, kind === 'empty blocks' ? 0 : 8, 0, 0, 0, 0, 0, 3]);
    const good = await startListener();
    let sent = 0;
    good.always((response) => {
      response.writeHead(200, { 'api-version': '2026-09-10', 'content-encoding': 'gzip' });
      response.write(head);
      const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / block.length) }, () => block));
      const flow = () => {
        sent += many.length;
        if (!response.destroyed) response.write(many, () => setImmediate(flow));
      };
      flow();
    });
    const error = await errorOf(clientOf(good, { limits: { retry: ONCE } }).readAll(PAGE));
    expect(error).toMatchObject({ code: 'body-broken' });
    expect(error.message).toContain('decode to 0');
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('whose gzip is larger than what it holds is read all the same', async ({ listener: good }) => {
    const random = Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => (n * 2654435761) >>> 24));
    good.always(answer(gzipSync(random, { level: 0 }), { 'content-encoding': 'gzip' }));
    const { bytes } = await clientOf(good).readAll(PAGE);
    expect(Buffer.compare(bytes, random)).toBe(0);
  });

  it('that never ends the handshake of TLS is left', async () => {
    const clock = createManualClock();
    const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const connected = once(server, 'connection') as Promise<[Socket]>;
    atEnd(() => server.close());
    const good = await startListener();
    const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}/t`;
    const failed = errorOf(
      clientOf({ baseUrl, authUrl: good.authUrl }, { clock, limits: { retry: ONCE } }).readAll(PAGE),
    );
    const [socket] = await connected;
    await once(socket, 'data');
    await clock.advance(120_000);
    expect(await failed).toMatchObject({ code: 'headers-timeout' });
    socket.destroy();
  });
});

it('an abort is prompt while the handshake of TLS hangs, and so is closing', async () => {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connected = once(server, 'connection') as Promise<[Socket]>;
  atEnd(() => server.close());
  const good = await startListener();
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}/t`;
  // Nobody moves this clock: only the abort can end it, or undici after 15 seconds.
  const clock = createManualClock();
  const client = clientOf({ baseUrl, authUrl: good.authUrl }, { clock });
  const abort = new AbortController();
  const order: string[] = [];
  const failed = errorOf(client.readAll(PAGE, { signal: abort.signal })).then((error) =>
    order.push(error.code),
  );
  const [socket] = await connected;
  const ended = once(socket, 'close').then(() => order.push('connection ended'));
  socket.resume();
  abort.abort();
  await failed;
  await client.close();
  order.push('closed');
  socket.destroy();
  await ended;
  expect(order).toEqual(['cancelled', 'closed', 'connection ended']);
});
