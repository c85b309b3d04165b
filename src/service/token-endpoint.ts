/** `POST {auth_url}/oauth2/token`: OAuth 2.0 client credentials. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TokenAuthority } from './credentials.ts';
import type { ServedRequest } from './hooks.ts';
import { beginRequest, interceptedBody } from './hooks.ts';
import { HttpError } from './http-error.ts';
import type { RouteContext } from './routes.ts';

/** First path segment of the authentication URL. */
export const AUTH_SEGMENT = 'auth';

export function registerTokenEndpoint(app: FastifyInstance, context: RouteContext): void {
  app.post(`/${AUTH_SEGMENT}/oauth2/token`, async (request, reply) => {
    const seen = beginRequest(context.hooks, 'token', new URL(request.raw.url!, 'http://service'), reply);
    reply.type('application/json; charset=utf-8').header('cache-control', 'no-store');
    const body = await interceptedBody(context.hooks, {
      request: seen,
      reply,
      body: () => issueToken(context.authority, request, seen),
    });
    return reply.send(typeof body === 'string' ? body : Readable.from(body));
  });
}

async function issueToken(
  authority: TokenAuthority,
  request: FastifyRequest,
  seen: ServedRequest,
): Promise<string> {
  const client = authority.authenticate(request.headers.authorization);
  seen.clientId = client.clientId;
  requireGrant(request);
  const { accessToken, expiresInSeconds, scope } = await authority.issue(client);
  return JSON.stringify({
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    scope,
  });
}

function requireGrant(request: FastifyRequest): void {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType.trim()))
    throw new HttpError(415, `got Content-Type '${contentType}', expected application/x-www-form-urlencoded`);
  const grant = new URLSearchParams(String(request.body ?? '')).get('grant_type');
  if (grant !== 'client_credentials')
    throw new HttpError(400, `got grant_type '${grant ?? ''}', expected client_credentials`);
}
