/**
 * Signing in with one's own name at an OpenID provider: there and back again. What belongs to the way is kept by the
 * browser in a signed cookie, and nothing here; the library is loaded when somebody first goes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cleanForeignText, codeOf, messageOf } from '../../core/errors.ts';
import { createLineBound } from '../../core/logins.ts';
import type { NamedPeople, WebAccess, WebPorts } from '../ports.ts';
import { createShares } from '../shares.ts';
import { WebError } from '../web-error.ts';
import { addressOf, type Client } from './client-address.ts';
import { MAX_NAME_CHARS, rightOf } from './guard.ts';
import type { Provider, ProviderSettings, SignInFlow } from './openid.ts';
import { isByHttps, PROVIDER_PATH, type SignIn } from './sign-in.ts';

/** What a provider says it can is asked again so much later; one that did not answer sooner. */
const KEPT_MS = 3_600_000;
const TRIED_AGAIN_MS = 5_000;
/** Each waits for the provider, which others should not have to answer for. */
const WAYS = { what: 'people who sign in', max: 16, maxOfClient: 8 };
const MAX_PATH_CHARS = 500;
/** The path below the prefix of the answers. */
const PATH = PROVIDER_PATH.replace(/^\/api/, '');

type Asking = Client & Pick<FastifyRequest, 'headers' | 'url'>;

/** What the browser keeps on its way, `to` being where it is to be led in the end. */
type Way = SignInFlow & { readonly to: string };

export function registerProvider(
  api: FastifyInstance,
  ports: Pick<WebPorts, 'clock' | 'log'>,
  access: WebAccess,
  signIn: SignIn,
): void {
  const { named } = access;
  if (named?.provider === undefined) return;
  const open = createProviderQuestion(ports, named.provider);
  const take = createShares(WAYS);
  const bound = createLineBound(ports.clock);

  /** Lead the browser on; where that fails, to the page, which says what went wrong. The log says why. */
  async function lead(
    request: Asking,
    reply: FastifyReply,
    address: () => Promise<string>,
  ): Promise<FastifyReply> {
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
      const way = writeWay({ ...flow, to: ownPath(request.query.to) });
      reply.header('set-cookie', signIn.sessions.keep(way, isByHttps(request, access)));
      return address;
    }),
  );
  const fromElsewhere = { config: { isOpen: true, isFromElsewhere: true } };
  api.get(`${PATH}/return`, fromElsewhere, (request, reply) =>
    lead(request, reply, () => finish(request, reply, named)),
  );

  /** The cookie is set; where to lead the browser. */
  async function finish(request: Asking, reply: FastifyReply, people: NamedPeople): Promise<string> {
    const { sessions, ended } = signIn;
    const kept = sessions.readKept(request.headers.cookie);
    if (kept === undefined)
      throw new WebError(400, 'sign-in-expired', 'the way began elsewhere, or too long ago');
    const { to, ...flow } = readWay(kept);
    const [, query = ''] = request.url.split(/\?(.*)/s);
    const person = await (await open()).finish(query, flow);
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

/** Neither has spaces in it. */
function writeWay({ state, nonce, verifier, to }: Way): string {
  return [state, nonce, verifier, to].join(' ');
}

/** It is what we signed. */
function readWay(text: string): Way {
  const [state, nonce, verifier, to] = text.split(' ') as [string, string, string, string];
  return { state, nonce, verifier, to };
}

/** Asked once for all, and again after a while. Throws what `openProvider` throws. */
function createProviderQuestion(
  { clock }: Pick<WebPorts, 'clock'>,
  settings: ProviderSettings,
): () => Promise<Provider> {
  let asked: { readonly provider: Promise<Provider>; untilMs: number } | undefined;
  return async () => {
    if (asked === undefined || clock.monotonicMs() >= asked.untilMs) {
      const provider = import('./openid.ts').then(({ openProvider }) => openProvider(settings));
      const one = { provider, untilMs: clock.monotonicMs() + KEPT_MS };
      asked = one;
      provider.catch(() => {
        one.untilMs = clock.monotonicMs() + TRIED_AGAIN_MS;
      });
    }
    return await asked.provider;
  };
}

/** A path of this page; what is none, or of another site, is its start. */
function ownPath(to: unknown): string {
  const base = 'http://page.invalid';
  const url = typeof to === 'string' && /^\/(?![/\\])/.test(to) ? URL.parse(to, base) : null;
  if (url === null || url.origin !== base || to === undefined || String(to).length > MAX_PATH_CHARS)
    return '/';
  const path = `${url.pathname}${url.search}`;
  // '/.//host' is '//host' once it is read.
  return path.startsWith('//') ? '/' : path;
}
