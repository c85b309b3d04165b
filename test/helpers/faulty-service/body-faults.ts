/** Faults that act on a body while it is sent. */
import type { ServerResponse } from 'node:http';
import type { Body } from '../../../src/service/hooks.ts';
import type { Fault } from './faults.ts';

type Chunk = Uint8Array | string;

/** The body of an answer as the fault leaves it; `response` is destroyed by an unclean cut. */
export function faultyBody(
  answer: Body,
  fault: Fault | undefined,
  response: ServerResponse,
): AsyncIterable<Chunk> {
  const body = typeof answer === 'string' ? wholeBody(answer) : answer;
  if (fault?.kind === 'cut') return cutBody(body, fault.afterBytes, fault.clean === true, response);
  if (fault?.kind === 'stall' && fault.at === 'body') return stallBody(body, fault.afterBytes ?? 0, response);
  if (fault?.kind === 'rewrite') return rewritten(body, fault.rewrite);
  if (fault?.kind === 'statistics-counts') return scaledCounts(body, fault.scale ?? 1, fault.offset ?? 0);
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

/** A body of one piece. */
export async function* wholeBody(piece: Chunk): AsyncGenerator<Chunk> {
  yield piece;
}

async function* rewritten(
  body: AsyncIterable<Chunk>,
  rewrite: (body: string) => string,
): AsyncGenerator<Chunk> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk as Uint8Array));
  yield rewrite(Buffer.concat(chunks).toString());
}

/** JSON of statistics, whose pieces hold whole rows. Times beside a count are those that it can have. */
async function* scaledCounts(
  body: AsyncIterable<Chunk>,
  scale: number,
  offset: number,
): AsyncGenerator<Chunk> {
  const told = (count: string) => Math.max(0, Math.round(Number(count) * scale + offset));
  for await (const chunk of body)
    yield Buffer.from(chunk as Uint8Array)
      .toString()
      .replace(
        /([":/]count":)(\d+)(?:,"first_time":("[^"]*"),"last_time":("[^"]*"))?/gi,
        (_, key: string, count: string, first?: string, last?: string) => {
          const lie = told(count);
          if (first === undefined) return `${key}${lie}`;
          const [from, to] = lie === 0 ? ['null', 'null'] : [first, lie === 1 ? first : last];
          return `${key}${lie},"first_time":${from},"last_time":${to}`;
        },
      );
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
