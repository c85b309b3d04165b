/** `POST {auth_url}/oauth2/token`: OAuth 2.0 client credentials (RFC 6749 §4.4). */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from '../../core/logins.ts';
import { beginRequest, interceptedBody } from '../hooks.ts';
import type { ServiceClient, TokenAuthority } from './credentials.ts';
import { OAuthError } from './http-error.ts';
import type { RouteContext } from './routes.ts';

export const AUTH_SEGMENT = 'auth';

const MAX_TOKEN_BODY_BYTES = 4 * 1024;

/** Rate limit → client id and secret → body → token. */
export function registerTokenEndpoint(app: FastifyInstance, context: RouteContext): void {
  app.post(`/${AUTH_SEGMENT}/oauth2/token`, async (request, reply) => {
    const seen = beginRequest(context.hooks, 'token', new URL(request.raw.url!, 'http://service'), reply);
    const address = clientAddress(request.socket.remoteAddress);
    context.rateLimit(address, context.clock.nowMs());
    const client = context.authority.authenticate(request.headers.authorization, address);
    seen.clientId = client.clientId;
    context.accessLog.identify(request.raw, client.clientId);
    await requireGrant(context, client, request, reply);
    reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('pragma', 'no-cache');
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

/** Throws OAuthError unless the body asks for client credentials, once, as the client of the header. Empty and unknown fields do not count (§3.2). */
async function requireGrant(
  { readBody }: RouteContext,
  client: ServiceClient,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType.trim()))
    throw new OAuthError(
      'invalid_request',
      `got Content-Type '${contentType.slice(0, 200)}', expected application/x-www-form-urlencoded`,
    );
  const fields = new URLSearchParams(await readBody(request, reply, MAX_TOKEN_BODY_BYTES));
  for (const name of new Set(fields.keys()))
    if (fields.getAll(name).length > 1)
      throw new OAuthError('invalid_request', `field '${name.slice(0, 200)}' is given more than once`);
  for (const name of ['client_secret', 'client_assertion'])
    if (fields.get(name))
      throw new OAuthError('invalid_request', `field '${name}' beside HTTP Basic; send one of them`);
  if (![null, '', client.clientId].includes(fields.get('client_id')))
    throw new OAuthError('invalid_request', "field 'client_id' names another client than HTTP Basic does");
  const grant = fields.get('grant_type');
  if (!grant)
    throw new OAuthError('invalid_request', "field 'grant_type' is missing, expected client_credentials");
  if (grant !== 'client_credentials')
    throw new OAuthError(
      'unsupported_grant_type',
      `got grant_type '${grant.slice(0, 200)}', expected client_credentials`,
    );
}
