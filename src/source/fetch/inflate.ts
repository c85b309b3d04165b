import { createGunzip, type Gunzip } from 'node:zlib';
import { DataError, FatalError, RetriableError } from '../../core/errors.ts';
import type { Body } from '../../core/model/query.ts';
import { untilWritable } from '../../core/streams.ts';
import type { Answer, Send } from './exchange.ts';
import { faultOf } from './faults.ts';

/** Fewer, larger chunks: each one crosses threads and the decoder. */
const GUNZIP_CHUNK_BYTES = 256 * 1024;
/** Upper bound of what the decoder buffers. */
const MAX_UNINFLATED_BYTES = 1024 * 1024;
/** Incompressible data grow by less than this share. */
const GZIP_OVERHEAD = 0.01;

/** Layer: accept gzip; stop a body larger than `maxBodyBytes` (DataError `page-too-large`), or without an end (FatalError `body-without-end`). */
export function withInflate(next: Send): Send {
  return (attempt) => {
    const { what, headers } = attempt.outgoing;
    return next({
      ...attempt,
      outgoing: { ...attempt.outgoing, headers: { ...headers, 'accept-encoding': 'gzip' } },
      consume: (answer) =>
        attempt.consume({ ...answer, body: bounded(decoded(answer, what), attempt.maxBodyBytes, what) }),
    });
  };
}

function decoded(answer: Answer, what: string): Body {
  const encoding = (answer.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzipped(answer.body, what);
  if (encoding !== '' && encoding !== 'identity') {
    // For an error only the status counts.
    if (answer.status !== 200) return nothing();
    throw new FatalError(
      'wrong-encoding',
      `${what}: got the content encoding '${encoding.replace(/[^a-z0-9, -]/g, '?').slice(0, 40)}', requested gzip or none`,
    );
  }
  // Neither a length nor chunks: the body ends when the connection does, so a cut one looks whole.
  const hasEnd = 'content-length' in answer.headers || 'transfer-encoding' in answer.headers;
  if (answer.status === 200 && !hasEnd)
    throw new FatalError(
      'body-without-end',
      `${what}: the response has neither Content-Length nor chunks, so a truncated body looks like a complete one; make the service, or the proxy in front of it, use HTTP/1.1`,
    );
  return answer.body;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* gunzipped(body: Body, what: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: GUNZIP_CHUNK_BYTES });
  let inflatedBytes = 0;
  fill(gunzip, body, () => inflatedBytes, what).then(
    () => gunzip.end(),
    (error) => gunzip.destroy(error),
  );
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      inflatedBytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw faultOf(error, 'body', what);
  } finally {
    gunzip.destroy();
  }
}

/** Pass a body to the decoder, until it is clearly larger than its decoded form: empty blocks may come without end. */
async function fill(gunzip: Gunzip, body: Body, inflatedBytes: () => number, what: string): Promise<void> {
  let received = 0;
  for await (const chunk of body) {
    // The reader of the decoded body has stopped.
    if (gunzip.destroyed) return;
    received += chunk.length;
    if (received > MAX_UNINFLATED_BYTES + inflatedBytes() * (1 + GZIP_OVERHEAD))
      throw new RetriableError(
        'body-broken',
        `${what}: the body is gzip of next to nothing: ${received} bytes decode to ${inflatedBytes()}`,
      );
    // It is read later, in another thread.
    if (!gunzip.write(Buffer.from(chunk))) await untilWritable(gunzip);
  }
}

async function* bounded(body: Body, maxBytes: number, what: string): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new DataError(
        'page-too-large',
        `${what}: the response is larger than ${maxBytes} bytes; request less at once`,
      );
    yield chunk;
  }
}
