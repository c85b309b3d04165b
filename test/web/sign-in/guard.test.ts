import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '../../../src/core/model/index.ts';
import type { WebAccess } from '../../../src/web/ports.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import {
  ACT_HEADERS,
  askAsGiven,
  type ServedPage,
  servePage,
  signIn,
  type TestPagePorts,
} from '../../helpers/web.ts';

const READ = 'a password to look';
const ACT = 'a password to act!';

function serve(access: Partial<WebAccess> = {}, ports: Partial<TestPagePorts> = {}): Promise<ServedPage> {
  return servePage({ store: createMemoryStore(), jobs: [], ...ports }, access);
}

function codeIn({ text }: { readonly text: string }): string {
  return (JSON.parse(text) as { error: { code: string } }).error.code;
}

async function sessionOf(url: string, cookie = ''): Promise<unknown> {
  return JSON.parse((await askAsGiven(`${url}/api/session`, { headers: { cookie } })).text);
}

/** As the page asks for something to be done. */
const post = (address: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  askAsGiven(address, { method: 'POST', headers: { ...ACT_HEADERS, ...headers }, body });
const attempt = (url: string, name: string, password: string, headers?: Readonly<Record<string, string>>) =>
  post(`${url}/api/session`, JSON.stringify({ name, password }), headers);

/** The cookie that a browser keeps that was let in. */
async function knownBrowser(url: string, password = READ): Promise<string> {
  const { headers } = await attempt(url, 'Lin', password);
  return (headers['set-cookie'] as string[])[1]!.split(';', 1)[0]!;
}

const NOBODY = {
  ...{ user: null, mayRead: false, mayAct: false, canSignIn: true, canAct: true },
  ...{ providerUrl: null, canSignOut: false },
};

test('where others can reach it and no password is set, the page says which setting to set', async () => {
  await using page = await serve({ host: '0.0.0.0', actPassword: ACT });
  for (const path of ['/', '/page/app.js', '/api/session', '/api/about', '/nothing']) {
    const { status, text, headers } = await askAsGiven(page.url + path);
    expect([status, headers['content-type']], path).toEqual([403, 'text/plain; charset=utf-8']);
    expect(text).toContain('WEB_READ_PASSWORD');
  }
});

test('open reading is for names of this machine: another that leads here is refused, for files too', async () => {
  await using page = await serve();
  const port = new URL(page.url).port;
  for (const host of [`localhost:${port}`, '127.0.0.1', `[::1]:${port}`, '127.3.2.1:80', 'LOCALHOST'])
    expect((await askAsGiven(`${page.url}/api/about`, { headers: { host } })).status, host).toBe(200);
  const foreign = [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    'a@localhost',
    '0.0.0.0',
  ];
  for (const host of [...foreign, 'localhost/x', '10.0.0.1', 'localhost:80:80']) {
    for (const path of ['/', '/page/app.js', '/api/about', '/api/session']) {
      const answer = await askAsGiven(page.url + path, { headers: { host } });
      expect([answer.status, codeIn(answer)], `${host} ${path}`).toEqual([403, 'host-refused']);
    }
  }
  // HTTP/1.0 names none, and of two it is not known which was meant.
  for (const [text, status] of [
    ['GET /api/about HTTP/1.0\r\n\r\n', 403],
    ['GET /api/about HTTP/1.0\r\nhost: localhost\r\n\r\n', 200],
    ['GET /api/about HTTP/1.1\r\nhost: evil.example\r\nhost: localhost\r\n\r\n', 403],
    ['GET http://localhost/api/about HTTP/1.0\r\nhost: evil.example\r\n\r\n', 403],
  ] as const) {
    const socket = connect(Number(port), '127.0.0.1');
    // Not ended: whoever hangs up before the answer gets none.
    socket.write(text);
    const [answer] = await once(socket.setEncoding('utf8'), 'data');
    expect(answer, text).toMatch(new RegExp(`^HTTP/1\\.[01] ${status} `));
    socket.destroy();
  }
  await using closed = await serve({ readPassword: READ });
  expect((await askAsGiven(`${closed.url}/`, { headers: { host: 'vessels.example' } })).status).toBe(200);
});

test('with a password for reading nothing is told before it is given, but that it is needed', async () => {
  await using page = await serve({ readPassword: READ, actPassword: ACT });
  expect(await sessionOf(page.url)).toEqual(NOBODY);
  for (const path of ['/api/about', '/api/jobs/x/coverage', '/api/nothing', '/api/fleet']) {
    const answer = await askAsGiven(page.url + path);
    expect([answer.status, codeIn(answer)], path).toEqual([401, 'sign-in-needed']);
  }
  const cookie = await signIn(page.url, READ, 'Ada');
  const user = { name: 'Ada' };
  expect(await sessionOf(page.url, cookie)).toEqual({ ...NOBODY, user, mayRead: true, canSignOut: true });
  expect((await askAsGiven(`${page.url}/api/about`, { headers: { cookie } })).status).toBe(200);
  const other = await askAsGiven(`${page.url}/api/about`, { headers: { cookie: `a=b; ${cookie}; c="d"` } });
  expect(other.status).toBe(200);
});

test('the password for acting lets one read; the one for reading lets nobody act', async () => {
  await using page = await serve({ readPassword: READ, actPassword: ACT });
  const [reader, actor] = [await signIn(page.url, READ), await signIn(page.url, ACT)];
  expect(await sessionOf(page.url, actor)).toMatchObject({ mayRead: true, mayAct: true });
  const act = (cookie: string) => post(`${page.url}/api/nothing`, '{}', { cookie });
  expect(codeIn(await act(''))).toBe('sign-in-needed');
  expect([(await act(reader)).status, codeIn(await act(reader))]).toEqual([403, 'may-not-act']);
  // Who may act gets as far as the routes.
  expect([(await act(actor)).status, codeIn(await act(actor))]).toEqual([404, 'no-such-answer']);
});

test('without a password for acting nobody acts', async () => {
  await using page = await serve({ readPassword: READ });
  const cookie = await signIn(page.url, READ);
  expect(await sessionOf(page.url, cookie)).toMatchObject({ mayAct: false, canAct: false });
  const answer = await post(`${page.url}/api/acts`, '{}', { cookie });
  expect([answer.status, codeIn(answer)]).toEqual([403, 'acting-is-off']);
  await using open = await serve();
  expect(await sessionOf(open.url)).toEqual({
    ...{ user: null, mayRead: true, mayAct: false },
    ...{ canSignIn: false, canAct: false, providerUrl: null, canSignOut: false },
  });
});

describe('a request of another site', () => {
  let page: ServedPage;
  let cookie: string;
  beforeAll(async () => {
    page = await serve({ actPassword: ACT });
    cookie = await signIn(page.url, ACT);
  });
  afterAll(() => page.close());

  test.for([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a form of plain text', { 'content-type': 'text/plain', 'x-vessel-export': 'act' }],
    [
      'a form that looks like JSON',
      { 'content-type': 'text/plain; application/json', 'x-vessel-export': 'act' },
    ],
    ['a form of parts', { 'content-type': 'multipart/form-data; boundary=x', 'x-vessel-export': 'act' }],
    ['JSON without our header', { 'content-type': 'application/json' }],
    ['our header with another word', { ...ACT_HEADERS, 'x-vessel-export': 'read' }],
    ['our header alone', { 'x-vessel-export': 'act' }],
    ['what the browser says is of another site', { ...ACT_HEADERS, 'sec-fetch-site': 'cross-site' }],
    ['what the browser says is of another port', { ...ACT_HEADERS, 'sec-fetch-site': 'same-site' }],
    ['what nobody asked for', { ...ACT_HEADERS, 'sec-fetch-site': 'none' }],
    ['another origin', { ...ACT_HEADERS, origin: 'https://evil.example' }],
    ['an origin of another port', { ...ACT_HEADERS, origin: 'http://127.0.0.1:1' }],
    ['an origin of another scheme', { ...ACT_HEADERS, origin: 'https://127.0.0.1:1' }],
    ['an origin that begins as ours', { ...ACT_HEADERS, origin: 'http://127.0.0.1.evil.example:PORT' }],
    ['an origin of another name of ours', { ...ACT_HEADERS, origin: 'http://localhost:PORT' }],
    ['a word that no browser says', { ...ACT_HEADERS, 'sec-fetch-site': 'x' }],
    ['an origin that is hidden', { ...ACT_HEADERS, origin: 'null' }],
  ] as const)('is refused with the cookie of who may act: %s', async ([, given]) => {
    const headers = JSON.parse(JSON.stringify(given).replace('PORT', new URL(page.url).port)) as object;
    for (const path of ['/api/acts', '/api/session', '/api/session/end']) {
      for (const method of ['POST', 'DELETE', 'PUT', 'PATCH']) {
        const body = JSON.stringify({ name: 'Eve', password: ACT });
        const answer = await askAsGiven(page.url + path, { method, headers: { ...headers, cookie }, body });
        expect([403, 415], `${method} ${path}`).toContain(answer.status);
        expect(answer.headers['set-cookie']).toBeUndefined();
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      }
    }
  });

  test('reads nothing either, and a question before it (preflight) is not answered', async () => {
    const about = `${page.url}/api/about`;
    for (const site of ['cross-site', 'same-site'])
      expect((await askAsGiven(about, { headers: { 'sec-fetch-site': site } })).status).toBe(403);
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST', cookie };
    const answer = await askAsGiven(`${page.url}/api/acts`, { method: 'OPTIONS', headers });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    // A link to it from elsewhere opens the page.
    expect((await askAsGiven(page.url, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(200);
    // The page itself reads.
    const own = { 'sec-fetch-site': 'same-origin', origin: page.url };
    expect((await askAsGiven(about, { headers: own })).status).toBe(200);
  });
});

describe('a cookie', () => {
  const clock = createManualClock();

  test('that was changed, or that nobody signed, is none', async () => {
    await using page = await serve({ readPassword: READ, actPassword: ACT });
    const cookie = await signIn(page.url, READ);
    const [name, value] = cookie.split('=') as [string, string];
    const [right, expires, user, signature] = value.split('.') as [string, string, string, string];
    const asEve = Buffer.from('act AAAAAAAAAAAAAAAA Eve').toString('base64url');
    const forged = [
      `act.${expires}.${user}.${signature}`,
      `${right}.${Number(expires) + 1}.${user}.${signature}`,
      `${right}.${expires}.${asEve}.${signature}`,
      `provider.${expires}.${asEve}.${signature}`,
      `${right}.${expires}.${user}.${'A'.repeat(43)}`,
      `${right}.${expires}.${user}.`,
      `${right}.${expires}.${user}`,
      `${value}x`,
      'act....',
      '',
    ];
    for (const text of forged) expect(await sessionOf(page.url, `${name}=${text}`), text).toEqual(NOBODY);
    expect(await sessionOf(page.url, `other=${value}`)).toEqual(NOBODY);
    // Signed by us for something else.
    const known = await knownBrowser(page.url);
    expect(await sessionOf(page.url, `${name}=${known.split('=', 2)[1]}`)).toEqual(NOBODY);
    // One that holds is found behind another of the same name.
    const both = `${name}=${forged[0]}; ${cookie}`;
    expect(await sessionOf(page.url, both)).toMatchObject({ mayRead: true, mayAct: false });
  });

  test('ends after twelve hours', async () => {
    await using page = await serve({ readPassword: READ }, { clock });
    const cookie = await signIn(page.url, READ);
    await clock.advance(12 * 3_600_000 - 2_000);
    expect(await sessionOf(page.url, cookie)).toMatchObject({ mayRead: true });
    await clock.advance(2_000);
    expect(await sessionOf(page.url, cookie)).toMatchObject({ user: null, mayRead: false });
  });

  test('outlives the process, but not its password, and is of one lake', async () => {
    const cookieOf = async (access: Partial<WebAccess>) => {
      await using page = await serve(access);
      return await signIn(page.url, ACT);
    };
    const cookie = await cookieOf({ readPassword: READ, actPassword: ACT });
    const seenBy = async (access: Partial<WebAccess>) => {
      await using page = await serve(access);
      return await sessionOf(page.url, cookie);
    };
    expect(await seenBy({ readPassword: READ, actPassword: ACT })).toMatchObject({ mayAct: true });
    expect(await seenBy({ readPassword: 'another password', actPassword: ACT })).toMatchObject({
      mayAct: true,
    });
    expect(await seenBy({ readPassword: READ, actPassword: 'another password' })).toEqual(NOBODY);
    expect(await seenBy({ readPassword: READ })).toMatchObject({ user: null, mayRead: false });
    // What was the password for acting, and is now the one for reading.
    expect(await seenBy({ readPassword: ACT })).toMatchObject({ user: null });
    const lakeUrl = 'file:///tmp/other-lake';
    expect(await seenBy({ readPassword: READ, actPassword: ACT, lakeUrl })).toEqual(NOBODY);
  });

  test('is kept from scripts and from other sites, and from http where the browser came by https', async () => {
    await using page = await serve({ readPassword: READ });
    const begin = (said: string) => attempt(page.url, 'Ada', READ, { 'x-forwarded-proto': said });
    const plain = await attempt(page.url, 'Ada', READ);
    expect(plain.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^vessel-export-[0-9a-f]{8}=\S+; Max-Age=43200; HttpOnly; Path=\/; SameSite=Strict$/,
      ),
      expect.stringMatching(
        /^vessel-export-[0-9a-f]{8}-known=\S+; Max-Age=7776000; HttpOnly; Path=\/api\/session; SameSite=Strict$/,
      ),
    ]);
    // Each of several proxies says how it was reached.
    for (const said of ['https', 'https, http', 'http,https', 'HTTPS']) {
      const secure = await begin(said);
      for (const cookie of secure.headers['set-cookie']!)
        expect(cookie, said).toMatch(/; SameSite=Strict; Secure$/);
    }
    for (const said of ['http', '', 'httpsx'])
      expect((await begin(said)).headers['set-cookie']![0], said).not.toMatch(/Secure/);
    await using known = await serve({ readPassword: READ, isHttps: true });
    const answer = await attempt(known.url, 'Ada', READ);
    expect(answer.headers['set-cookie']![0]).toMatch(/; Secure$/);
    const end = await post(`${page.url}/api/session/end`, '{}');
    expect(end.headers['set-cookie']![0]).toMatch(/^vessel-export-[0-9a-f]{8}=; Max-Age=0; Path=\//);
  });
});

describe('who guesses', () => {
  test('is slowed down and logged, without what was tried, and counted', async () => {
    const clock = createManualClock();
    const lines: object[] = [];
    const outcomes: string[] = [];
    const log = {
      ...{ debug() {}, error() {} },
      info: (fields: object, msg: string) => void lines.push({ ...fields, msg }),
      warn: (fields: object, msg: string) => void lines.push({ ...fields, msg }),
    };
    const onLoginFailed = (outcome: string) => void outcomes.push(outcome);
    await using page = await serve({ readPassword: READ, actPassword: ACT, onLoginFailed }, { clock, log });
    const guess = (password: string) => attempt(page.url, 'Ada', password);
    const statuses: number[] = [];
    for (let i = 0; i < 60; i++) statuses.push((await guess(`guess-${i}`)).status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(11);
    const locked = await guess(ACT);
    expect([locked.status, codeIn(locked), locked.headers['retry-after']]).toEqual([429, 'locked-out', '1']);
    await clock.advance(1_000);
    expect((await guess(ACT)).status).toBe(200);
    expect(Map.groupBy(outcomes, (outcome) => outcome).get('locked')).toHaveLength(50);
    expect(lines).toHaveLength(12);
    expect(lines[10]).toMatchObject({ address: '127.0.0.1', name: 'Ada', failures: 11, lockedSeconds: 1 });
    expect(lines[11]).toMatchObject({ name: 'Ada', right: 'act', address: '127.0.0.1' });
    expect(JSON.stringify(lines)).not.toMatch(/guess-|a password/);
  });

  describe('behind a proxy', () => {
    const isProxy = (address?: string) => address === '127.0.0.1';
    const guessFrom = async (url: string, headers: Readonly<Record<string, string>>) => {
      for (let i = 0; i < 60; i++) await attempt(url, `name ${i}`, `guess ${i}`, headers);
      return (await attempt(url, 'Ada', READ, headers)).status;
    };

    test('locks out itself alone where the proxy is known, whatever it says of where it comes from', async () => {
      await using page = await serve({ readPassword: READ, isProxy });
      const forwarded = (text: string) => ({ 'x-forwarded-for': text });
      expect(await guessFrom(page.url, forwarded('203.0.113.9'))).toBe(429);
      for (const forged of [
        '198.51.100.1, 203.0.113.9',
        '203.0.113.9:4711',
        ', 203.0.113.9',
        '::ffff:203.0.113.9',
      ])
        expect((await attempt(page.url, 'Ada', READ, forwarded(forged))).status, forged).toBe(429);
      expect((await attempt(page.url, 'Ada', READ, forwarded('203.0.113.10'))).status).toBe(200);
      expect((await attempt(page.url, 'Ada', READ, forwarded('203.0.113.9, 198.51.100.1'))).status).toBe(200);
      expect((await attempt(page.url, 'Ada', READ, forwarded('2001:db8::7'))).status).toBe(200);
    });

    test('is not believed where the proxy is not known', async () => {
      await using page = await serve({ readPassword: READ });
      const statuses = new Set<number>();
      for (let n = 0; n < 60; n++) {
        const from = { 'x-forwarded-for': `203.0.113.${n}` };
        statuses.add((await attempt(page.url, `n${n}`, `g${n}`, from)).status);
      }
      expect(statuses).toEqual(new Set([401, 429]));
    });

    test('locks out no browser that was let in before, which cannot guess the other password', async () => {
      const clock = createManualClock();
      await using page = await serve({ readPassword: READ, actPassword: ACT }, { clock });
      const cookie = await knownBrowser(page.url);
      expect(await guessFrom(page.url, {})).toBe(429);
      expect((await attempt(page.url, 'Grace', READ, { cookie })).status).toBe(200);
      // It has the right to be let in with its own password alone.
      expect((await attempt(page.url, 'Grace', ACT, { cookie })).status).toBe(401);
      const forged = cookie.replace(/\.\w/, '.X');
      expect((await attempt(page.url, 'Grace', READ, { cookie: forged })).status).toBe(429);
      for (let i = 0; i < 60; i++) await attempt(page.url, 'Grace', `guess ${i}`, { cookie });
      expect((await attempt(page.url, 'Grace', READ, { cookie })).status).toBe(429);
      // Another browser's tries are its own.
      await clock.advance(3_600_000);
      const other = await knownBrowser(page.url);
      expect(await guessFrom(page.url, {})).toBe(429);
      expect((await attempt(page.url, 'Ada', READ, { cookie: other })).status).toBe(200);
    });
  });

  test('cannot write into the log, and a password that was typed as a name stays out of it', async () => {
    const lines: object[] = [];
    const log = { debug() {}, error() {}, info: (fields: object) => void lines.push(fields), warn() {} };
    await using page = await serve({ readPassword: READ }, { log });
    const cookie = await signIn(page.url, READ, `<b>x</b>\n\u001b[31m\u202e${READ}${'y'.repeat(500)}`);
    const { user } = (await sessionOf(page.url, cookie)) as { user: { name: string } };
    expect(user.name).toMatch(/^<b>x<\/b> \[31m \*\*\*y+…$/);
    expect(user.name.length).toBeLessThanOrEqual(65);
    expect(lines).toMatchObject([{ name: user.name }]);
  });

  test('is told what is wrong', async () => {
    await using page = await serve({ readPassword: READ });
    for (const body of [
      ...['', '{', '[]', 'null', JSON.stringify({ password: READ })],
      JSON.stringify({ name: ' \u200b\n', password: READ }),
      JSON.stringify({ name: 'Ada', password: { length: 12 } }),
      JSON.stringify({ name: 'Ada', password: 'x'.repeat(100_000) }),
    ]) {
      const answer = await post(`${page.url}/api/session`, body);
      expect([answer.status, codeIn(answer)], body).toEqual([body.length > 100_000 ? 413 : 400, 'usage']);
    }
  });
});

test('what is told of lake and jobs holds no secret, and names stay what they are', async () => {
  const lakeUrl = 's3://user:hush-hush@bucket/prefix';
  const named = { name: 'a<b>', dataset: 'measurements' } as unknown as Job;
  await using page = await serve({ lakeUrl }, { jobs: [named] });
  const { text, headers } = await askAsGiven(`${page.url}/api/about`);
  expect(text).not.toContain('hush-hush');
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(JSON.parse(text)).toMatchObject({
    ...{ version: '0.0.0-test', layout: 'plain', hasFleet: false },
    jobs: [{ name: 'a<b>', dataset: 'measurements', hasSchedule: false }],
  });
});
