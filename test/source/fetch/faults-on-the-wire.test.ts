import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import type { DeadlineLimits } from '../../../src/source/fetch/deadline.ts';
import { createRequestStats } from '../../../src/source/fetch/exchange.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import {
  answer,
  atEnd,
  breakOff,
  clientOf,
  errorOf,
  GOOD_HEADERS,
  it,
  type Listener,
  PAGE,
  refuse,
  resetBeforeHeaders,
  startListener,
  stayMute,
  textOf,
} from './listener.ts';
import { SELF_SIGNED } from './self-signed.ts';

const BODY = Buffer.from('{"id":"a","value":1}\n'.repeat(40_000));
const ZIPPED = gzipSync(BODY);

/** Listens to the end of the test; its host and port. */
async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A listener that writes raw bytes and ends the connection, beside a good one that gives the tokens. */
async function rawListener(
  bytes: string,
  end: (socket: Socket) => void,
): Promise<Pick<Listener, 'baseUrl' | 'authUrl'>> {
  const good = await startListener();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(bytes, () => end(socket)));
  });
  return { baseUrl: `http://${await listening(server)}/t`, authUrl: good.authUrl };
}

const fin = (socket: Socket) => void socket.end();
const rst = (socket: Socket) => void socket.resetAndDestroy();
const twice = { limits: { retry: { maxAttempts: 2 } } };

describe('a connection', () => {
  it('that is reset before headers is tried again', async ({ listener }) => {
    listener.script(resetBeforeHeaders(), resetBeforeHeaders());
    listener.always(answer('ok'));
    expect((await clientOf(listener).readAll(PAGE)).bytes).toHaveLength(2);
    expect(listener.seen).toHaveLength(3);
  });

  it('that nobody accepts fails in the end', async ({ listener }) => {
    const gone = await startListener();
    await gone.stop();
    const error = await errorOf(clientOf({ ...listener, baseUrl: gone.baseUrl }, twice).readAll(PAGE));
    expect(error).toMatchObject({ name: 'RetriableError', code: 'connection-failed' });
    expect(error.message).toContain('ECONNREFUSED');
  });

  const head = 'HTTP/1.1 200 OK\r\napi-version: 2026-09-10\r\n';
  const [sized, chunked] = [`${head}content-length: 9\r\n\r\n`, `${head}transfer-encoding: chunked\r\n\r\n`];
  it.each([
    ['nothing, by FIN', '', fin, 'connection-failed'],
    ['nothing, by RST', '', rst, 'connection-failed'],
    ['half of the status line', 'HTTP/1.1 20', fin, 'connection-failed'],
    ['half of the headers', head, rst, 'connection-failed'],
    ['something that is not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', fin, 'connection-failed'],
    ['headers only', sized, fin, 'body-broken'],
    ['fewer bytes than Content-Length, by FIN', `${sized}12345678`, fin, 'body-broken'],
    ['fewer bytes than Content-Length, by RST', `${sized}12345678`, rst, 'body-broken'],
    ['half of a chunk size', `${chunked}1`, fin, 'body-broken'],
    ['half of a chunk', `${chunked}5\r\n123`, fin, 'body-broken'],
    ['chunks without the last, by FIN', `${chunked}3\r\n123\r\n`, fin, 'body-broken'],
    ['chunks without the last, by RST', `${chunked}3\r\n123\r\n`, rst, 'body-broken'],
    ['a chunk size that is none', `${chunked}3\r\n123\r\nzz\r\n`, fin, 'body-broken'],
    ['a gzip header only', `${head}content-encoding: gzip\r\n\r\n`, fin, 'body-broken'],
    ['a body that only the end of the connection ends', `${head}\r\n{}`, fin, 'body-without-end'],
  ])('that ends after %s never passes for whole', async (_, bytes, end, code) => {
    const error = await errorOf(clientOf(await rawListener(bytes, end), twice).readAll(PAGE));
    expect(error.code).toBe(code);
  });

  it('with more bytes than Content-Length gives those only', async () => {
    const listener = await rawListener(`${head}content-length: 2\r\n\r\n{}garbage`, fin);
    expect(Buffer.from((await clientOf(listener, twice).readAll(PAGE)).bytes).toString()).toBe('{}');
  });

  it('with larger headers than we take is refused for good', async () => {
    const listener = await rawListener(`${head}x: ${'y'.repeat(40_000)}\r\n\r\n`, fin);
    expect(await errorOf(clientOf(listener, twice).readAll(PAGE))).toMatchObject({ code: 'request-invalid' });
  });
});

