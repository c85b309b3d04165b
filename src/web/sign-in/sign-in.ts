/** Signing in with a password, signing out, and who has signed in. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cleanForeignText } from '../../core/errors.ts';
import { LoginGuard } from '../../core/logins.ts';
import type { SessionAnswer } from '../answers.ts';
import type { WebAccess, WebPorts } from '../ports.ts';
import { WebError } from '../web-error.ts';
import { addressOf } from './client-address.ts';
import type { EndedSessions } from './ended-sessions.ts';
import { canAct, MAX_NAME_CHARS, mayRead } from './guard.ts';
import type { Session, Sessions } from './sessions.ts';

export interface SignIn {
  readonly sessions: Sessions;
  readonly ended: EndedSessions;
}

/** Where a browser begins to sign in with its provider. */
export const PROVIDER_PATH = '/api/session/provider';

export function registerSignIn(
  api: FastifyInstance,
  { clock, log }: Pick<WebPorts, 'clock' | 'log'>,
  access: WebAccess,
  { sessions, ended }: SignIn,
): void {
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
    providerUrl: access.named?.provider === undefined ? null : PROVIDER_PATH,
    canSignOut: session?.id !== undefined,
    canAct: canAct(access),
  });

  /**
   * The right that a password gives. A browser that was let in before has tries of its own, with that password alone: what
   * others try from its address does not lock it out, and it cannot guess the other one.
   */
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
    if (outcome.state === 'locked') throw lockedOut(reply, outcome.retryAfterSeconds);
    if (outcome.state === 'wrong') throw new WebError(401, 'wrong-password', 'the password is wrong');
    const right = outcome.value;
    const shown = cleanForeignText(name, secrets, MAX_NAME_CHARS);
    const isSecure = isByHttps(request, access);
    const begun = sessions.begin(
      { name: shown, right, namedBy: 'nobody' },
      isSecure,
      await ended.notBeforeS(),
    );
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

/**
 * Did the browser come by https? Each proxy on the way says how it was reached, one after the other. Anybody is believed: a
 * lie keeps one's own cookie from http, or does not.
 */
export function isByHttps({ headers }: Pick<FastifyRequest, 'headers'>, { isHttps }: WebAccess): boolean {
  const said = String(headers['x-forwarded-proto'] ?? '').split(',');
  return isHttps === true || said.some((one) => one.trim().toLowerCase() === 'https');
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
