/** A published OpenID provider with people in groups, and a browser that signs in there without a screen. */
import { generateKeyPairSync } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { Provider } from 'oidc-provider';
import { vi } from 'vitest';
import type { ProviderSettings } from '../../src/web/sign-in/openid.ts';
import { startHttpServer } from './http-server.ts';

const CLIENT = { clientId: 'the page', clientSecret: 'a secret of the page & 100%' };
const CLAIMS = ['preferred_username', 'groups'];

export type TestProvider = Awaited<ReturnType<typeof startProvider>>;

interface ProviderOptions {
  /** By the name one signs in with. */
  readonly people: Readonly<Record<string, readonly string[]>>;
  /** Claims stand in the ID token too. */
  readonly isWhole?: boolean;
  readonly method?: 'client_secret_basic' | 'client_secret_post';
}

export async function startProvider(options: ProviderOptions) {
  const { people, isWhole = false, method = 'client_secret_basic' } = options;
  // It warns of its defaults, which no production should have.
  const silenced = (['warn', 'info', 'log'] as const).map((name) =>
    vi.spyOn(console, name).mockReturnValue(),
  );
  const { url: issuer, close } = await startHttpServer((request, response) => {
    started.asked.push(request.url!.split('?', 1)[0]!);
    (started.instead ?? answer)(request, response);
  });
  let answer: RequestListener;
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const settings: { -readonly [Key in keyof ProviderSettings]: ProviderSettings[Key] } = {
    ...{ issuer, ...CLIENT, scope: 'openid profile', redirectUri: '' },
    ...{ nameClaim: 'preferred_username', groupsClaim: 'groups' },
  };
  const started = {
    issuer,
    /** Of a page; its own address is put in by `serves`. */
    settings,
    /** The page whose people are sent here. */
    serves(pageUrl: string) {
      const redirectUri = `${pageUrl}/api/session/provider/return`;
      settings.redirectUri = redirectUri;
      const provider = new Provider(issuer, {
        clients: [
          {
            ...{
              client_id: CLIENT.clientId,
              client_secret: CLIENT.clientSecret,
              redirect_uris: [redirectUri],
            },
            ...{ grant_types: ['authorization_code'], response_types: ['code'] },
            token_endpoint_auth_method: method,
          },
        ],
        clientAuthMethods: [method],
        findAccount: (_context: unknown, name: string) => ({
          accountId: name,
          claims: () => ({ sub: name, preferred_username: name.toUpperCase(), groups: people[name] ?? [] }),
        }),
        claims: { openid: ['sub'], profile: CLAIMS },
        conformIdTokenClaims: !isWhole,
        cookies: { keys: ['of this test'] },
        // Its own are the same for everybody.
        jwks: { keys: [{ ...keys.privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
        pkce: { required: () => true },
      });
      answer = provider.callback();
    },
    /** The provider itself. */
    answer: ((request, response) => answer(request, response)) as RequestListener,
    /** What answers in its place; undefined: it does. */
    instead: undefined as RequestListener | undefined,
    /** Paths that it was asked for. */
    asked: [] as string[],
    async [Symbol.asyncDispose]() {
      for (const spy of silenced) spy.mockRestore();
      await close();
    },
  };
  return started;
}

/** Cookies of one browser, by name; it follows where it is led, and fills in the forms of the provider. */
export class HeadlessBrowser {
  readonly cookies = new Map<string, string>();

  async visit(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return answer;
  }

  /** Led from `start` until the page shows something of its own, as `login`; the last address, and those on the way. */
  async signIn(pageUrl: string, login: string, start = '/api/session/provider'): Promise<URL[]> {
    const way = [new URL(start, pageUrl)];
    let init: RequestInit = {};
    for (let steps = 0; steps < 20; steps++) {
      const here = way.at(-1)!;
      if (here.origin === pageUrl && !here.pathname.startsWith('/api/')) return way;
      const answer = await this.visit(here.href, init);
      const location = answer.headers.get('location');
      const text = await answer.text();
      if (location !== null) {
        init = {};
        way.push(new URL(location, here));
        continue;
      }
      const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
      const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
      if (action === undefined || prompt === undefined)
        throw new Error(`${here}: ${answer.status} ${text.slice(0, 300)}`);
      init = { method: 'POST', body: new URLSearchParams({ prompt, login, password: 'any' }) };
      way.push(new URL(action, here));
    }
    throw new Error(`led around: ${way.join(' → ')}`);
  }
}
