/** The body of `POST /{family}/query`: a JSON array of at least one expression. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { HttpError } from './http-error.ts';

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
    throw new HttpError(400, 'the body is not JSON, expected an array of strings <domain>/<expression>');
  }
  const parsed = querySchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const where = issue.path.length === 0 ? 'the body' : `element ${issue.path.join('.')} of the body`;
    throw new HttpError(
      400,
      `${where}: ${issue.message}; expected an array of strings <domain>/<expression>`,
    );
  }
  return [...new Set(parsed.data)];
}