/** The next answer begins like this and does not end; resolves once its connection is closed. */
function beginning(listener: Listener, bytes: string | Uint8Array): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  listener.script((response) => {
    response.writeHead(200, GOOD_HEADERS).write(bytes);
    response.on('close', resolve);
  });
  return promise;
}

describe('a body', () => {
  it('that breaks off anywhere is read again', async ({ listener }) => {
    const cuts = [0, 1, 100, 65_536, BODY.length - 1, BODY.length];
    for (const cut of cuts) listener.script(breakOff(BODY.subarray(0, cut), {}, cut % 2 === 0));
    listener.always(answer(BODY));
    const whole = await clientOf(listener, { limits: { retry: { maxAttempts: 20 } } }).readAll(PAGE);
    expect(BODY.equals(whole.bytes)).toBe(true);
    expect(listener.seen).toHaveLength(cuts.length + 1);
  });

  it('in gzip that breaks off anywhere is read again, also where HTTP looks whole', async ({ listener }) => {
    const gzip = { 'content-encoding': 'gzip' };
    const cuts = [0, 1, 10, 11, ZIPPED.length >> 1, ZIPPED.length - 8, ZIPPED.length - 1];
    for (const cut of cuts) listener.script(answer(ZIPPED.subarray(0, cut), gzip));
    for (const cut of cuts) listener.script(breakOff(ZIPPED.subarray(0, cut), gzip));
    const corrupt = Buffer.from(ZIPPED);
    corrupt[ZIPPED.length - 6]! ^= 1;
    listener.script(answer(corrupt, gzip));
    listener.always(answer(ZIPPED, gzip));
    const whole = await clientOf(listener, { limits: { retry: { maxAttempts: 20 } } }).readAll(PAGE);
    expect(BODY.equals(whole.bytes)).toBe(true);
    expect(listener.seen).toHaveLength(2 * cuts.length + 2);
  });

  it('that the consumer leaves early has its connection closed', async ({ listener }) => {
    const closing = beginning(listener, BODY);
    const first = await clientOf(listener).read(async ({ body }) => {
      for await (const chunk of body) return chunk.length;
      return 0;
    });
    expect(first).toBeGreaterThan(0);
    await closing;
  });

  it('that nobody reads has its connection closed and gives back its slot', async ({ listener }) => {
    const closing = beginning(listener, 'one');
    const client = clientOf(listener, { maxConcurrency: 1 });
    expect(await client.read(async () => 'ignored')).toBe('ignored');
    await closing;
    await client.readAll(PAGE);
  });
});

