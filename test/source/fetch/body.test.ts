import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Body } from '../../../src/core/model/query.ts';
import { createTransport } from '../../../src/source/fetch/transport.ts';

/** Hand the body of an answer, as the transport has it, to `consume`. */
async function withAnswer<T>(
  answer: (response: ServerResponse) => void,
  consume: (body: Body) => Promise<T>,
) {
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const transport = createTransport();
  onTestFinished(async () => {
    await transport.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  const outgoing = {
    ...{ method: 'GET' as const, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    ...{ setting: 'QUERY_BASE_URL' as const, target: '/', headers: {}, body: undefined },
    ...{ requestId: 'r', asked: 'a', what: 'w', attempt: 1 },
  };
  const { signal } = new AbortController();
  return transport.send<T>({
    ...{ outgoing, signal, wire: { elapsedMs: 0 }, maxBodyBytes: Number.POSITIVE_INFINITY, sinks: [] },
    consume: ({ body }) => consume(body),
  });
}

/** Bytes that are nowhere alike. */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0, state = 1; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const BYTES = noise(1_000_000);
const framings: Record<string, (response: ServerResponse) => void> = {
  'with its length': (response) => response.setHeader('content-length', BYTES.length).end(BYTES),
  'in large chunks': (response) => {
    for (let at = 0; at < BYTES.length; at += 300_000) response.write(BYTES.subarray(at, at + 300_000));
    response.end();
  },
  'in small chunks': (response) => {
    for (let at = 0; at < BYTES.length; at += 700) response.write(BYTES.subarray(at, at + 700));
    response.end();
  },
};

describe.each(Object.entries(framings))('a body %s', (_, answer) => {
  it('is whole', async () => {
    const hash = createHash('sha256');
    await withAnswer(answer, async (body) => {
      for await (const chunk of body) hash.update(chunk);
    });
    expect(hash.digest('hex')).toBe(sha256(BYTES));
  });
});
