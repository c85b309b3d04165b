import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { currentLogFields, withLogFields } from '../../../src/core/model/log-context.ts';
import type { Body } from '../../../src/core/model/query.ts';
import { bodyOf, readStream } from '../../../src/source/fetch/body.ts';
import { createTransport } from '../../../src/source/fetch/transport.ts';

const asIs = (error: unknown) => error;

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
  it('is whole, and its chunks may be kept', async () => {
    const chunks: Uint8Array[] = [];
    await withAnswer(answer, (body) => body.read((chunk) => void chunks.push(chunk)));
    expect(sha256(Buffer.concat(chunks))).toBe(sha256(BYTES));
  });

  it('waits for who takes it, chunk by chunk', async () => {
    let taking = 0;
    let most = 0;
    const hash = createHash('sha256');
    await withAnswer(answer, (body) =>
      body.read(async (chunk) => {
        most = Math.max(most, ++taking);
        await new Promise(setImmediate);
        hash.update(chunk);
        taking--;
      }),
    );
    expect(most).toBe(1);
    expect(hash.digest('hex')).toBe(sha256(BYTES));
  });

  it('can be iterated over', async () => {
    const hash = createHash('sha256');
    await withAnswer(answer, async (body) => {
      for await (const chunk of body) hash.update(chunk);
    });
    expect(hash.digest('hex')).toBe(sha256(BYTES));
  });
});

describe('reading a stream', () => {
  it('fails with what `take` throws, at once or later, and closes the stream', async () => {
    const trouble = new Error('full');
    for (const take of [
      () => {
        throw trouble;
      },
      () => Promise.reject(trouble),
    ]) {
      const stream = Readable.from([BYTES.subarray(0, 10), BYTES.subarray(10, 20)], { objectMode: false });
      await expect(readStream(stream, take, asIs)).rejects.toBe(trouble);
      expect(stream.destroyed).toBe(true);
    }
  });

  it('settles only when `take` has, where the stream breaks off meanwhile', async () => {
    const stream = new Readable({ read() {} });
    const { promise: taken, resolve: letGo } = Promise.withResolvers<void>();
    let hasTaken = false;
    stream.push('bytes');
    const reading = readStream(
      stream,
      async () => {
        stream.destroy(new Error('reset'));
        await taken;
        hasTaken = true;
      },
      (error) => new Error(`broken: ${(error as Error).message}`),
    ).finally(() => expect(hasTaken).toBe(true));
    const failed = expect(reading).rejects.toThrow('broken: reset');
    await new Promise((closed) => stream.once('close', closed));
    letGo();
    await failed;
  });

  it('says so where the stream was broken before, or closed without a word', async () => {
    const broken = new Readable({ read() {} }).on('error', () => {});
    broken.destroy(new Error('reset'));
    await expect(readStream(broken, () => {}, asIs)).rejects.toThrow('reset');
    const closed = new Readable({ read() {} });
    const reading = readStream(closed, () => {}, asIs);
    closed.destroy();
    await expect(reading).rejects.toThrow('closed');
  });

  it("takes in the reader's own context, and not in that of the stream", async () => {
    const seen: unknown[] = [];
    const stream = await withLogFields({ requestId: 'of the stream' }, async () => {
      const made = new Readable({ read() {} });
      setImmediate(() => made.push('one') && made.push(null));
      return made;
    });
    await withLogFields({ requestId: 'of the reader' }, () =>
      readStream(stream, () => void seen.push(currentLogFields().requestId), asIs),
    );
    expect(seen).toEqual(['of the reader']);
  });

  it('that is left early by an iterator is over when the loop is', async () => {
    let isOver = false;
    const body = bodyOf(async (take) => {
      try {
        for (;;) await take(new Uint8Array(1));
      } finally {
        isOver = true;
      }
    });
    for await (const chunk of body) {
      expect(chunk).toHaveLength(1);
      break;
    }
    expect(isOver).toBe(true);
  });
});