describe('silence', () => {
  it('before headers times out, is tried once more, and ends as headers-timeout', async ({ listener }) => {
    const clock = createManualClock();
    listener.always(stayMute());
    const client = clientOf(listener, { clock, limits: { headersTimeoutMs: 20_000 } });
    await clientIsKnown(client, listener);
    const failed = errorOf(client.readAll(PAGE));
    await listener.untilSeen(2);
    await clock.advance(19_999);
    expect(listener.seen).toHaveLength(2);
    await clock.advance(1);
    await listener.untilSeen(3);
    await clock.advance(20_000);
    const error = await failed;
    expect(error).toMatchObject({ name: 'RetriableError', code: 'headers-timeout' });
    expect(error.message).toContain('20 s');
    expect(clock.sleeping()).toEqual([]);
  });

  it('within a body times out and closes the connection', async ({ listener }) => {
    const clock = createManualClock();
    const sockets: Promise<unknown>[] = [];
    listener.always((response) => {
      sockets.push(once(response, 'close'));
      response.writeHead(200, GOOD_HEADERS).write('one');
    });
    const client = clientOf(listener, { clock, limits: { idleTimeoutMs: 5_000, retry: { maxAttempts: 1 } } });
    const { promise: firstRead, resolve: read } = Promise.withResolvers<void>();
    const failed = errorOf(
      client.read(async ({ body }) => {
        for await (const _ of body) read();
      }),
    );
    await firstRead;
    await clock.untilSleeping((delayMs) => delayMs === 5_000);
    await clock.advance(5_000);
    expect(await failed).toMatchObject({ name: 'RetriableError', code: 'idle-timeout' });
    await Promise.all(sockets);
    expect(clock.sleeping()).toEqual([]);
  });

  /** A body of `chunks` chunks, ten seconds apart, each sent when the one before has been read. */
  async function readSlowly(chunkBytes: number, chunks: number, limits: Partial<DeadlineLimits> = {}) {
    const listener = await startListener();
    const clock = createManualClock();
    let sendNext = () => {};
    listener.always((response) => {
      response.writeHead(200, GOOD_HEADERS);
      let sent = 0;
      sendNext = () => (sent++ < chunks ? response.write(Buffer.alloc(chunkBytes, 'x')) : response.end());
      sendNext();
    });
    const client = clientOf(listener, { clock, limits: { ...limits, retry: { maxAttempts: 1 } } });
    let bytes = 0;
    const end = client.read(async ({ body }) => {
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes % chunkBytes === 0) setImmediate(() => void clock.advance(10_000).then(sendNext));
      }
    });
    const error = await end.then(
      () => undefined,
      (reason: Error & { code: string }) => reason,
    );
    return { error, bytes, waitedMs: clock.monotonicMs() };
  }

  it('that is broken by a byte now and then ends when the answer comes too slowly', async () => {
    const { error, bytes, waitedMs } = await readSlowly(1, 1_000);
    expect(error).toMatchObject({ name: 'RetriableError', code: 'too-slow' });
    expect(error!.message).toContain('32 bytes in 310 s');
    expect([bytes, waitedMs]).toEqual([31, 310_000]);
  });

  it('between chunks is borne as long as enough has come, up to a total', async () => {
    const enough = 10 * 1_024;
    expect(await readSlowly(enough, 200)).toMatchObject({ error: undefined, bytes: 200 * enough });
    const { error, waitedMs } = await readSlowly(enough, 200, { maxBodyMs: 900_000 });
    expect(error).toMatchObject({ code: 'too-slow' });
    expect(waitedMs).toBe(910_000);
  });

  it('of the consumer is not silence of the service', async ({ listener }) => {
    const clock = createManualClock();
    const big = Buffer.alloc(4 * 1024 * 1024, 'x');
    listener.always(answer(big));
    const client = clientOf(listener, { clock, limits: { idleTimeoutMs: 5_000 } });
    let bytes = 0;
    await client.read(async ({ body }) => {
      for await (const chunk of body) {
        if (bytes === 0) await clock.advance(3_600_000);
        bytes += chunk.length;
      }
    });
    expect([bytes, listener.seen.length]).toEqual([big.length, 1]);
  });

  it('that ends in a reset counts for the total time', async ({ listener }) => {
    const clock = createManualClock();
    listener.always(async (response) => {
      await clock.advance(200_000);
      response.socket?.resetAndDestroy();
    });
    const client = clientOf(listener, { clock, limits: { headersTimeoutMs: 1e6 } });
    const error = await errorOf(client.readAll(PAGE));
    expect(error).toMatchObject({ code: 'connection-failed' });
    expect(error.message).toContain('3 failures in a row (400 s)');
    expect(listener.seen).toHaveLength(3);
  });

  it('of a token endpoint times out too', async ({ listener }) => {
    const clock = createManualClock();
    listener.alwaysToken(stayMute());
    const client = clientOf(listener, {
      clock,
      limits: { headersTimeoutMs: 1_000, retry: { maxAttempts: 1 } },
    });
    const failed = errorOf(client.readAll(PAGE));
    await listener.untilTokensSeen(1);
    await clock.advance(1_000);
    expect(await failed).toMatchObject({ code: 'headers-timeout' });
  });
});

