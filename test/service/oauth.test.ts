/** The token endpoint, by RFC 6749: seen by a published OAuth client, and held against what others send wrongly. */
import fc from 'fast-check';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import { createTokenAuthority } from '../../src/service/http/credentials.ts';
import { basic, CLIENT, openService, type TestService, testClock, VESSEL } from './running-service.ts';

const ODD = { clientId: 'fleet: a+b%41 ö', clientSecret: 'é%2Bx+y:%zz /"\\', vessels: '*' } as const;
const GRANT = 'grant_type=client_credentials';

let s: TestService;
beforeAll(async () => {
  s = await openService({ clients: [CLIENT, ODD] });
});
afterAll(() => s[Symbol.asyncDispose]());

const form = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');

async function ask(body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${s.service.authUrl}/oauth2/token`, {
    method: 'POST',
    headers: {
      authorization: basic(CLIENT.clientId, CLIENT.clientSecret),
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    body,
  });
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: (await response.json()) as Record<string, unknown>,
  };
}

describe('a published OAuth client', () => {
  const server = () => ({
    issuer: s.service.authUrl,
    token_endpoint: `${s.service.authUrl}/oauth2/token`,
  });
  const request = async (clientId: string, secret: string, parameters: Record<string, string> = {}) => {
    const client = { client_id: clientId };
    const response = await oauth.clientCredentialsGrantRequest(
      server(),
      client,
      oauth.ClientSecretBasic(secret),
      parameters,
      { [oauth.allowInsecureRequests]: true },
    );
    return oauth.processClientCredentialsResponse(server(), client, response);
  };

  test.each([CLIENT, ODD])('that percent-encodes id and secret of $clientId gets a token', async (client) => {
    const { access_token, token_type, expires_in, scope } = await request(
      client.clientId,
      client.clientSecret,
    );
    expect({ token_type, expires_in, scope }).toEqual({
      token_type: 'bearer',
      expires_in: 3600,
      scope: 'read:*',
    });
    const readings = await s.get(`/metadata/flat/${VESSEL}/Roll`, {
      authorization: `Bearer ${access_token}`,
    });
    expect(readings.status).toBe(200);
  });

  test('is told that its credentials are wrong, with a challenge that it can read', async () => {
    const error = await request(CLIENT.clientId, 'wrong').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    expect((error as oauth.WWWAuthenticateChallengeError).cause).toMatchObject([
      { scheme: 'basic', parameters: { realm: 'token' } },
    ]);
  });

  test('is told of a wrong request by a code that it can read', async () => {
    const error = await request(CLIENT.clientId, CLIENT.clientSecret, { client_secret: 'x' }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(oauth.ResponseBodyError);
    expect(error).toMatchObject({ error: 'invalid_request', status: 400 });
  });
});

const spellOut = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&');
test.each([
  ['as they are', (text: string) => text],
  ['as a form has them', form],
  ['spelled out in percent-encoding', spellOut],
])('credentials come in %s', async (_, encode) => {
  const statusOf = async (clientId: string, secret: string) =>
    (await ask(GRANT, { authorization: basic(encode(clientId), encode(secret)) })).status;
  expect(await statusOf(CLIENT.clientId, CLIENT.clientSecret)).toBe(200);
  expect(await statusOf(CLIENT.clientId, ODD.clientSecret)).toBe(401);
  // An id with a colon can only be sent encoded.
  expect(await statusOf(ODD.clientId, ODD.clientSecret)).toBe(encode(':') === ':' ? 401 : 200);
});

test('any credentials are accepted plain and encoded, and no others', () => {
  const id = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes(':'));
  const secret = fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[a%+ 0-9A-F]{0,12}$/));
  fc.assert(
    fc.property(id, secret, secret, (clientId, clientSecret, other) => {
      const client = { clientId, clientSecret, vessels: '*' } as const;
      const authority = createTokenAuthority([client], 3600, testClock(), silentLog);
      const login = (name: string, tried: string) => {
        try {
          return authority.authenticate(basic(name, tried), 'here');
        } catch {
          return undefined;
        }
      };
      const decoded = (() => {
        try {
          return decodeURIComponent(other.replaceAll('+', ' '));
        } catch {
          return other;
        }
      })();
      expect(login(clientId, clientSecret)).toBe(client);
      expect(login(form(clientId), form(clientSecret))).toBe(client);
      if (other !== clientSecret && decoded !== clientSecret) expect(login(clientId, other)).toBeUndefined();
      if (other !== clientSecret) expect(login(form(clientId), form(other))).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});

test('whoever spells a client id in other ways has no more guesses', async () => {
  const lines: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
  const authority = createTokenAuthority([CLIENT], 3600, testClock(), log);
  const spellings = ['reader', '%72eader', 'r%65ader', 're%61der', 'rea%64er', '%72%65ader'];
  const statuses = Array.from({ length: 30 }, (_, guess) => {
    try {
      authority.authenticate(basic(spellings[guess % spellings.length]!, `guess ${guess}`), 'here');
      return 200;
    } catch (error) {
      return (error as { status: number }).status;
    }
  });
  expect(statuses).toEqual([...Array<number>(11).fill(401), ...Array<number>(19).fill(429)]);
  expect(lines).toHaveLength(11);
});

test('a secret that is sent as an id is not logged, however it is spelled', () => {
  const lines: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
  const odd = { ...CLIENT, clientSecret: 'odd+secret%41' };
  const authority = createTokenAuthority([CLIENT, odd], 3600, testClock(), log);
  const names = [odd.clientSecret, form(odd.clientSecret), spellOut(odd.clientSecret), 'reader'];
  for (const name of names) expect(() => authority.authenticate(basic(name, 'x'), 'here')).toThrow();
  expect(lines.map((line) => (line as { name: string }).name)).toEqual(['***', '***', '***', 'reader']);
});

const RIGHT = basic(CLIENT.clientId, CLIENT.clientSecret);
test.each<[what: string, code: string, status: number, body: string, headers?: Record<string, string>]>([
  ['no grant type', 'invalid_request', 400, ''],
  ['an empty grant type', 'invalid_request', 400, 'grant_type='],
  ['another grant type', 'unsupported_grant_type', 400, 'grant_type=password'],
  ['a grant type in other letters', 'unsupported_grant_type', 400, 'grant_type=Client_Credentials'],
  ['a doubled grant type', 'invalid_request', 400, `${GRANT}&${GRANT}`],
  ['two grant types', 'invalid_request', 400, `${GRANT}&grant_type=password`],
  ['a doubled scope', 'invalid_request', 400, `${GRANT}&scope=a&scope=b`],
  ['a secret in header and body', 'invalid_request', 400, `${GRANT}&client_secret=a+long+secret%3A+1`],
  ['an assertion beside the header', 'invalid_request', 400, `${GRANT}&client_assertion=eyJ`],
  ['another client in the body', 'invalid_request', 400, `${GRANT}&client_id=somebody`],
  [
    'JSON',
    'invalid_request',
    400,
    '{"grant_type":"client_credentials"}',
    { 'content-type': 'application/json' },
  ],
  ['text', 'invalid_request', 400, GRANT, { 'content-type': 'text/plain' }],
  ['a wrong secret', 'invalid_client', 401, GRANT, { authorization: basic(CLIENT.clientId, 'wrong') }],
  ['no credentials', 'invalid_client', 401, GRANT, { authorization: '' }],
  ['another scheme', 'invalid_client', 401, GRANT, { authorization: 'Bearer x' }],
  [
    'a secret in the body alone',
    'invalid_client',
    401,
    `${GRANT}&client_id=reader&client_secret=x`,
    { authorization: '' },
  ],
])('%s is refused as %s', async (_, code, status, body, headers) => {
  const refused = await ask(body, headers);
  expect(refused).toEqual({
    status,
    challenge: status === 401 ? 'Basic realm="token"' : null,
    // RFC 6749 §5.2: no quotes, no backslash, ASCII alone.
    body: {
      error: code,
      error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]{10,400}$/),
    },
  });
});

test('what a refusal quotes stays within what RFC 6749 lets it hold', async () => {
  const { body } = await ask(`grant_type=${encodeURIComponent('ö"\\\r\n\u0000<script>'.repeat(100))}`);
  expect(body.error).toBe('unsupported_grant_type');
  expect(body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]{10,400}$/);
});

test.each([
  ['its own id in the body', `${GRANT}&client_id=${CLIENT.clientId}`],
  ['a scope', `${GRANT}&scope=read`],
  ['an empty secret in the body', `${GRANT}&client_secret=`],
  ['what nobody knows', `${GRANT}&x=1&resource=y`],
])('a request with %s is answered', async (_, body) => {
  expect((await ask(body)).status).toBe(200);
  expect((await ask(body, { authorization: RIGHT })).status).toBe(200);
});
