import { describe, expect } from 'vitest';
import { createConcurrencyLimit } from '../../../src/source/fetch/concurrency-limit.ts';
import { lifetimeOf } from '../../../src/source/fetch/token-request.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import {
  answer,
  clientOf,
  errorOf,
  type Handler,
  issueEach,
  issueToken,
  it,
  jwt,
  type Listener,
  PAGE,
  refuse,
} from './listener.ts';

const bearer = (listener: Listener) =>
  listener.seen.map(({ headers }) => headers.authorization?.slice('Bearer '.length));

/** A client, and its clock, which stands still. */
function clocked(listener: Listener, options: Parameters<typeof clientOf>[1] = {}) {
  const clock = createManualClock();
  return { clock, client: clientOf(listener, { ...options, clock }) };
}

describe('the token endpoint', () => {
  it('is asked with Basic credentials as they are, first', async ({ listener }) => {
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

  it('is asked once for many callers that wait', async ({ listener }) => {
    const client = clientOf(listener);
    await Promise.all(Array.from({ length: 20 }, () => client.readAll(PAGE)));
    expect(listener.seenTokens).toHaveLength(1);
    expect(listener.seen).toHaveLength(20);
  });

  it('goes on for the others when one waiting caller aborts', async ({ listener }) => {
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

  it.for([400, 401, 403])(
    'that answers %i refuses the credentials for good',
    async (status, { listener }) => {
      listener.alwaysToken(refuse(status, 'wrong a-secret-of-ours'));
      const error = await errorOf(clientOf(listener).readAll(PAGE));
      expect(error).toMatchObject({ name: 'FatalError', code: 'credentials-refused' });
      for (const word of [
        `${status}`,
        ...'QUERY_CLIENT_ID QUERY_CLIENT_SECRET QUERY_AUTH_URL regenerated'.split(' '),
      ])
        expect(error.message).toContain(word);
      expect(`${error.message} ${(error.cause as Error).message}`).not.toContain('a-secret-of-ours');
      expect([listener.seenTokens.length, listener.seen.length]).toEqual([1, 0]);
    },
  );

  it.for([404, 405, 204])('that answers %i is the wrong one', async (status, { listener }) => {
    listener.alwaysToken(refuse(status));
    const error = await errorOf(clientOf(listener).readAll(PAGE));
    expect(error).toMatchObject({ name: 'FatalError', code: 'token-endpoint-wrong' });
    expect(error.message).toContain('QUERY_AUTH_URL');
  });

  it('is asked again after 429, 5xx and resets', async ({ listener }) => {
    listener.scriptTokens(refuse(500), refuse(429), refuse(503), (response) =>
      response.socket?.resetAndDestroy(),
    );
    const client = clientOf(listener);
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(5);
    expect(client.stats).toMatchObject({ requests: 1, retries: 0, rateLimited: 0 });
  });

  it('that refused is not asked again at once by whoever comes next', async ({ listener }) => {
    listener.alwaysToken(refuse(401));
    const { clock, client } = clocked(listener);
    for (let caller = 0; caller < 5; caller++)
      expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(listener.seenTokens).toHaveLength(1);
    await clock.advance(10_000);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(listener.seenTokens).toHaveLength(2);
  });

  it('that stays in trouble ends a call as retriable', async ({ listener }) => {
    listener.alwaysToken(refuse(500));
    const error = await errorOf(clientOf(listener, { limits: { retry: { maxAttempts: 3 } } }).readAll(PAGE));
    expect(error).toMatchObject({ name: 'RetriableError', code: 'server-error' });
    expect(error.message).toMatch(/access token.*3 failures in a row/);
    expect(listener.seenTokens).toHaveLength(3);
  });

  it.for([
    ['no JSON', '<html>'],
    ['no token', '{"token_type":"bearer"}'],
    ['null', 'null'],
    ['a token with a line break', '{"access_token":"a\\r\\nx-evil: 1"}'],
  ] as const)('that answers 200 with %s is refused', async ([, body], { listener }) => {
    listener.alwaysToken(answer(body));
    expect(await errorOf(clientOf(listener).readAll(PAGE))).toMatchObject({
      name: 'FatalError',
      code: 'token-invalid',
    });
  });

  it('counts for the pace but not for the cap', async ({ listener }) => {
    let turns = 0;
    let leases = 0;
    const client = clientOf(listener, {
      rateLimit: { take: async () => void turns++, slowDown: () => {}, perMinute: undefined },
      concurrencyLimit: {
        acquire: async () => ({ release: () => void leases++ }),
        limited: () => {},
        current: 1,
      },
    });
    await client.readAll(PAGE);
    expect(turns).toBe(2);
    expect(leases).toBeGreaterThanOrEqual(1);
  });
});

describe('a token', () => {
  it('is renewed early, in the background, and in time by its own lifetime whatever our wall clock says', async ({
    listener,
  }) => {
    const clock = createManualClock(Date.UTC(2031, 0, 1));
    issueEach(listener, (n) => jwt({ iat: 1_000, exp: 1_600, n }));
    const client = clientOf(listener, { clock });
    await client.readAll(PAGE);
    await clock.advance(479_000);
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(1);
    await clock.advance(1_000);
    await client.readAll(PAGE);
    await listener.untilTokensSeen(2);
    const tokens = bearer(listener);
    expect(tokens[2]).toBe(tokens[0]);
    await clock.advance(120_000);
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(2);
    expect(bearer(listener)[3]).not.toBe(tokens[0]);
  });

  it('goes on working while its early renewal fails', async ({ listener }) => {
    listener.alwaysToken(issueToken(jwt({ iat: 0, exp: 600 })));
    const { clock, client } = clocked(listener);
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

  it('that has worked and is refused in mid-run is renewed, at no cost of an attempt', async ({
    listener,
  }) => {
    let valid = 1;
    issueEach(listener, (n) => `token-${n}`);
    listener.always((response, seen) => {
      const good = seen.headers.authorization === `Bearer token-${valid}`;
      (good ? answer('ok') : refuse(401, 'expired'))(response, seen);
    });
    const client = clientOf(listener, { limits: { retry: { maxAttempts: 1 } } });
    for (; valid <= 5; valid++)
      await Promise.all([client.readAll(PAGE), client.readAll(PAGE), client.readAll(PAGE)]);
    expect(listener.seenTokens).toHaveLength(5);
  });

  it('that never worked and is refused is fatal at once', async ({ listener }) => {
    listener.always(refuse(401, 'no'));
    const error = await errorOf(clientOf(listener).readAll(PAGE));
    expect(error).toMatchObject({ name: 'FatalError', code: 'credentials-refused' });
    expect([listener.seenTokens.length, listener.seen.length]).toEqual([1, 1]);
  });

  it('that follows a revoked one and is refused is fatal too', async ({ listener }) => {
    const client = clientOf(listener);
    await client.readAll(PAGE);
    listener.always(refuse(401, 'no'));
    listener.alwaysToken(issueToken('token-2'));
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(bearer(listener)).toEqual(['token-1', 'token-1', 'token-2']);
  });

  it('works when it got any other answer than 401', async ({ listener }) => {
    listener.script(refuse(404), refuse(401));
    const client = clientOf(listener);
    await errorOf(client.readAll(PAGE));
    await client.readAll(PAGE);
    expect(listener.seenTokens).toHaveLength(2);
  });

  it('is not renewed for ever for a call that alone is refused', async ({ listener }) => {
    issueEach(listener, (n) => `token-${n}`);
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
    expect(listener.seenTokens).toHaveLength(3);
  });
});

/** A rate limit whose turns the test gives, one by one. */
function gatedRateLimit() {
  const waiting: (() => void)[] = [];
  const watchers: (() => void)[] = [];
  /** Resolves once someone waits for a turn. */
  const untilWaiting = async () => {
    if (waiting.length === 0) await new Promise<void>((resolve) => watchers.push(resolve));
  };
  return {
    rateLimit: {
      take: () =>
        new Promise<void>((resolve) => {
          waiting.push(resolve);
          for (const watch of watchers.splice(0)) watch();
        }),
      slowDown: () => {},
      perMinute: undefined,
    },
    /** Let the next who waits for a turn go, once there is one. */
    async letOneGo() {
      await untilWaiting();
      waiting.shift()!();
    },
    untilWaiting,
  };
}

describe('a token and the wait in line', () => {
  const MINUTE = { iat: 0, exp: 60 };

  it('is taken after the wait, and renewed where it expired there, though every slot is held', async ({
    listener,
  }) => {
    const { rateLimit, letOneGo, untilWaiting } = gatedRateLimit();
    issueEach(listener, (n) => jwt({ ...MINUTE, n }));
    const { clock, client } = clocked(listener, { rateLimit, maxConcurrency: 1 });
    const call = client.readAll(PAGE);
    await letOneGo();
    await untilWaiting();
    expect(listener.seenTokens).toHaveLength(1);
    await clock.advance(60_000);
    await letOneGo();
    await letOneGo();
    await call;
    expect(listener.seenTokens).toHaveLength(2);
    expect(bearer(listener)).toEqual([jwt({ ...MINUTE, n: 2 })]);
  });

  it('is renewed where it would not outlive the sending', async ({ listener }) => {
    issueEach(listener, (n) => jwt({ ...MINUTE, n }));
    const { clock, client } = clocked(listener);
    await client.readAll(PAGE);
    await clock.advance(59_000);
    await client.readAll(PAGE);
    expect(bearer(listener)[1]).toBe(jwt({ ...MINUTE, n: 2 }));
  });

  it('lives from when it was asked for, however long its answer takes', async ({ listener }) => {
    const clock = createManualClock();
    let issued = 0;
    listener.alwaysToken(async (response, seen) => {
      if (issued === 0) await clock.advance(50_000);
      issueToken(jwt({ ...MINUTE, n: ++issued }))(response, seen);
    });
    const client = clientOf(listener, { clock });
    await client.readAll(PAGE);
    await clock.advance(5_000);
    await client.readAll(PAGE);
    expect(bearer(listener)).toEqual([1, 2].map((n) => jwt({ ...MINUTE, n })));
  });

  it('is not refused by a 401 that came after it had expired', async ({ listener }) => {
    const clock = createManualClock();
    listener.alwaysToken(issueToken(jwt(MINUTE)));
    listener.script((response, seen) => clock.advance(61_000).then(() => refuse(401)(response, seen)));
    await clientOf(listener, { clock }).readAll(PAGE);
    expect([listener.seenTokens.length, listener.seen.length]).toEqual([2, 2]);
  });

  it('that always expires before it is looked at ends a call as retriable, not as refused credentials', async ({
    listener,
  }) => {
    const clock = createManualClock();
    listener.alwaysToken(issueToken(jwt(MINUTE)));
    listener.always((response, seen) => clock.advance(61_000).then(() => refuse(401)(response, seen)));
    const client = clientOf(listener, { clock, limits: { retry: { maxAttempts: 3 } } });
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({
      name: 'RetriableError',
      code: 'token-expired',
    });
    expect(listener.seen).toHaveLength(3);
  });

  it('that was kept unused for a while is renewed when it is refused', async ({ listener }) => {
    const { rateLimit, letOneGo, untilWaiting } = gatedRateLimit();
    issueEach(listener, (n) => `opaque-${n}`);
    listener.script(refuse(401));
    const { clock, client } = clocked(listener, { rateLimit });
    const call = client.readAll(PAGE);
    await letOneGo();
    await untilWaiting();
    await clock.advance(60_000);
    // The request, the new token, and the request again.
    for (let turn = 0; turn < 3; turn++) await letOneGo();
    await call;
    expect(bearer(listener)).toEqual(['opaque-1', 'opaque-2']);
  });

  it('that does not come holds a slot for half a minute at most', async ({ listener }) => {
    const clock = createManualClock();
    const { rateLimit, letOneGo, untilWaiting } = gatedRateLimit();
    const concurrencyLimit = createConcurrencyLimit({ limit: 1, rateLimit, clock });
    listener.alwaysToken(issueToken(jwt(MINUTE)));
    const client = clientOf(listener, { clock, rateLimit, concurrencyLimit });
    const call = client.readAll(PAGE);
    await letOneGo();
    await untilWaiting();
    await clock.advance(60_000);
    let answerToken = () => {};
    listener.scriptTokens((response, seen) => {
      answerToken = () => issueToken(jwt(MINUTE))(response, seen);
    });
    await letOneGo();
    await letOneGo();
    await listener.untilTokensSeen(2);
    let isFree = false;
    const other = concurrencyLimit.acquire().then((slot) => {
      isFree = true;
      slot.release();
    });
    await clock.advance(29_000);
    expect(isFree).toBe(false);
    await clock.advance(1_000);
    await other;
    expect(listener.seen).toHaveLength(0);
    answerToken();
    await letOneGo();
    await call;
    expect([listener.seenTokens.length, listener.seen.length]).toEqual([2, 1]);
  });
});

const ODD = { clientId: 'a b', clientSecret: 'ö%+é/c:=' };
const ENCODED = 'a%20b:%C3%B6%25%2B%C3%A9%2Fc%3A%3D';
const PLAIN = 'a b:ö%+é/c:=';
const credentials = (listener: Listener) =>
  listener.seenTokens.map(({ headers }) =>
    Buffer.from(headers.authorization!.slice('Basic '.length), 'base64').toString(),
  );
/** Accepts these credentials alone, as a stand-in of a server that decodes, or one that does not. */
const accepting =
  (accepted: string, status = 401): Handler =>
  (response, seen) => {
    const sent = Buffer.from(seen.headers.authorization!.slice('Basic '.length), 'base64').toString();
    (sent === accepted ? issueToken('token-1') : refuse(status))(response, seen);
  };

describe('credentials that percent-encoding changes', () => {
  it.for([400, 401])(
    'are sent encoded once a %i has refused the plain ones, and stay so',
    async (status, { listener }) => {
      listener.alwaysToken(accepting(ENCODED, status));
      const { clock, client } = clocked(listener, ODD);
      await client.readAll(PAGE);
      expect(credentials(listener)).toEqual([PLAIN, ENCODED]);
      for (let hour = 0; hour < 2; hour++) {
        await clock.advance(3_600_000);
        await client.readAll(PAGE);
      }
      expect(credentials(listener).slice(2)).toEqual([ENCODED, ENCODED]);
    },
  );

  it('are sent plain alone where that works, and refused without another guess once they are revoked', async ({
    listener,
  }) => {
    listener.alwaysToken(accepting(PLAIN));
    const { clock, client } = clocked(listener, ODD);
    await client.readAll(PAGE);
    listener.alwaysToken(refuse(401));
    await clock.advance(3_600_000);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    expect(credentials(listener)).toEqual([PLAIN, PLAIN]);
  });

  it('fail twice once, and then by turns, so that nobody is locked out sooner for having two forms', async ({
    listener,
  }) => {
    listener.alwaysToken(refuse(401));
    const { clock, client } = clocked(listener, ODD);
    for (let ask = 0; ask < 4; ask++) {
      expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
      await clock.advance(10_000);
    }
    expect(credentials(listener)).toEqual([PLAIN, ENCODED, PLAIN, ENCODED, PLAIN]);
    listener.alwaysToken(accepting(PLAIN));
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'credentials-refused' });
    await clock.advance(10_000);
    await client.readAll(PAGE);
  });

  it('are not sent plain again for a time-out of the encoded ones', async ({ listener }) => {
    listener.scriptTokens(refuse(401), refuse(503));
    listener.alwaysToken(accepting(ENCODED));
    const client = clientOf(listener, { ...ODD, limits: { retry: { maxAttempts: 1 } } });
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'server-error' });
    await client.readAll(PAGE);
    expect(credentials(listener)).toEqual([PLAIN, ENCODED, ENCODED]);
  });

  it('say in the refusal that both forms were tried, and show neither', async ({ listener }) => {
    listener.alwaysToken((response, seen) =>
      refuse(401, `${ENCODED} ${PLAIN} ${seen.headers.authorization}`)(response, seen),
    );
    const error = await errorOf(clientOf(listener, ODD).readAll(PAGE));
    expect(error.message).toContain('as they are and percent-encoded');
    const text = `${error.message} ${(error.cause as Error).message}`;
    for (const secret of [ODD.clientSecret, '%C3%B6%25%2B', btoa(ENCODED).slice(0, 12)])
      expect(text).not.toContain(secret);
  });

  it.for([403, 404])('are not tried encoded after a %i', async (status, { listener }) => {
    listener.alwaysToken(refuse(status));
    await errorOf(clientOf(listener, ODD).readAll(PAGE));
    expect(credentials(listener)).toEqual([PLAIN]);
  });

  it('are others than those that it leaves as they are, which are sent once', async ({ listener }) => {
    listener.alwaysToken(refuse(401));
    await errorOf(clientOf(listener, { clientSecret: "Az09-._~!*'()" }).readAll(PAGE));
    expect(credentials(listener)).toEqual(["client-7:Az09-._~!*'()"]);
  });
});

it('a refusal by RFC 6749 is told with code and description', async ({ listener }) => {
  const body = JSON.stringify({ error: 'invalid_client', error_description: 'the client is suspended' });
  listener.alwaysToken((response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).end(body),
  );
  const { cause } = await errorOf(clientOf(listener).readAll(PAGE));
  expect((cause as Error).message).toContain('invalid_client: the client is suspended');
});

it('an opaque token is renewed by what the endpoint says of its life', async ({ listener }) => {
  let issued = 0;
  listener.alwaysToken((response) =>
    response.writeHead(200).end(JSON.stringify({ access_token: `opaque-${++issued}`, expires_in: 600 })),
  );
  const { clock, client } = clocked(listener);
  await client.readAll(PAGE);
  await clock.advance(590_000);
  await client.readAll(PAGE);
  expect(bearer(listener)).toEqual(['opaque-1', 'opaque-2']);
});

describe('lifetimeOf', () => {
  const now = 1_000_000_000;
  const HOUR = 3_600_000;
  const MINUTE = jwt({ iat: 0, exp: 60 });
  it.each<[what: string, token: string, expiresIn: unknown, lifetimeMs: number]>([
    ['exp and iat', jwt({ iat: 5_000, exp: 5_090 }), undefined, 90_000],
    ['exp alone', jwt({ exp: now / 1000 + 60 }), undefined, 60_000],
    ['exp that has passed, alone', jwt({ exp: 5 }), undefined, HOUR],
    ['exp before iat', jwt({ iat: 10, exp: 5 }), undefined, HOUR],
    ['no exp', jwt({ iat: 10 }), undefined, HOUR],
    ['exp of another type', jwt({ exp: '10' }), undefined, HOUR],
    ['exp in the far future', jwt({ iat: 0, exp: 1e12 }), undefined, 24 * HOUR],
    ['claims that are null', `a.${Buffer.from('null').toString('base64url')}.c`, undefined, HOUR],
    ['three parts of nonsense', 'a.%%%.c', undefined, HOUR],
    ['no JWT', 'opaque', undefined, HOUR],
    ['a fraction by the endpoint', 'opaque', 90.5, 90_500],
    ['a number as text', 'opaque', '90', 90_000],
    ['null', 'opaque', null, HOUR],
    ['zero', 'opaque', 0, HOUR],
    ['zero as text', 'opaque', '0', HOUR],
    ['less than nothing', 'opaque', -5, HOUR],
    ['a number without end', 'opaque', Number.POSITIVE_INFINITY, HOUR],
    ['2^53', 'opaque', 2 ** 53, 24 * HOUR],
    ['text without a number', 'opaque', '1h', HOUR],
    ['empty text', 'opaque', '', HOUR],
    ['a list', 'opaque', [90], HOUR],
    ['true', 'opaque', true, HOUR],
    // Of both what ends first: the endpoint may have kept the token.
    ['a shorter life by the endpoint', jwt({ iat: 0, exp: 3_600 }), 60, 60_000],
    ['a longer life by the endpoint', MINUTE, 3_600, 60_000],
    ['exp without iat, which would need our clock', jwt({ exp: now / 1000 + 60 }), 300, 300_000],
    ['exp that has passed by our clock', jwt({ exp: 5 }), 300, 300_000],
    ['nonsense by the endpoint', MINUTE, -1, 60_000],
  ])('of a token and what its endpoint says: %s', (_, token, expiresIn, lifetimeMs) => {
    expect(lifetimeOf(token, expiresIn, now)).toBe(lifetimeMs);
  });
});