/** One good request first, so that the token is there and the clock has no sleeper of its request. */
async function clientIsKnown(client: ReturnType<typeof clientOf>, listener: Listener): Promise<void> {
  listener.script(answer('ok'));
  await client.readAll(PAGE);
}

describe('cancelling', () => {
  const reason = new Error('ctrl-c');

  it('is prompt before headers, and closes the connection', async ({ listener }) => {
    let closed: Promise<unknown> = Promise.resolve();
    listener.always((response) => {
      closed = once(response, 'close');
    });
    const controller = new AbortController();
    const failed = errorOf(clientOf(listener).readAll(PAGE, { signal: controller.signal }));
    await listener.untilSeen(1);
    controller.abort(reason);
    expect(await failed).toMatchObject({ name: 'CancelledError', cause: reason });
    await closed;
  });

  it('is prompt within a body', async ({ listener }) => {
    listener.always((response) => response.writeHead(200, GOOD_HEADERS).write('one'));
    const controller = new AbortController();
    const client = clientOf(listener);
    const failed = errorOf(
      client.read(
        async ({ body }) => {
          for await (const _ of body) controller.abort(reason);
        },
        { signal: controller.signal },
      ),
    );
    expect(await failed).toMatchObject({ name: 'CancelledError' });
    expect(listener.seen).toHaveLength(1);
  });

  it('is prompt between attempts', async ({ listener }) => {
    const clock = createManualClock();
    listener.always(refuse(503, 'later', { 'retry-after': '77' }));
    const controller = new AbortController();
    const failed = errorOf(clientOf(listener, { clock }).readAll(PAGE, { signal: controller.signal }));
    await clock.untilSleeping((delayMs) => delayMs === 77_000);
    controller.abort(reason);
    expect(await failed).toMatchObject({ name: 'CancelledError' });
    expect(clock.sleeping()).toEqual([]);
  });

  it('is prompt while waiting for the cap', async ({ listener }) => {
    listener.always(stayMute());
    const client = clientOf(listener, { maxConcurrency: 1 });
    const busy = errorOf(client.readAll(PAGE));
    await listener.untilSeen(1);
    const controller = new AbortController();
    const failed = errorOf(client.readAll(PAGE, { signal: controller.signal }));
    controller.abort(reason);
    expect(await failed).toMatchObject({ name: 'CancelledError' });
    await client.close();
    expect(await busy).toMatchObject({ name: 'CancelledError' });
  });

  it('is not taken for an answer when it falls into an error body', async ({ listener }) => {
    const controller = new AbortController();
    listener.always((response) => response.writeHead(404).write('{"error":'));
    const stats = {
      ...createRequestStats(),
      set bytes(_: number) {
        setImmediate(() => controller.abort(reason));
      },
      get bytes() {
        return 0;
      },
    };
    const failed = errorOf(clientOf(listener).readAll(PAGE, { signal: controller.signal, stats }));
    expect(await failed).toMatchObject({ name: 'CancelledError' });
  });

  it('leaves no listener on the signal of a call that is over', async ({ listener }) => {
    listener.script(refuse(500), breakOff(Buffer.from('x')));
    const controller = new AbortController();
    const client = clientOf(listener);
    await client.readAll(PAGE, { signal: controller.signal });
    listener.script(refuse(404));
    await errorOf(client.readAll(PAGE, { signal: controller.signal }));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  it('before the call sends nothing', async ({ listener }) => {
    const failed = errorOf(clientOf(listener).readAll(PAGE, { signal: AbortSignal.abort(reason) }));
    expect(await failed).toMatchObject({ name: 'CancelledError' });
    expect(listener.seenTokens).toHaveLength(0);
  });

  it('by closing the client ends what is under way, also the token request', async ({ listener }) => {
    listener.alwaysToken(stayMute());
    const client = clientOf(listener);
    const failed = errorOf(client.read(({ body }) => textOf(body)));
    await listener.untilTokensSeen(1);
    await client.close();
    expect(await failed).toMatchObject({ name: 'CancelledError' });
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ name: 'CancelledError' });
  });
});

