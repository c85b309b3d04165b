import { setTimeout } from 'node:timers/promises';
import { isMarkedAsUntransferable } from 'node:worker_threads';
import type { Dispatcher } from 'undici';
import apiRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { type Answer, type Attempt, abortable } from './exchange.ts';
import { faultOf, type Phase } from './faults.ts';

export type Transport = ReturnType<typeof createTransport>;

/** Sockets to one origin: far above any sensible concurrency limit, which is what really bounds them. */
const MAX_SOCKETS = 256;
const CONNECT_TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_HEADER_BYTES = 32 * 1024;

/** The innermost layer: one HTTP request over undici, no redirect, no proxy. The socket of a body that was not read to its end is closed. */
export function createTransport() {
  const agent = new Agent({
    connections: MAX_SOCKETS,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // The deadline layer measures these times, on our clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  const send = async <T>(attempt: Attempt<T>): Promise<T> => {
    const response = await request(agent, attempt);
    // Destroying a body emits an error, which its reader gets.
    response.body.on('error', () => {});
    try {
      return await attempt.consume({
        status: response.statusCode,
        headers: joinHeaders(response.headers),
        body: bodyOf(response.body, attempt),
      });
    } finally {
      if (!response.body.readableEnded) response.body.destroy();
    }
  };
  return {
    send,
    close: async () => {
      // It waits for connections that are being opened, which may take their whole time-out.
      await Promise.race([agent.destroy(), setTimeout(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}

async function request(agent: Dispatcher, attempt: Attempt<unknown>): Promise<Dispatcher.ResponseData> {
  const { method, origin, target, headers, body } = attempt.outgoing;
  attempt.signal.throwIfAborted();
  try {
    const { signal } = attempt;
    const options = { method, origin, path: target, headers, body: body ?? null, signal };
    const sent = apiRequest.call(agent, options);
    // A late response has no reader.
    const drop = ({ body: late }: Dispatcher.ResponseData) => {
      if (signal.aborted) late.on('error', () => {}).destroy();
    };
    sent.then(drop, () => {});
    // While it connects, undici ignores an abort.
    return await abortable(sent, signal);
  } catch (error) {
    throw reasonOf(error, 'headers', attempt);
  }
}

/** Closes the stream with its reader. The memory of a chunk is given back once it is read: worth a third of the CPU of receiving and decoding. */
async function* bodyOf(
  stream: Dispatcher.ResponseData['body'],
  attempt: Attempt<unknown>,
): AsyncGenerator<Uint8Array> {
  let last: ArrayBufferLike | undefined;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      // The pool that small buffers share must not be transferred.
      if (last !== chunk.buffer && last instanceof ArrayBuffer && !isMarkedAsUntransferable(last))
        last.transfer(0);
      last = chunk.buffer;
      yield chunk;
    }
  } catch (error) {
    throw reasonOf(error, 'body', attempt);
  }
}

/** An aborted request fails with the reason of the abort, whatever undici throws. */
function reasonOf(error: unknown, phase: Phase, attempt: Attempt<unknown>): unknown {
  if (attempt.signal.aborted) return attempt.signal.reason;
  const { what, origin, setting } = attempt.outgoing;
  return faultOf(error, phase, phase === 'headers' ? `${what} from ${origin} (${setting})` : what);
}

function joinHeaders(headers: Dispatcher.ResponseData['headers']): Answer['headers'] {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) joined[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  return joined;
}
