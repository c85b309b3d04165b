/** People whom a proxy names, sessions that are ended, and what the log keeps of who may not act. */
import { afterAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import { readNetworks } from '../../src/core/model/web-address.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { openRedis } from '../../src/redis/connection.ts';
import type { ErrorAnswer, SessionAnswer } from '../../src/web/answers.ts';
import type { WebAccess } from '../../src/web/ports.ts';
import { createEndedSessions } from '../../src/web/sign-in/ended-sessions.ts';
import { SESSION_SECONDS } from '../../src/web/sign-in/sessions.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import { redisForTests } from '../helpers/redis.ts';
import {
  ACT_HEADERS,
  askAsGiven,
  type ServedPage,
  servePage,
  signIn,
  type TestPagePorts,
} from '../helpers/web.ts';

const READ = 'a password to look';
const ACT = 'a password to act!';
const redis = await redisForTests();

afterAll(() => redis?.stop());

/** Lines of the log of what was refused, and what was said of who signed in. */
function linesOf() {
  const lines: Record<string, unknown>[] = [];
  const add = (fields: object, msg: string) => void lines.push({ ...fields, msg });
  return { lines, log: { ...silentLog, info: add, warn: add } };
}

function serve(access: Partial<WebAccess>, ports: Partial<TestPagePorts> = {}): Promise<ServedPage> {
  return servePage({ store: createMemoryStore(), jobs: [], ...ports }, access);
}

interface Asked {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly from?: string;
  /** A body: something is to be done. */
  readonly body?: object;
}

/** Headers as they are given, from an address of this machine. */
async function ask(url: string, path: string, { headers = {}, from, body }: Asked = {}) {
  const sent = body && { method: 'POST', body: JSON.stringify(body) };
  const all = { ...(body && ACT_HEADERS), ...headers };
  const options = { ...sent, headers: all, ...(from && { localAddress: from }) };
  const { status, text } = await askAsGiven(url + path, options);
  return { status, json: JSON.parse(text) as SessionAnswer & ErrorAnswer };
}

const session = async (url: string, asked: Asked = {}) => (await ask(url, '/api/session', asked)).json;

describe('whom a proxy names', () => {
  const NAMED: Partial<WebAccess> = {
    isProxy: readNetworks('127.0.0.1'),
    named: {
      headers: { user: 'x-forwarded-user', groups: 'x-forwarded-groups' },
      readGroups: ['crew', 'office'],
      actGroups: ['office'],
    },
  };
  const as = (user: string, groups = 'crew') => ({
    headers: { 'x-forwarded-user': user, 'x-forwarded-groups': groups },
  });

  test('may look or act by the groups it is in, and is in the log by its name', async () => {
    const { lines, log } = linesOf();
    await using page = await serve(NAMED, { log });
    expect(await session(page.url, as('ada'))).toMatchObject({
      ...{ user: { name: 'ada' }, mayRead: true, mayAct: false },
      ...{ canSignIn: false, canSignOut: false, canAct: true },
    });
    expect(await session(page.url, as('grace', 'x, office'))).toMatchObject({ mayAct: true });
    expect(await session(page.url, as('eve', 'guests'))).toMatchObject({ user: null, mayRead: false });
    expect((await ask(page.url, '/api/about', as('eve', ''))).status).toBe(401);
    const act = { act: 'accept-warning', job: 'none', vessel: 'IMO9321483' };
    expect((await ask(page.url, '/api/acts', { ...as('grace', 'office'), body: act })).status).toBe(404);
    expect((await ask(page.url, '/api/acts', { ...as('ada'), body: act })).status).toBe(403);
    expect(lines).toMatchObject([
      { by: 'grace', namedBy: 'proxy', address: '127.0.0.1', act: 'accept-warning', outcome: 'refused' },
      { by: 'ada', namedBy: 'proxy', act: 'accept-warning', outcome: 'refused', code: 'may-not-act' },
    ]);
  });

  test('is nobody where somebody else says so, or where two names come', async () => {
    await using page = await serve(NAMED);
    const forged = await session(page.url, { ...as('grace', 'office'), from: '127.0.0.2' });
    expect(forged).toMatchObject({ user: null, mayRead: false });
    const forwarded = { ...as('grace', 'office').headers, 'x-forwarded-for': '127.0.0.1' };
    expect(await session(page.url, { headers: forwarded, from: '127.0.0.2' })).toMatchObject({ user: null });
    for (const twice of ['x-forwarded-user', 'x-forwarded-groups']) {
      const headers = { ...as('ada').headers, [twice]: ['grace', 'office'] };
      expect(await session(page.url, { headers }), twice).toMatchObject({ user: null });
    }
    expect(await session(page.url, as(' \u0007 '.replace('\u0007', '')))).toMatchObject({ user: null });
  });

  test('looks without a group where none is asked for, and is shown as it is written', async () => {
    const named = {
      headers: { user: 'remote-user', groups: undefined },
      readGroups: undefined,
      actGroups: [],
    };
    await using page = await serve({ ...NAMED, named, host: '0.0.0.0' });
    const headers = { 'remote-user': Buffer.from('Åsa Öberg').toString('latin1') };
    expect(await session(page.url, { headers })).toMatchObject({
      ...{ user: { name: 'Åsa Öberg' }, mayRead: true, mayAct: false, canAct: false },
    });
    expect((await ask(page.url, '/api/about')).status).toBe(401);
  });
});

describe('a session that has ended', () => {
  const BOTH = { readPassword: READ, actPassword: ACT };

  test.for(['one', 'all'] as const)('stays ended (%s) when another secret changes', async (which) => {
    const access = { readPassword: READ, actPassword: ACT };
    await using page = await serve(access);
    const cookie = await signIn(page.url, ACT);
    const headers = { cookie };
    if (which === 'one') await ask(page.url, '/api/session/end', { headers, body: {} });
    else await ask(page.url, '/api/acts', { headers, body: { act: 'end-all-sessions' } });
    expect((await ask(page.url, '/api/about', { headers })).status).toBe(401);
    access.readPassword = 'another password to look';
    expect((await ask(page.url, '/api/about', { headers })).status).toBe(401);
  });

  test('by signing out is of no use to who has a copy of its cookie; others go on', async () => {
    await using page = await serve(BOTH);
    const [copied, other] = [await signIn(page.url, READ), await signIn(page.url, READ)];
    const ended = await ask(page.url, '/api/session/end', { headers: { cookie: copied }, body: {} });
    expect(ended.json).toMatchObject({ user: null });
    expect(await session(page.url, { headers: { cookie: copied } })).toMatchObject({ user: null });
    expect((await ask(page.url, '/api/about', { headers: { cookie: copied } })).status).toBe(401);
    expect((await ask(page.url, '/api/about', { headers: { cookie: other } })).status).toBe(200);
  });

  test('with all others, by who may act: everybody signs in again, and can at once', async () => {
    const { lines, log } = linesOf();
    await using page = await serve(BOTH, { log });
    const [reader, actor] = [await signIn(page.url, READ), await signIn(page.url, ACT, 'Nora')];
    const body = { act: 'end-all-sessions' };
    const refused = await ask(page.url, '/api/acts', { headers: { cookie: reader }, body });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'may-not-act']);
    expect((await ask(page.url, '/api/acts', { headers: { cookie: actor }, body })).status).toBe(200);
    for (const cookie of [reader, actor])
      expect(await session(page.url, { headers: { cookie } })).toMatchObject({ user: null });
    const again = await signIn(page.url, ACT);
    expect(await session(page.url, { headers: { cookie: again } })).toMatchObject({ mayAct: true });
    expect(lines.at(-2)).toMatchObject({ by: 'Nora', act: 'end-all-sessions', outcome: 'done' });
  });

  test.skipIf(redis === undefined)(
    'has ended in every process of the fleet, and while Redis is away',
    async () => {
      const [one, two] = [await openRedis(redis!.url), await openRedis(redis!.url)];
      const prefix = redis!.newPrefix();
      const clock = createManualClock();
      const processOf = (connection: typeof one) =>
        createEndedSessions({ fleet: { connection, prefix } as unknown as Fleet, clock, log: silentLog });
      const [here, there] = [processOf(one), processOf(two)];
      const nowS = clock.nowMs() / 1_000;
      const newSession = (id: string) =>
        ({ name: 'Ada', right: 'read', namedBy: 'nobody', id, expiresAtS: nowS + SESSION_SECONDS }) as const;
      const [first, second, third] = [newSession('a'), newSession('b'), newSession('c')];
      expect(await there.isEnded(first)).toBe(false);
      await here.end(first);
      await clock.advance(2_001);
      expect([await there.isEnded(first), await there.isEnded(second)]).toEqual([true, false]);
      expect(await two.client.ttl(`${prefix}:web:ended-sessions`)).toBeGreaterThan(43_000);
      await there.endAll();
      expect(await there.isEnded(second)).toBe(true);
      await clock.advance(2_001);
      expect(await here.isEnded(second)).toBe(true);
      // What begins now is not among them.
      expect(await here.notBeforeS()).toBeGreaterThan(nowS);
      // What was known stays known, and what cannot be told is done here all the same.
      await one.close();
      const later = { ...third, expiresAtS: nowS + SESSION_SECONDS + 60 };
      expect(await here.isEnded(later)).toBe(false);
      await here.end(later);
      await clock.advance(20_000);
      expect([await here.isEnded(first), await here.isEnded(later)]).toEqual([true, true]);
      await two.close();
    },
  );
});