describe('TLS', () => {
  it('with a certificate that does not verify is fatal and sends nothing', async () => {
    let spoken = false;
    const server = createTlsServer(SELF_SIGNED, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        spoken = true;
      });
    });
    server.on('tlsClientError', () => {});
    const origin = `https://${await listening(server)}`;
    const error = await errorOf(clientOf({ baseUrl: `${origin}/t`, authUrl: origin }).readAll(PAGE));
    expect(error).toMatchObject({ name: 'FatalError', code: 'certificate-refused' });
    expect(error.message).toContain('NODE_EXTRA_CA_CERTS');
    expect(spoken).toBe(false);
  });

  it('whose handshake breaks is tried again', async () => {
    let hellos = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        hellos += 1;
        socket.resetAndDestroy();
      });
    });
    const origin = `https://${await listening(server)}`;
    const error = await errorOf(clientOf({ baseUrl: `${origin}/t`, authUrl: origin }, twice).readAll(PAGE));
    expect(error).toMatchObject({ name: 'RetriableError', code: 'connection-failed' });
    expect(hellos).toBe(2);
  });
});

describe('a host that was never reached', () => {
  const patience = async (baseOrAuth: 'baseUrl' | 'authUrl', failFast: boolean) => {
    const listener = await startListener();
    const gone = await startListener();
    await gone.stop();
    const clock = createManualClock();
    const client = clientOf(
      { ...listener, [baseOrAuth]: gone[baseOrAuth] },
      { failFast, clock, random: () => 0.999 },
    );
    const failing = errorOf(client.readAll(PAGE));
    let ended = false;
    void failing.then(() => {
      ended = true;
    });
    while (!ended) {
      await Promise.race([clock.untilSleeping((ms) => ms < 60_000), failing]);
      await clock.advance(clock.sleeping()[0] ?? 0);
    }
    return { error: await failing, seconds: clock.monotonicMs() / 1_000, host: new URL(gone.baseUrl).host };
  };

  it.each([
    ['baseUrl', 'QUERY_BASE_URL'],
    ['authUrl', 'QUERY_AUTH_URL'],
  ] as const)('in %s is given up within seconds, by name', async (which, setting) => {
    const { error, seconds, host } = await patience(which, true);
    expect(error).toMatchObject({ name: 'FatalError', code: 'service-unreachable' });
    expect(error.message).toContain(`http://${host} (ECONNREFUSED); check ${setting}`);
    expect(seconds).toBeLessThan(5);
  });

  it('is waited for by processes that nobody watches', async () => {
    const { error, seconds } = await patience('authUrl', false);
    expect(error).toMatchObject({ name: 'RetriableError', code: 'connection-failed' });
    expect(seconds).toBeGreaterThan(30);
  });

  it('is another matter than one that goes away', async ({ listener }) => {
    const client = clientOf(listener, { failFast: true, ...twice });
    await client.readAll(PAGE);
    await listener.stop();
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ name: 'RetriableError' });
  });
});
