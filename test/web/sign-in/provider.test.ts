/** Signing in with one's own name, at a published OpenID provider and at ones that misbehave. */
import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/core/model/index.ts';
import type { SessionAnswer } from '../../../src/web/answers.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { HeadlessBrowser, startProvider, type TestProvider } from '../../helpers/openid-provider.ts';
import { ACT_HEADERS, type ServedPage, servePage, type TestPagePorts } from '../../helpers/web.ts';

const PEOPLE = { ada: ['crew'], grace: ['crew', 'office'], eve: ['guests'] };

/** A page whose people are of the provider. */
async function serve(provider: TestProvider, more: Partial<TestPagePorts> = {}) {
  const lines: Record<string, unknown>[] = [];
  const add = (fields: object, msg: string) => void lines.push({ ...fields, msg });
  const page: ServedPage = await servePage(
    {
      ...{ store: createMemoryStore(), jobs: [] },
      ...{ log: { ...silentLog, info: add, warn: add }, ...more },
    },
    { named: { provider: provider.settings, readGroups: ['crew', 'office'], actGroups: ['office'] } },
  );
  provider.serves(page.url);
  return { ...page, lines };
}

async function sessionOf(page: ServedPage, browser: HeadlessBrowser): Promise<SessionAnswer> {
  return (await (await browser.visit(`${page.url}/api/session`)).json()) as SessionAnswer;
}

describe('who signs in at the provider', () => {
  test('is known by their name there, sees what they asked for, and acts by their group', async () => {
    await using provider = await startProvider({ people: PEOPLE });
    await using page = await serve(provider);
    const browser = new HeadlessBrowser();
    expect(await sessionOf(page, browser)).toMatchObject({
      ...{ user: null, mayRead: false, canSignIn: false, canAct: true, providerUrl: '/api/session/provider' },
    });
    const to = encodeURIComponent('/day/a/b/c?series=1');
    const way = await browser.signIn(page.url, 'grace', `/api/session/provider?to=${to}`);
    expect(way.at(-1)!.href).toBe(`${page.url}/day/a/b/c?series=1`);
    expect(await sessionOf(page, browser)).toMatchObject({
      ...{ user: { name: 'GRACE' }, mayRead: true, mayAct: true, canSignOut: true },
    });
    // Neither what proves it nor the secret goes by the browser.
    for (const { href } of way) expect(href).not.toMatch(/id_token|access_token|secret/);
    expect(way[1]!.searchParams.get('code_challenge_method')).toBe('S256');
    const body = JSON.stringify({ act: 'accept-warning', job: 'none', vessel: 'IMO9321483' });
    await browser.visit(`${page.url}/api/acts`, { method: 'POST', headers: ACT_HEADERS, body });
    expect(page.lines).toMatchObject([
      { name: 'GRACE', subject: 'grace', right: 'act', address: '127.0.0.1' },
      { by: 'GRACE', namedBy: 'provider', act: 'accept-warning', outcome: 'refused', code: 'unknown-job' },
    ]);
    const copied = new HeadlessBrowser();
    for (const [name, value] of browser.cookies) copied.cookies.set(name, value);
    await browser.visit(`${page.url}/api/session/end`, { method: 'POST', headers: ACT_HEADERS, body: '{}' });
    for (const one of [browser, copied]) expect((await sessionOf(page, one)).user).toBeNull();
  });

  test.for([
    { isWhole: true, method: 'client_secret_basic' },
    { isWhole: false, method: 'client_secret_post' },
  ] as const)('reads by another group, of a provider with %o', async (options) => {
    await using provider = await startProvider({ people: PEOPLE, ...options });
    await using page = await serve(provider);
    const browser = new HeadlessBrowser();
    await browser.signIn(page.url, 'ada');
    expect(await sessionOf(page, browser)).toMatchObject({
      user: { name: 'ADA' },
      mayRead: true,
      mayAct: false,
    });
    // The ID token has all there is to know.
    expect(provider.asked.includes('/me')).toBe(!options.isWhole);
  });

  test('and is in none of the groups is told so, and nobody', async () => {
    await using provider = await startProvider({ people: PEOPLE });
    await using page = await serve(provider);
    const browser = new HeadlessBrowser();
    const way = await browser.signIn(page.url, 'eve');
    expect(way.at(-1)!.href).toBe(`${page.url}/?sign-in=sign-in-not-allowed`);
    expect((await sessionOf(page, browser)).user).toBeNull();
    expect(page.lines).toMatchObject([
      { code: 'sign-in-not-allowed', address: '127.0.0.1', reason: expect.stringContaining('EVE (eve)') },
    ]);
  });

  test('is led to this page alone, whatever the address says', async () => {
    await using provider = await startProvider({ people: PEOPLE });
    await using page = await serve(provider);
    for (const to of [
      '//evil.example',
      '/\\evil.example',
      '/.//evil.example',
      '/x/..//evil.example',
      '/%2e/\\evil.example',
      'https://evil.example',
      'javascript:1',
      `/${'x'.repeat(600)}`,
    ]) {
      const start = `/api/session/provider?to=${encodeURIComponent(to)}`;
      const way = await new HeadlessBrowser().signIn(page.url, 'ada', start);
      expect(way.at(-1)!.href, to).toBe(`${page.url}/`);
    }
  });
});

