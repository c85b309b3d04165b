/**
 * Who may see the page, and who may act.
 *
 *   the page          where the process listens on this machine alone, or WEB_READ_PASSWORD is set
 *   reading           who has signed in; everyone where no WEB_READ_PASSWORD is set, under a name of this machine only:
 *                     a name of elsewhere that resolves to it (DNS rebinding) is refused
 *   acting            who has signed in with WEB_ACT_PASSWORD, by a request that only a script of this page can make
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cleanForeignText } from '../errors.ts';
import { clientAddress, LoginGuard } from '../logins.ts';
import { isLoopbackHost } from '../model/web-address.ts';
import type { SessionAnswer } from './answers.ts';
import type { WebAccess, WebPorts } from './ports.ts';
import type { Session, Sessions } from './sessions.ts';
import { WebError } from './web-error.ts';

/** Who acts, for the log. */
export interface Actor {
  readonly name: string;
  readonly address: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where who asks may act: always in routes of other methods than GET and HEAD. */
    actor: Actor | undefined;
    /** Whoever has signed in. */
    session: Session | undefined;
  }
  interface FastifyContextConfig {
    /** Answered to those too who have not signed in. */
    readonly isOpen?: boolean;
  }
}

/** A header that no form can send, and no script of another site without asking first, which we do not answer. */
const ACT_HEADER = 'x-vessel-export';
const MAX_NAME_CHARS = 64;

/** Why the page is not served here at all; undefined where it is. */
export function closedBecause({ host, readPassword }: WebAccess): string | undefined {
  if (readPassword !== undefined || isLoopbackHost(host)) return undefined;
  return `The page is not served: HTTP_HOST is '${host}', where others can reach it, and there is no password for reading. Set WEB_READ_PASSWORD (at least 12 characters), or HTTP_HOST=127.0.0.1.`;
}

/** Refuse names of elsewhere where reading is open. For every request, also of files. */
export function guardHost(server: FastifyInstance, { readPassword }: WebAccess): void {
  if (readPassword !== undefined) return;
  server.addHook('onRequest', async (request) => {
    const { host = '' } = request.headers;
    const url = URL.parse(`http://${host}/`);
    if (url !== null && url.host !== '' && !/[@/?#\\]/.test(host) && isLoopbackHost(url.hostname)) return;
    const found = `the address names the host '${host}'`;
    throw new WebError(
      403,
      'host-refused',
      `${found}, expected localhost, 127.0.0.1 or [::1]; set WEB_READ_PASSWORD to reach the page under other names`,
    );
  });
}

/** Guards of everything below /api, and its sign-in and sign-out. */
export function guardApi(
  api: FastifyInstance,
  { clock, log }: Pick<WebPorts, 'clock' | 'log'>,
  access: WebAccess,
  sessions: Sessions,
): void {
  api.decorateRequest('actor', undefined);
  api.decorateRequest('session', undefined);
  api.addHook('onRequest', async (request) => {
    const { headers, method, socket, routeOptions } = request;
    const isReading = method === 'GET' || method === 'HEAD';
    refuseOtherSites(request, isReading);
    const session = sessions.read(headers.cookie);
    request.session = session;
    if (session?.right === 'act')
      request.actor = { name: session.name, address: clientAddress(socket.remoteAddress) };
    if (routeOptions.config.isOpen === true) return;
    if (isReading ? mayRead(access, session) : session?.right === 'act') return;
    if (!isReading && access.actPassword === undefined)
      throw new WebError(403, 'acting-is-off', 'nobody acts by this page: WEB_ACT_PASSWORD is not set');
    if (session === undefined) throw new WebError(401, 'sign-in-needed', 'sign in first');
    throw new WebError(403, 'may-not-act', 'this needs the password for acting: sign in with it');
  });

  const secrets = [access.readPassword, access.actPassword].filter((secret) => secret !== undefined);
  const guard = new LoginGuard({
    ...{ where: 'the page', clock, log, secrets },
    ...(access.onLoginFailed && { onFailure: access.onLoginFailed }),
  });
  const answer = (session: Session | undefined): SessionAnswer => ({
    user: session === undefined ? null : { name: session.name },
    mayRead: mayRead(access, session),
    mayAct: session?.right === 'act',
    canSignIn: secrets.length > 0,
    canAct: access.actPassword !== undefined,
  });
  api.get('/session', { config: { isOpen: true } }, async ({ session }) => answer(session));
  api.post('/session', { config: { isOpen: true } }, async (request, reply) => {
    const { name, password } = readSignIn(request.body);
    const address = clientAddress(request.socket.remoteAddress);
    const outcome = guard.attempt(address, { name, secret: password }, () => sessions.rightOf(password));
    if (outcome.state === 'locked') throw lockedOut(reply, outcome.retryAfterSeconds);
    if (outcome.state === 'wrong') throw new WebError(401, 'wrong-password', 'the password is wrong');
    const session = { name: cleanForeignText(name, secrets, MAX_NAME_CHARS), right: outcome.value };
    const isSecure = request.headers['x-forwarded-proto'] === 'https';
    reply.header('set-cookie', sessions.begin(session, isSecure));
    log.info({ ...session, address }, 'somebody has signed in at the page');
    return answer(session);
  });
  api.post('/session/end', { config: { isOpen: true } }, async (_request, reply) => {
    reply.header('set-cookie', sessions.end());
    return answer(undefined);
  });
}

function mayRead({ readPassword }: WebAccess, session: Session | undefined): boolean {
  return readPassword === undefined || session !== undefined;
}

/** What another site's page has a browser send: by what the browser says of it, and by what no form can send. */
function refuseOtherSites({ headers }: FastifyRequest, isReading: boolean): void {
  const site = headers['sec-fetch-site'];
  const isOurs = site === undefined || site === 'same-origin' || (isReading && site === 'none');
  const { origin } = headers;
  const isSame = origin === undefined || (headers.host ?? '') === URL.parse(origin)?.host;
  if (!isOurs || !isSame)
    throw new WebError(
      403,
      'other-site',
      "the request comes from another site's page; behind a proxy, have it pass the header Host",
    );
  if (isReading) return;
  if (headers[ACT_HEADER] !== 'act')
    throw new WebError(403, 'no-act-header', `expected the header '${ACT_HEADER}: act'`);
  if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? ''))
    throw new WebError(415, 'not-json', "expected a body of content-type 'application/json'");
}

function readSignIn(body: unknown): { readonly name: string; readonly password: string } {
  const { name, password } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || cleanForeignText(name, [], MAX_NAME_CHARS) === '')
    throw new WebError(400, 'usage', 'expected a name: the log says by it who did what');
  if (typeof password !== 'string') throw new WebError(400, 'usage', 'expected a password');
  return { name, password };
}

function lockedOut(reply: FastifyReply, seconds: number): WebError {
  reply.header('retry-after', String(seconds));
  return new WebError(429, 'locked-out', `too many failed sign-ins; try again in ${seconds} s`);
}
