/**
 * Access control of the page.
 *
 *   the page          is served if the process listens on this machine alone, or if users have to sign in
 *   reading           for users who have signed in, or whom a proxy names; without sign-in for everyone, but only under a name
 *                     of this machine: another name that resolves to it (DNS rebinding) is refused
 *   acting            for users who have signed in with WEB_ACT_PASSWORD or are in one of WEB_ACT_GROUPS, by a request that
 *                     only a script of this page can send; a refused attempt is logged
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { cleanForeignText, codeOf, messageOf } from '../../core/errors.ts';
import { createLineBound } from '../../core/logins.ts';
import { isLoopbackHost } from '../../core/model/web-address.ts';
import { namesOf } from '../act-body.ts';
import type { NamedPeople, Right, WebAccess, WebPorts } from '../ports.ts';
import { addressOf } from '../shares.ts';
import { WebError } from '../web-error.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { Session, Sessions } from './sessions.ts';

interface Actor {
  readonly name: string;
  readonly namedBy: Session['namedBy'];
  readonly address: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the user may act: always in routes of other methods than GET and HEAD. */
    actor: Actor | undefined;
    /** The user who has signed in, or whom a proxy names. */
    session: Session | undefined;
    /** Why a known user may not act: thrown after the body was read, so that the log has the act. */
    refusal: unknown;
  }
  interface FastifyContextConfig {
    /** Answered without a sign-in too. */
    readonly isOpen?: boolean;
    /** Browsers come here from another site: the route checks what they bring. */
    readonly isFromElsewhere?: boolean;
  }
}

/** A header that no form can send, and no script of another site without a preflight request, which we do not answer. */
const ACT_HEADER = 'x-vessel-export';
export const MAX_NAME_CHARS = 64;

function isUnasked({ readPassword, named }: WebAccess): boolean {
  return readPassword === undefined && named === undefined;
}

/** Why the page is not served at all; undefined if it is. */
export function closedBecause(access: WebAccess): string | undefined {
  if (!isUnasked(access) || isLoopbackHost(access.host)) return undefined;
  return `The page is not served: HTTP_HOST is '${access.host}', where others can reach it, and no sign-in is configured. Set WEB_READ_PASSWORD (at least 12 characters), WEB_OIDC_ISSUER or WEB_USER_HEADER, or HTTP_HOST=127.0.0.1.`;
}

