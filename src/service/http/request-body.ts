/** Bodies of requests: read only when somebody asks for one, within limits of size, time and memory. */
import { on } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { badRequest, HttpError } from './http-error.ts';

const FIRST_BUFFER_BYTES = 16 * 1024;
/** Who is turned away for want of memory may come back so soon. */
const RETRY_AFTER = { 'retry-after': '1' };

export interface BodyLimits {
  /** A body is whole so long after its reading began. */
  readonly bodyTimeoutMs: number;
  /** Of all bodies that are being read. */
  readonly maxBodyBytesInMemory: number;
}

export const MAX_BODY_BYTES_IN_MEMORY: number = 32 * 1024 * 1024;

export type ReadBody = ReturnType<typeof createBodyReader>;

export function createBodyReader({ bodyTimeoutMs, maxBodyBytesInMemory }: BodyLimits) {
  let heldBytes = 0;

  function grow(body: Buffer, needed: number, maxBytes: number): Buffer {
    const lengthBytes = Math.min(maxBytes, Math.max(needed, body.length * 2, FIRST_BUFFER_BYTES));
    if (heldBytes - body.length + lengthBytes > maxBodyBytesInMemory)
      throw new HttpError(503, 'too many bodies are being sent at once; try again in 1 s', RETRY_AFTER);
    const grown = Buffer.allocUnsafe(lengthBytes);
    body.copy(grown);
    heldBytes += lengthBytes - body.length;
    return grown;
  }

  /** The body as text, after `100 Continue` where it is waited for. Throws 413 over `maxBytes`, 408 when late, 503 for want of memory, 400 when cut. */
  return async ({ raw }: FastifyRequest, reply: FastifyReply, maxBytes: number): Promise<string> => {
    const tooLarge = () => new HttpError(413, `the body is over ${maxBytes} bytes; send less`);
    if (Number(raw.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
    if (/^100-continue$/i.test(raw.headers.expect ?? '')) reply.raw.writeContinue();
    // Grown by copying: a body that comes in single bytes would leave an object of each.
    let body: Buffer = Buffer.alloc(0);
    let sizeBytes = 0;
    try {
      for await (const chunk of chunksOf(raw, bodyTimeoutMs)) {
        const needed = sizeBytes + chunk.length;
        if (needed > maxBytes) throw tooLarge();
        if (needed > body.length) body = grow(body, needed, maxBytes);
        sizeBytes += chunk.copy(body, sizeBytes);
      }
      return body.toString('utf8', 0, sizeBytes);
    } finally {
      heldBytes -= body.length;
      // What still comes is thrown away: by whom, and for how long, see connections.ts.
      raw.resume();
    }
  };
}

/** The chunks of a body that comes whole, and in time. Leaves the request as it is when left early. */
async function* chunksOf(raw: FastifyRequest['raw'], timeoutMs: number): AsyncGenerator<Buffer> {
  const brokenOff = badRequest('the body broke off');
  if (raw.destroyed) throw brokenOff;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    for await (const [chunk] of on(raw, 'data', { signal: late.signal, close: ['end', 'close'] }))
      yield chunk;
  } catch {
    throw late.signal.aborted
      ? new HttpError(408, `the body was not there within ${timeoutMs / 1000} s`)
      : brokenOff;
  } finally {
    clearTimeout(timer);
  }
  if (!raw.complete) throw brokenOff;
}

const MAX_EXPRESSIONS = 10_000;
export const MAX_BODY_BYTES = 1024 * 1024;
const MAX_EXPRESSION_CHARS = 4096;

export const querySchema = z
  .array(z.string().min(1).max(MAX_EXPRESSION_CHARS))
  .min(1)
  .max(MAX_EXPRESSIONS)
  .describe('Expressions, each <domain>/<expression>; every series is answered once');

/** Throws 415 for another content type than JSON, 400 for another body, and what `read` throws. */
export async function readExpressions(
  request: FastifyRequest,
  read: () => Promise<string>,
): Promise<string[]> {
  const contentType = request.headers['content-type'];
  if (contentType === undefined || !/^application\/json\s*(;|$)/i.test(contentType.trim()))
    throw new HttpError(
      415,
      `got Content-Type '${(contentType ?? '').slice(0, 200)}', expected application/json`,
    );
  const text = await read();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw badRequest('the body is not JSON, expected an array of strings <domain>/<expression>');
  }
  const parsed = querySchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const where = issue.path.length === 0 ? 'the body' : `element ${issue.path.join('.')} of the body`;
    throw badRequest(`${where}: ${issue.message}; expected an array of strings <domain>/<expression>`);
  }
  return [...new Set(parsed.data)];
}
