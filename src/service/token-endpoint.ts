/** `POST {auth_url}/oauth2/token`: OAuth 2.0 client credentials. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from '../logins.ts';
import type { ServiceClient, TokenAuthority } from './credentials.ts';
import { beginRequest, interceptedBody } from './hooks.ts';
import { HttpError } from './http-error.ts';
import type { RouteContext } from './routes.ts';

/** First path segment of the authentication URL. */
export const AUTH_SEGMENT = 'auth';

const MAX_TOKEN_BODY_BYTES = 4 * 1024;

/** Rate limit → client id and secret → body → token. */
export function registerTokenEndpoint(app: FastifyInstance, context: RouteContext): void {
  app.post(`/${AUTH_SEGMENT}/oauth2/token`, async (request, reply) => {
    const seen = beginRequest(context.hooks, 'token', new URL(request.raw.url!, 'http://service'), reply);
    const address = clientAddress(request.socket.remoteAddress);
    context.rateLimit.take(address, context.clock.nowMs());
    const client = context.authority.authenticate(request.headers.authorization, address);
    seen.clientId = client.clientId;
    context.accessLog.identify(request.raw, client.clientId);
    await requireGrant(context, request, reply);
    reply.type('application/json; charset=utf-8').header('cache-control', 'no-store');
    const body = await interceptedBody(context.hooks, {
      request: seen,
      reply,
      body: () => issueToken(context.authority, client),
    });
    return reply.send(typeof body === 'string' ? body : Readable.from(body));
  });
}

async function issueToken(authority: TokenAuthority, client: ServiceClient): Promise<string> {
  const { accessToken, expiresInSeconds, scope } = await authority.issue(client);
  return JSON.stringify({
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    scope,
  });
}

async function requireGrant(
  { bodies }: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType.trim()))
    throw new HttpError(
      415,
      `got Content-Type '${contentType.slice(0, 200)}', expected application/x-www-form-urlencoded`,
    );
  const body = await bodies.read(request, reply, MAX_TOKEN_BODY_BYTES);
  const grant = new URLSearchParams(body).get('grant_type');
  if (grant !== 'client_credentials')
    throw new HttpError(400, `got grant_type '${(grant ?? '').slice(0, 200)}', expected client_credentials`);
}
