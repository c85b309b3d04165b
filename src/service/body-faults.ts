/** Faults that act on a body while it is sent. */
import type { ServerResponse } from 'node:http';
import type { Fault } from './faults.ts';

type Chunk = Uint8Array | string;

/** The body as the fault leaves it; `response` is destroyed by an unclean cut. */
export function faultyBody(
  body: AsyncIterable<Chunk>,
  fault: Fault | undefined,
  response: ServerResponse,
): AsyncIterable<Chunk> {
  if (fault?.kind === 'cut') return cutBody(body, fault.afterBytes, fault.clean === true, response);
  if (fault?.kind === 'stall' && fault.at === 'body') return stallBody(body, fault.afterBytes ?? 0, response);
  if (fault?.kind === 'garbage') return oneChunk(fault.body);
  return body;
}

/** Resolves when the client has gone. */
export function clientGone(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed || response.destroyed) resolve();
    else response.once('close', resolve);
  });
}

async function* cutBody(
  body: AsyncIterable<Chunk>,
  afterBytes: number,
  clean: boolean,
  response: ServerResponse,
): AsyncGenerator<Chunk> {
  yield* head(body, afterBytes);
  if (clean) return;
  // What was yielded has been handed to the socket's buffer; let it leave before the socket goes.
  await new Promise<void>((resolve) => {
    if (response.writableNeedDrain) response.once('drain', resolve);
    else setImmediate(resolve);
  });
  response.destroy();
  await clientGone(response);
}

async function* stallBody(
  body: AsyncIterable<Chunk>,
  afterBytes: number,
  response: ServerResponse,
): AsyncGenerator<Chunk> {
  yield* head(body, afterBytes);
  await clientGone(response);
}

async function* oneChunk(body: Chunk): AsyncGenerator<Chunk> {
  yield body;
}

/** The first `bytes` bytes. */
async function* head(body: AsyncIterable<Chunk>, bytes: number): AsyncGenerator<Chunk> {
  let left = bytes;
  if (left <= 0) return;
  for await (const chunk of body) {
    const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    yield data.subarray(0, left);
    left -= data.length;
    if (left <= 0) return;
  }
}