describe('what comes back', () => {
  /** Led as far as the way back, which is not gone. */
  async function wayBack(page: ServedPage, browser: HeadlessBrowser, login = 'ada'): Promise<URL> {
    const way = await browser.signIn(page.url, login);
    return way.find(({ pathname }) => pathname.endsWith('/return'))!;
  }
  const codeOf = (answer: Response) =>
    new URL(answer.headers.get('location')!, 'http://x').searchParams.get('sign-in');

  test('signs nobody in that did not go, went elsewhere, or brings what was used or made up', async () => {
    await using provider = await startProvider({ people: PEOPLE });
    await using page = await serve(provider);
    const browser = new HeadlessBrowser();
    const back = await wayBack(page, browser);
    const stranger = new HeadlessBrowser();
    expect(codeOf(await stranger.visit(back.href))).toBe('sign-in-expired');
    // Somebody else's way back, in a browser that is on its own way: not to be signed in as them.
    const other = new HeadlessBrowser();
    await other.visit(`${page.url}/api/session/provider`);
    expect(codeOf(await other.visit(back.href))).toBe('sign-in-invalid');
    const [first] = [...browser.cookies].find(([name]) => name.endsWith('-kept'))!;
    for (const [name, change] of [
      ['a used code', (_url: URL) => {}],
      ['another state', (url: URL) => url.searchParams.set('state', 'x')],
      ['no state', (url: URL) => url.searchParams.delete('state')],
      ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
      ['no code', (url: URL) => url.searchParams.delete('code')],
      ['a code that is made up', (url: URL) => url.searchParams.set('code', 'x')],
      ['two codes', (url: URL) => url.searchParams.append('code', 'x')],
    ] as const) {
      const url = new URL(back);
      change(url);
      const answer = await browser.visit(url.href);
      expect([answer.status, codeOf(answer)], name).toEqual([303, 'sign-in-invalid']);
      expect(answer.headers.getSetCookie(), name).toEqual([]);
    }
    browser.cookies.set(first, `${browser.cookies.get(first)}x`);
    expect(codeOf(await browser.visit(back.href))).toBe('sign-in-expired');
    expect(JSON.stringify(page.lines)).not.toContain(provider.settings.clientSecret);
  });

  test('late, or after the person said no, is told as that', async () => {
    const clock = createManualClock();
    await using provider = await startProvider({ people: PEOPLE });
    await using page = await serve(provider, { clock });
    const browser = new HeadlessBrowser();
    const start = await browser.visit(`${page.url}/api/session/provider`);
    const { searchParams } = new URL(start.headers.get('location')!);
    const denied = new URL(provider.settings.redirectUri);
    denied.search = `${new URLSearchParams({
      ...{ error: 'access_denied', error_description: 'not today' },
      ...{ state: searchParams.get('state')!, iss: provider.issuer },
    })}`;
    expect(codeOf(await browser.visit(denied.href))).toBe('sign-in-refused');
    expect(page.lines.at(-1)).toMatchObject({ reason: expect.stringContaining('not today') });
    await clock.advance(900_000);
    expect(codeOf(await browser.visit(denied.href))).toBe('sign-in-expired');
  });
});

