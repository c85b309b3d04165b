/** Bodies on their way: every byte is the one that was made, however slowly a client takes it. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/model/index.ts';
import type { ServiceHooks } from '../../../src/service/hooks.ts';
import { NOW_MS, openHookedService, VESSEL } from '../running-service.ts';

const LARGE = `/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-06&output_domain=id`;

type Opened = Awaited<ReturnType<typeof start>>;
const start = (hooks: ServiceHooks = {}) =>
  openHookedService({
    data: { seed: 7, vessels: 1, readingsPerDay: 150_000 },
    clock: { ...systemClock, nowMs: () => NOW_MS },
    hooks,
  });

const headersFor = async ({ token }: Opened) => ({
  ...{ authorization: `Bearer ${await token()}`, 'x-api-version': '2026-09-10' },
});

/** The answer to a GET, of which nothing has been read. */
async function ask(s: Opened, path: string): Promise<IncomingMessage> {
  const headers = await headersFor(s);
  const [response] = await once(get(s.service.baseUrl + path, { headers, agent: false }), 'response');
  return response as IncomingMessage;
}

/** What the bodies come to of requests that are sent at once on one connection, read slowly. */
async function pipelined(s: Opened, methods: readonly string[], path: string) {
  const { hostname, port, pathname } = new URL(s.service.baseUrl + path.split('?')[0]!);
  const own = Object.entries({ host: 'x', ...(await headersFor(s)) }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const socket = connect({ host: hostname, port: Number(port) });
  for (const [n, method] of methods.entries()) {
    const last = n === methods.length - 1 ? ['connection: close'] : [];
    socket.write(
      [`${method} ${pathname}?${path.split('?')[1]} HTTP/1.1`, ...own, ...last, '', ''].join('\r\n'),
    );
  }
  const chunks: Buffer[] = [];
  for await (const chunk of socket) {
    chunks.push(chunk as Buffer);
    if (chunks.length % 20 === 0) await sleep(5);
  }
  const all = Buffer.concat(chunks);
  let at = 0;
  return methods.map((method) => {
    const digest = createHash('sha256');
    let bytes = 0;
    at = all.indexOf('\r\n\r\n', at) + 4;
    for (let size = method === 'HEAD' ? 0 : 1; size > 0; ) {
      const lineEnd = all.indexOf('\r\n', at);
      size = Number.parseInt(all.toString('latin1', at, lineEnd), 16);
      digest.update(all.subarray(lineEnd + 2, lineEnd + 2 + size));
      bytes += size;
      at = lineEnd + 2 + size + 2;
    }
    return { bytes, digest: digest.digest('hex') };
  });
}

/** Take so many bytes of an answer, and go. */
async function leaveAfter(response: IncomingMessage, most: number): Promise<void> {
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes >= most) break;
    await sleep(1);
  }
  response.destroy();
}

async function digestOf(response: Readable, pauseMs: number): Promise<{ bytes: number; digest: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  let untilPause = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    untilPause -= chunk.length;
    if (pauseMs === 0 || untilPause > 0) continue;
    // More than the system keeps for a connection lies between two of them.
    untilPause = 1_500_000;
    await sleep(pauseMs);
  }
  return { bytes, digest: hash.digest('hex') };
}

describe('a large answer', () => {
  test('is the same for those who read slowly while others leave', async () => {
    const path = `${LARGE}&format=ndjson`;
    await using service = await start();
    const expected = await digestOf(await ask(service, path), 0);
    expect(expected.bytes).toBeGreaterThan(12_000_000);
    const leaving = [1, 100_000, 4_000_000].map(async (most) => leaveAfter(await ask(service, path), most));
    const all = await Promise.all(
      [20, 35].map(async (pauseMs) => digestOf(await ask(service, path), pauseMs)),
    );
    await Promise.all(leaving);
    expect(all).toEqual([expected, expected]);
  });

  test('to HEAD and to requests that do not wait for each other is the same', async () => {
    await using service = await start();
    const path = `${LARGE}&format=ndjson`;
    const expected = await digestOf(await ask(service, path), 0);
    const nothing = { bytes: 0, digest: createHash('sha256').digest('hex') };
    expect(await pipelined(service, ['GET', 'HEAD', 'GET'], path)).toEqual([expected, nothing, expected]);
  });

  test('that its client leaves is not made any further, and others are', async () => {
    await using service = await start();
    const left = await ask(service, LARGE);
    await once(left, 'readable');
    left.destroy();
    const { bytes } = await digestOf(await ask(service, `${LARGE}&format=ndjson`), 0);
    expect(bytes).toBeGreaterThan(12_000_000);
  });
});

describe('a body that fails', () => {
  async function* failing(pieces: readonly string[]): AsyncGenerator<string> {
    yield* pieces;
    throw new Error('what only the operator is told');
  }
  const failingAfter = (pieces: readonly string[]): ServiceHooks => ({
    intercept: (exchange) => (exchange.request.family === 'token' ? exchange.body() : failing(pieces)),
  });

  test('before its first piece is refused as any request', async () => {
    await using service = await start(failingAfter([]));
    const response = await ask(service, `/metadata/flat/${VESSEL}/*`);
    expect(response.statusCode).toBe(500);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    let text = '';
    for await (const chunk of response) text += chunk;
    expect(JSON.parse(text)).toEqual({ error: expect.stringContaining('failed to respond') });
  });

  test('later is cut off, not ended', async () => {
    await using service = await start(failingAfter(['[{}', ',{}']));
    // Nothing may have been read of it: then there is no answer at all.
    const reading = async () => digestOf(await ask(service, `/metadata/flat/${VESSEL}/*`), 0);
    await expect(reading()).rejects.toThrow();
  });

  test('or has nothing in it is an answer all the same', async () => {
    await using service = await start();
    const response = await ask(service, `${LARGE.replaceAll('2026-01', '2027-01')}&format=ndjson`);
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect((await digestOf(response, 0)).bytes).toBe(0);
  });
});