test('who may not act is in the log, a bounded number of times a minute', async () => {
  const { lines, log } = linesOf();
  await using page = await serve({ readPassword: READ, actPassword: ACT }, { log });
  const cookie = await signIn(page.url, READ, 'Ada');
  lines.length = 0;
  const acts = (headers: Record<string, string>) =>
    ask(page.url, '/api/acts', { headers, body: { act: 'lift-hold' } });
  await acts({});
  await acts({ cookie });
  await ask(page.url, '/api/acts', { headers: { cookie }, body: { act: 'sink\n' } });
  await acts({ cookie, 'x-vessel-export': 'no' });
  await acts({ cookie, 'sec-fetch-site': 'cross-site' });
  expect(lines).toMatchObject([
    { by: null, code: 'sign-in-needed', address: '127.0.0.1', outcome: 'refused', msg: 'act' },
    { by: 'Ada', namedBy: 'nobody', code: 'may-not-act', act: 'lift-hold', target: 'the queue' },
    { by: 'Ada', code: 'may-not-act', act: 'sink', target: '-' },
    { by: 'Ada', code: 'no-act-header' },
    { by: 'Ada', code: 'other-site' },
  ]);
  for (let i = 0; i < 100; i++) await acts({});
  expect(lines).toHaveLength(60);
});
