/** Signing in and out, by password or provider. The browser keeps the state of a sign-in in a signed cookie. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { shareAnswer } from '../../core/concurrency.ts';
import { cleanForeignText, codeOf, messageOf } from '../../core/errors.ts';
import { createLineBound, createLoginGuard } from '../../core/logins.ts';
import type { SessionAnswer } from '../answers.ts';
import type { NamedPeople, WebAccess, WebPorts } from '../ports.ts';
import { addressOf, type Client, createShares } from '../shares.ts';
import { WebError } from '../web-error.ts';
import type { EndedSessions } from './ended-sessions.ts';
import { canAct, MAX_NAME_CHARS, mayRead, rightOf } from './guard.ts';
import type { Session, Sessions } from './sessions.ts';

type SignIn = { readonly sessions: Sessions; readonly ended: EndedSessions };

const PROVIDER_PATH = '/api/session/provider';

export function registerSignIn(
  api: FastifyInstance,
  { clock, log }: Pick<WebPorts, 'clock' | 'log'>,
  access: WebAccess,
  { sessions, ended }: SignIn,
): void {
  const secrets = [access.readPassword, access.actPassword].filter((secret) => secret !== undefined);
  const guard = createLoginGuard({
    ...{ where: 'the page', clock, log, secrets },
    ...(access.onLoginFailed && { onFailure: access.onLoginFailed }),
  });
  const answer = (session: Session | undefined): SessionAnswer => ({
    user: session === undefined ? null : { name: session.name },
    mayRead: mayRead(access, session),
    mayAct: session?.right === 'act',
    canSignIn: secrets.length > 0,
    providerUrl: access.named?.provider === undefined ? null : PROVIDER_PATH,
    canSignOut: session?.id !== undefined,
    canAct: canAct(access),
  });

  /** A browser that has signed in before has its own attempts, with that password only: others cannot lock it out. */
  function attempt(request: FastifyRequest, name: string, password: string) {
    const login = { name, secret: password };
    const outcome = guard.attempt(addressOf(request), login, () => sessions.rightOf(password));
    const known = outcome.state === 'locked' ? sessions.readKnown(request.headers.cookie) : undefined;
    if (known === undefined) return outcome;
    return guard.attempt(`browser ${known.id}`, login, () =>
      sessions.rightOf(password) === known.right ? known.right : undefined,
    );
  }

  api.get('/session', { config: { isOpen: true } }, async ({ session }) => answer(session));
  api.post('/session', { config: { isOpen: true } }, async (request, reply) => {
    const { name, password } = readSignIn(request.body);
    const outcome = attempt(request, name, password);
    if (outcome.state === 'locked') {
      const { retryAfterSeconds: seconds } = outcome;
      reply.header('retry-after', String(seconds));
      throw new WebError(429, 'locked-out', `too many failed sign-ins; try again in ${seconds} s`);
    }
    if (outcome.state === 'wrong') throw new WebError(401, 'wrong-password', 'the password is wrong');
    const right = outcome.value;
    const shown = cleanForeignText(name, secrets, MAX_NAME_CHARS);
    const isSecure = isByHttps(request, access);
    const session = { name: shown, right, namedBy: 'nobody' } as const;
    const begun = sessions.begin(session, isSecure, await ended.notBeforeS());
    reply.header('set-cookie', [begun, sessions.know(right, isSecure)]);
    log.info({ name: shown, right, address: addressOf(request) }, 'somebody has signed in at the page');
    return answer(sessions.read(begun));
  });
  api.post('/session/end', { config: { isOpen: true } }, async ({ session }, reply) => {
    reply.header('set-cookie', sessions.end());
    if (session !== undefined) await ended.end(session);
    return answer(undefined);
  });
}

/** Each proxy adds how it was reached. A client that forges it harms only itself. */
function isByHttps({ headers }: Pick<FastifyRequest, 'headers'>, { isHttps }: WebAccess): boolean {
  const said = String(headers['x-forwarded-proto'] ?? '').split(',');
  return isHttps === true || said.some((one) => one.trim().toLowerCase() === 'https');
}

function readSignIn(body: unknown): { readonly name: string; readonly password: string } {
  const { name, password } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || cleanForeignText(name, [], MAX_NAME_CHARS) === '')
    throw new WebError(400, 'usage', 'expected a name, which the log uses for your actions');
  if (typeof password !== 'string') throw new WebError(400, 'usage', 'expected a password');
  return { name, password };
}

