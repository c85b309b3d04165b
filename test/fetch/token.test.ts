import { describe, expect, it } from 'vitest';
import { lifetimeOf } from '../../src/fetch/token-source.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import {
  answer,
  clientOf,
  errorOf,
  issueToken,
  jwt,
  type Listener,
  PAGE,
  refuse,
  startListener,
} from './listener.ts';

const bearer = (listener: Listener) =>
  listener.seen.map(({ headers }) => headers.authorization?.slice('Bearer '.length));

describe('the token endpoint', () => {
  it('is asked with Basic credentials as they are', async () => {
    const listener = await startListener();
    const client = clientOf(listener, { clientId: 'a b', clientSecret: 'ö%+é/c:=' });
    await client.readAll(PAGE);
    const [seen] = listener.seenTokens;
    expect(seen).toMatchObject({
      method: 'POST',
      url: '/auth/oauth2/token',
      body: 'grant_type=client_credentials',
    });
    expect(seen!.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const basic = Buffer.from(seen!.headers.authorization!.slice('Basic '.length), 'base64').toString();
    expect(basic).toBe('a b:ö%+é/c:=');
    expect(bearer(listener)).toEqual(['token-1']);
  });

  it('is asked once for many callers that wait', async () => {
    const listener = await startListener();
    const client = clientOf(listener);
    await Promise.all(Array.from({ length: 20 }, () => client.readAll(PAGE)));
    expect(listener.seenTokens).toHaveLength(1);
    expect(listener.seen).toHaveLength(20);
  });

  it('goes on for the others when one waiting caller aborts', async () => {
    const listener = await startListener();
    let release = () => {};
    listener.scriptTokens((response, seen) => {
      release = () => issueToken('token-1')(response, seen);
    });
    const client = clientOf(listener);
    const controller = new AbortController();
    const leaving = client.readAll(PAGE, { signal: controller.signal });
    const staying = client.readAll(PAGE);
    await listener.untilTokensSeen(1);
    controller.abort();
    expect(await errorOf(leaving)).toMatchObject({ code: 'cancelled' });
    release();
    await staying;
    expect([listener.seenTokens.length, listener.seen.length]).toEqual([1, 1]);
  });

  it.each([400, 401, 403])('that answers %i refuses the credentials for good', async (status) => {
    const listener = await startListener();
    listener.alwaysToken(refuse(status, 'wrong a-secret-of-ours'));
    const error = await errorOf(clientOf(listener).readAll(PAGE));
    expect(error).toMatchObject({ name: 'FatalError', code: 'credentials-refused' });
    for (const word of [
      'QUERY_CLIENT_ID',
      'QUERY_CLIENT_SECRET',
      'QUERY_AUTH_URL',
      'regenerated',
      `${status}`,
    ])
      expect(error.message).toContain(word);
    expect(`${error.message} ${(error.cause as Error).message}`).not.toContain('a-secret-of-ours');
    expect([listener.seenTokens.length, listener.seen.length]).toEqual([1, 0]);
  });

  it.each([404, 405, 204])('that answers %i is the wrong one', async (status) => {
    const listener = await startListener();
    listener.alwaysToken(refuse(status));
    const error = await errorOf(clientOf(listener).readAll(PAGE));
    expect(error).toMatchObject({ name: 'FatalError', code: 'token-endpoint-wrong' });
    expect(error.message).toContain('QUERY_AUTH_URL');
  });

  it('is asked again after 429, 5xx and resets', async () => {
    const listener = await startListener();
    listener.scriptTokens(refuse(500), refuse(429), refuse(503), (response) =>
      response.socket?.resetAndDestroy(),
    );
    const client = clientOf(listener);
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(5);
    expect(client.stats).toMatchObject({ requests: 1, retries: 0, rateLimited: 0 });
  });

  it('that refused is not asked again at once by whoever comes next', async () => {
    const listener = await startListener();
    listener.alwaysToken(refuse(401));
    const clock = createManualClock();
    const client = clientOf(listener, { clock });
    for (let caller = 0; caller < 5; caller++)
      expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(listener.seenTokens).toHaveLength(1);
    await clock.advance(10_000);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(listener.seenTokens).toHaveLength(2);
  });

  it('that stays in trouble ends a call as retriable', async () => {
    const listener = await startListener();
    listener.alwaysToken(refuse(500));
    const error = await errorOf(clientOf(listener, { limits: { retry: { maxAttempts: 3 } } }).readAll(PAGE));
    expect(error).toMatchObject({ name: 'RetriableError', code: 'server-error' });
    expect(error.message).toMatch(/access token.*3 failures in a row/);
    expect(listener.seenTokens).toHaveLength(3);
  });

  it.each([
    ['no JSON', '<html>'],
    ['no token', '{"token_type":"bearer"}'],
    ['null', 'null'],
    ['a token with a line break', '{"access_token":"a\\r\\nx-evil: 1"}'],
  ])('that answers 200 with %s is refused', async (_, body) => {
    const listener = await startListener();
    listener.alwaysToken(answer(body));
    expect(await errorOf(clientOf(listener).readAll(PAGE))).toMatchObject({
      name: 'FatalError',
      code: 'token-invalid',
    });
  });

  it('counts for the pace but not for the cap', async () => {
    const listener = await startListener();
    let turns = 0;
    let leases = 0;
    const client = clientOf(listener, {
      pace: { take: async () => void turns++, slowDown: () => {}, perMinute: undefined },
      cap: { acquire: async () => ({ release: () => void leases++ }), limited: () => {}, current: 1 },
    });
    await client.readAll(PAGE);
    expect(turns).toBe(2);
    expect(leases).toBeGreaterThanOrEqual(1);
  });
});

describe('a token', () => {
  it('is renewed early, in the background, and in time by its own lifetime whatever our wall clock says', async () => {
    const listener = await startListener();
    const clock = createManualClock(Date.UTC(2031, 0, 1));
    let issued = 0;
    listener.alwaysToken((response, seen) =>
      issueToken(jwt({ iat: 1_000, exp: 1_600, n: ++issued }))(response, seen),
    );
    const client = clientOf(listener, { clock });
    await client.readAll(PAGE);
    await clock.advance(479_000);
    await client.readAll(PAGE);
    expect(issued).toBe(1);
    await clock.advance(1_000);
    await client.readAll(PAGE);
    await listener.untilTokensSeen(2);
    const tokens = bearer(listener);
    expect(tokens[2]).toBe(tokens[0]);
    await clock.advance(120_000);
    await client.readAll(PAGE);
    expect(issued).toBe(2);
    expect(bearer(listener)[3]).not.toBe(tokens[0]);
  });

  it('goes on working while its early renewal fails', async () => {
    const listener = await startListener();
    const clock = createManualClock();
    listener.alwaysToken(issueToken(jwt({ iat: 0, exp: 600 })));
    const client = clientOf(listener, { clock });
    await client.readAll(PAGE);
    listener.alwaysToken(refuse(403));
    await clock.advance(500_000);
    for (let i = 0; i < 3; i++) await client.readAll(PAGE);
    await listener.untilTokensSeen(2);
    await clock.advance(1);
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(2);
    await clock.advance(100_000);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
  });

  it('that has worked and is refused in mid-run is renewed, at no cost of an attempt', async () => {
    const listener = await startListener();
    let valid = 1;
    let issued = 0;
    listener.alwaysToken((response, seen) => issueToken(`token-${++issued}`)(response, seen));
    listener.always((response, seen) => {
      const good = seen.headers.authorization === `Bearer token-${valid}`;
      (good ? answer('ok') : refuse(401, 'expired'))(response, seen);
    });
    const client = clientOf(listener, { limits: { retry: { maxAttempts: 1 } } });
    for (; valid <= 5; valid++)
      await Promise.all([client.readAll(PAGE), client.readAll(PAGE), client.readAll(PAGE)]);
    expect(issued).toBe(5);
  });

  it('that never worked and is refused is fatal at once', async () => {
    const listener = await startListener();
    listener.always(refuse(401, 'no'));
    const error = await errorOf(clientOf(listener).readAll(PAGE));
    expect(error).toMatchObject({ name: 'FatalError', code: 'credentials-refused' });
    expect([listener.seenTokens.length, listener.seen.length]).toEqual([1, 1]);
  });

  it('that follows a revoked one and is refused is fatal too', async () => {
    const listener = await startListener();
    const client = clientOf(listener);
    await client.readAll(PAGE);
    listener.always(refuse(401, 'no'));
    listener.alwaysToken(issueToken('token-2'));
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(bearer(listener)).toEqual(['token-1', 'token-1', 'token-2']);
  });

  it('works when it got any other answer than 401', async () => {
    const listener = await startListener();
    listener.script(refuse(404), refuse(401));
    const client = clientOf(listener);
    await errorOf(client.readAll(PAGE));
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(2);
  });

  it('is not renewed for ever for a call that alone is refused', async () => {
    const listener = await startListener();
    let issued = 0;
    listener.alwaysToken((response, seen) => issueToken(`token-${++issued}`)(response, seen));
    const forbidden = { ...PAGE, expressions: ['flat/IMO1/forbidden'] };
    const client = clientOf(listener);
    const others: Promise<unknown>[] = [];
    listener.always((response, seen) => {
      if (!seen.url.includes('forbidden')) return answer('ok')(response, seen);
      // Another call shows that the token is good before this one is refused.
      others.push(client.readAll(PAGE).then(() => refuse(401)(response, seen)));
    });
    expect(await errorOf(client.readAll(forbidden))).toMatchObject({ name: 'HttpStatusError', status: 401 });
    await Promise.all(others);
    expect(issued).toBe(3);
  });
});

describe('lifetimeOf', () => {
  const now = 1_000_000_000;
  it.each([
    ['exp and iat', jwt({ iat: 5_000, exp: 5_090 }), 90_000],
    ['exp alone', jwt({ exp: now / 1000 + 60 }), 60_000],
    ['exp that has passed, alone', jwt({ exp: 5 }), 3_600_000],
    ['exp before iat', jwt({ iat: 10, exp: 5 }), 3_600_000],
    ['no exp', jwt({ iat: 10 }), 3_600_000],
    ['exp of another type', jwt({ exp: '10' }), 3_600_000],
    ['claims that are null', `a.${Buffer.from('null').toString('base64url')}.c`, 3_600_000],
    ['no JWT', 'opaque', 3_600_000],
    ['three parts of nonsense', 'a.%%%.c', 3_600_000],
  ])('reads a token with %s', (_, token, lifetimeMs) => {
    expect(lifetimeOf(token, now)).toBe(lifetimeMs);
  });
});