/** Refuse foreign host names if reading is open. For every request, including files. */
export function guardHost(server: FastifyInstance, access: WebAccess): void {
  if (!isUnasked(access)) return;
  server.addHook('onRequest', async (request) => {
    const { host = '' } = request.headers;
    const url = URL.parse(`http://${host}/`);
    if (url !== null && url.host !== '' && !/[@/?#\\]/.test(host) && isLoopbackHost(url.hostname)) return;
    const found = `the address names the host '${host}'`;
    const text = `${found}, expected localhost, 127.0.0.1 or [::1]; set WEB_READ_PASSWORD to reach the page under other names`;
    throw new WebError(403, 'host-refused', text);
  });
}

export function guardApi(
  api: FastifyInstance,
  { clock, log }: Pick<WebPorts, 'clock' | 'log'>,
  access: WebAccess,
  { sessions, ended }: { readonly sessions: Sessions; readonly ended: EndedSessions },
): void {
  const bound = createLineBound(clock);
  api.decorateRequest('actor', undefined);
  api.decorateRequest('session', undefined);
  api.decorateRequest('refusal', undefined);

  async function sessionOf(request: FastifyRequest): Promise<Session | undefined> {
    const named = namedByProxy(request, access);
    if (named !== undefined) return named;
    const session = sessions.read(request.headers.cookie);
    return session === undefined || (await ended.isEnded(session)) ? undefined : session;
  }

  function refuse(request: FastifyRequest, isReading: boolean): void {
    const { routeOptions, session } = request;
    if (routeOptions.config.isFromElsewhere !== true) refuseOtherSites(request, isReading);
    if (routeOptions.config.isOpen === true) return;
    if (isReading ? mayRead(access, session) : session?.right === 'act') return;
    if (!isReading && !canAct(access)) {
      const text = 'this page accepts no actions: WEB_ACT_PASSWORD and WEB_ACT_GROUPS are not set';
      throw new WebError(403, 'acting-is-off', text);
    }
    if (session === undefined) throw new WebError(401, 'sign-in-needed', 'sign in first');
    const needed =
      session.namedBy === 'nobody' ? 'the password for acting: sign in with it' : 'a group of WEB_ACT_GROUPS';
    throw new WebError(403, 'may-not-act', `this needs ${needed}`);
  }

  api.addHook('onRequest', async (request) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    const session = await sessionOf(request);
    request.session = session;
    const address = addressOf(request);
    if (session?.right === 'act') request.actor = { name: session.name, namedBy: session.namedBy, address };
    try {
      refuse(request, isReading);
    } catch (error) {
      if (isReading || request.routeOptions.config.isOpen === true) throw error;
      if (codeOf(error) !== 'may-not-act') throw refused(request, error);
      request.refusal = error;
    }
  });
  api.addHook('preHandler', async (request) => {
    if (request.refusal !== undefined) throw refused(request, request.refusal);
  });

  /** Logs a line, but only a bounded number per minute. */
  function refused(request: FastifyRequest, error: unknown): unknown {
    const { session, body } = request;
    const line = bound();
    if (line === undefined) return error;
    const who = {
      by: session?.name ?? null,
      namedBy: session?.namedBy ?? null,
      address: addressOf(request),
    };
    const why = { outcome: 'refused', code: codeOf(error), reason: messageOf(error) };
    log.warn({ ...who, ...namesOf(body), ...why, ...line }, 'act');
    return error;
  }
}

export function mayRead(access: WebAccess, session: Session | undefined): boolean {
  return session !== undefined || isUnasked(access);
}

export function canAct({ actPassword, named }: WebAccess): boolean {
  return actPassword !== undefined || (named?.actGroups.length ?? 0) > 0;
}

/** The rights of a user whom a provider or a proxy names; undefined: none. */
export function rightOf(
  { readGroups, actGroups }: NamedPeople,
  groups: readonly string[],
): Right | undefined {
  if (groups.some((group) => actGroups.includes(group))) return 'act';
  const mayLook = readGroups === undefined || groups.some((group) => readGroups.includes(group));
  return mayLook ? 'read' : undefined;
}

/** Only for connections from a trusted proxy; if a header comes twice, one of them is forged. */
function namedByProxy({ raw }: FastifyRequest, { named, isProxy }: WebAccess): Session | undefined {
  if (named?.headers === undefined || isProxy?.(raw.socket.remoteAddress) !== true) return undefined;
  const only = (header: string | undefined) => {
    const [value, ...more] = (header && raw.headersDistinct[header]) || [];
    // Node.js reads the bytes of a header as Latin-1, and proxies write UTF-8.
    return more.length > 0 ? undefined : Buffer.from(value ?? '', 'latin1').toString('utf8');
  };
  const [user, groups] = [only(named.headers.user), only(named.headers.groups)];
  const name = cleanForeignText(user ?? '', [], MAX_NAME_CHARS).trim();
  if (name === '' || groups === undefined) return undefined;
  const right = rightOf(
    named,
    groups.split(',').map((group) => group.trim()),
  );
  return right && { name, right, namedBy: 'proxy' };
}

/** Whether another site made the browser send this: by the browser's own headers, and by the one that no form can send. */
function refuseOtherSites({ headers }: FastifyRequest, isReading: boolean): void {
  const site = headers['sec-fetch-site'];
  const isOurs = site === undefined || site === 'same-origin' || (isReading && site === 'none');
  const { origin } = headers;
  const isSame = origin === undefined || (headers.host ?? '') === URL.parse(origin)?.host;
  if (!isOurs || !isSame) {
    const text = "the request comes from another site's page; behind a proxy, have it pass the header Host";
    throw new WebError(403, 'other-site', text);
  }
  if (isReading) return;
  if (headers[ACT_HEADER] !== 'act')
    throw new WebError(403, 'no-act-header', `expected the header '${ACT_HEADER}: act'`);
  if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? ''))
    throw new WebError(415, 'not-json', "expected a body of content-type 'application/json'");
}
