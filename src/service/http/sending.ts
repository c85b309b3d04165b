/** A body on its way: pieces are made while the one before is sent, and no faster than the client takes them. */
import type { FastifyReply } from 'fastify';
import { untilWritable } from '../../core/streams.ts';
import type { SentMemory } from '../bodies/piece-memory.ts';

/**
 * Send a body as the answer; resolves when all of it has been handed over, or its client has gone. Throws what the body
 * throws before its first piece, when it can still be refused; what comes later cuts the answer off. Pieces are given
 * back to `memory` once the system has them.
 */
export async function sendBody(
  reply: FastifyReply,
  body: AsyncIterable<Uint8Array | string>,
  memory: SentMemory | undefined,
): Promise<FastifyReply> {
  const response = reply.raw;
  const pieces = body[Symbol.asyncIterator]();
  let next: IteratorResult<Uint8Array | string>;
  try {
    next = await pieces.next();
  } catch (error) {
    if (response.closed) return reply.hijack();
    throw error;
  }
  reply.hijack();
  // What there is to say of a connection that fails is said by its close.
  response.on('error', () => {});
  for (const [name, value] of Object.entries(reply.getHeaders())) response.setHeader(name, value!);
  try {
    while (next.done !== true && !response.destroyed) {
      const piece = next.value;
      if (memory === undefined || typeof piece === 'string') response.write(piece);
      else
        response.write(piece, (error) => {
          if (!error) memory.giveBack(piece);
        });
      next = await pieces.next();
      // Until the client has taken what was written, or is gone.
      if (response.writableNeedDrain) await untilWritable(response);
    }
    if (next.done !== true) await pieces.return?.();
    else if (!response.destroyed) response.end();
  } catch {
    response.destroy();
  }
  return reply;
}