/** Time until the provider's metadata are read again; shorter after a failure. */
const KEPT_MS = 3_600_000;
const TRIED_AGAIN_MS = 5_000;
/** Maximum of sign-ins that wait for the provider at once. */
const WAYS = { what: 'people who sign in', max: 16, maxOfClient: 8 };
const MAX_PATH_CHARS = 500;
const PATH = PROVIDER_PATH.replace(/^\/api/, '');

type Asking = Client & Pick<FastifyRequest, 'headers' | 'url'>;

export function registerProvider(
  api: FastifyInstance,
  ports: Pick<WebPorts, 'clock' | 'log'>,
  access: WebAccess,
  signIn: SignIn,
): void {
  const { named } = access;
  if (named?.provider === undefined) return;
  const { provider } = named;
  const openNow = () => import('./openid.ts').then(({ openProvider }) => openProvider(provider));
  const open = shareAnswer(ports.clock, openNow, KEPT_MS, TRIED_AGAIN_MS);
  const take = createShares(WAYS);
  const bound = createLineBound(ports.clock);

  /** Redirect the browser; if that fails, to the page, which shows the code. The log has the reason. */
  async function lead(request: Asking, reply: FastifyReply, address: () => Promise<string>) {
    try {
      take(request, reply, 1);
      return reply.redirect(await address(), 303);
    } catch (error) {
      const [code, line] = [codeOf(error), bound()];
      const why = { address: addressOf(request), code, reason: messageOf(error) };
      if (line !== undefined) ports.log.warn({ ...why, ...line }, 'a sign-in by the provider failed');
      if (code.startsWith('sign-in-')) access.onLoginFailed?.('wrong');
      return reply.redirect(`/?sign-in=${encodeURIComponent(code)}`, 303);
    }
  }

  api.get<{ Querystring: { readonly to?: unknown } }>(PATH, { config: { isOpen: true } }, (request, reply) =>
    lead(request, reply, async () => {
      const { address, flow } = await (await open()).begin();
      // None of them has a space in it.
      const way = [flow.state, flow.nonce, flow.verifier, ownPath(request.query.to)].join(' ');
      reply.header('set-cookie', signIn.sessions.keep(way, isByHttps(request, access)));
      return address;
    }),
  );
  const fromElsewhere = { config: { isOpen: true, isFromElsewhere: true } };
  api.get(`${PATH}/return`, fromElsewhere, (request, reply) =>
    lead(request, reply, () => finish(request, reply, named)),
  );

  async function finish(request: Asking, reply: FastifyReply, people: NamedPeople): Promise<string> {
    const { sessions, ended } = signIn;
    const kept = sessions.readKept(request.headers.cookie);
    if (kept === undefined)
      throw new WebError(400, 'sign-in-expired', 'the way began elsewhere, or too long ago');
    // It is what we signed.
    const [state, nonce, verifier, to] = kept.split(' ') as [string, string, string, string];
    const [, query = ''] = request.url.split(/\?(.*)/s);
    const person = await (await open()).finish(query, { state, nonce, verifier });
    const name = cleanForeignText(person.name, [], MAX_NAME_CHARS);
    const who = { name, subject: person.subject, address: addressOf(request) };
    const right = rightOf(people, person.groups);
    if (right === undefined)
      throw new WebError(403, 'sign-in-not-allowed', `${name} (${person.subject}) is in none of the groups`);
    const isSecure = isByHttps(request, access);
    const session = { name, right, namedBy: 'provider' } as const;
    reply.header('set-cookie', sessions.begin(session, isSecure, await ended.notBeforeS()));
    ports.log.info({ ...who, right }, 'somebody has signed in at the page');
    return to;
  }
}

/** A path of this page; anything else becomes its start. */
function ownPath(to: unknown): string {
  const base = 'http://page.invalid';
  const url = typeof to === 'string' && /^\/(?![/\\])/.test(to) ? URL.parse(to, base) : null;
  if (url === null || url.origin !== base || to === undefined || String(to).length > MAX_PATH_CHARS)
    return '/';
  const path = `${url.pathname}${url.search}`;
  // '/.//host' is '//host' once it is read.
  return path.startsWith('//') ? '/' : path;
}
