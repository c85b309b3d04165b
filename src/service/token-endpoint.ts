/** `POST {auth_url}/oauth2/token`: OAuth 2.0 client credentials. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from './http-error.ts';
import { refuseByFault } from './request-faults.ts';
import type { RouteContext } from './routes.ts';

/** First path segment of the authentication URL. */
export const AUTH_SEGMENT = 'auth';

export function registerTokenEndpoint(app: FastifyInstance, context: RouteContext): void {
  app.post(`/${AUTH_SEGMENT}/oauth2/token`, async (request, reply) => {
    const url = request.raw.url!;
    const seen = context.journal.begin('token', request.method, new URL(url, 'http://service'));
    reply.raw.once('close', () => {
      seen.status ??= reply.statusCode;
    });
    const n = context.journal.count('token');
    const fault = context.faults?.({ family: 'token', method: request.method, url, range: undefined, n });
    refuseByFault(fault, undefined, () => context.authority.revokeAll());
    if (fault?.kind === 'garbage')
      return reply.type(fault.contentType ?? 'application/json').send(fault.body);
    const client = context.authority.authenticate(request.headers.authorization);
    seen.clientId = client.clientId;
    requireGrant(request);
    const { accessToken, expiresInSeconds, scope } = await context.authority.issue(client);
    return reply.header('cache-control', 'no-store').send({
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: expiresInSeconds,
      scope,
    });
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