describe('a provider', () => {
  const json =
    (body: object): RequestListener =>
    (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const metadataOf = (issuer: string) => ({
    ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
    ...{
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
    },
    id_token_signing_alg_values_supported: ['RS256'],
  });

  test.for([
    ['is another one', 'provider-wrong', () => json(metadataOf('https://evil.example'))],
    ['is none', 'provider-wrong', () => json({})],
    ['is not there', 'provider-wrong', () => (_request, response) => void response.writeHead(404).end()],
    [
      'sends elsewhere',
      'provider-wrong',
      () => (_request, response) => void response.writeHead(302, { location: 'https://evil.example/' }).end(),
    ],
    [
      'has a page for an answer',
      'provider-wrong',
      () => (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome</p>'),
    ],
    [
      'would have codes sent in clear',
      'provider-wrong',
      (issuer) => json({ ...metadataOf(issuer), token_endpoint: 'http://elsewhere.example/token' }),
    ],
    [
      'answers without end',
      'provider-wrong',
      () => (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = () => {
          if (response.destroyed) return;
          response.write(' '.repeat(64 << 10));
          setImmediate(more);
        };
        more();
      },
    ],
    ['is ill', 'provider-unreachable', () => (_request, response) => void response.writeHead(503).end()],
    ['hangs up', 'provider-unreachable', () => (request) => void request.socket.destroy()],
  ] as const satisfies readonly (readonly [string, string, (issuer: string) => RequestListener])[])(
    'that %s signs nobody in, and the page goes on',
    async ([, code, answer]) => {
      await using provider = await startProvider({ people: PEOPLE });
      const clock = createManualClock();
      await using page = await serve(provider, { clock });
      provider.instead = answer(provider.issuer);
      const browser = new HeadlessBrowser();
      const sent = await browser.visit(`${page.url}/api/session/provider`);
      expect([sent.status, sent.headers.get('location')]).toEqual([303, `/?sign-in=${code}`]);
      expect(page.lines).toMatchObject([{ code, reason: expect.stringContaining(provider.issuer) }]);
      expect(JSON.stringify(page.lines)).not.toContain(provider.settings.clientSecret);
      // Who asks at once is told the same without its being asked again; a while later all is well.
      provider.asked.length = 0;
      provider.instead = undefined;
      await browser.visit(`${page.url}/api/session/provider`);
      expect(provider.asked).toEqual([]);
      await clock.advance(5_000);
      await browser.signIn(page.url, 'ada');
      expect((await sessionOf(page, browser)).user).toEqual({ name: 'ADA' });
    },
  );

  test('whose ID token is signed by somebody else signs nobody in', async () => {
    await using provider = await startProvider({ people: PEOPLE, isWhole: true });
    await using page = await serve(provider);
    // Its keys are asked for when a token is there: they are of another provider.
    await using other = await startProvider({ people: PEOPLE });
    other.serves(page.url);
    const ofAnother = json((await (await fetch(`${other.issuer}/jwks`)).json()) as object);
    provider.instead = (request, response) =>
      (request.url === '/jwks' ? ofAnother : provider.answer)(request, response);
    const browser = new HeadlessBrowser();
    const way = await browser.signIn(page.url, 'grace');
    expect(way.at(-1)!.search).toBe('?sign-in=sign-in-invalid');
    expect((await sessionOf(page, browser)).user).toBeNull();
  });
});
