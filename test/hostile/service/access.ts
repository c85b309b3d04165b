/** Forged tokens, and asking for tokens in ways that must not work. */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import type { Category, HostileInput } from '../input.ts';
import { words } from '../input.ts';
import type { Expectation } from './held.ts';
import { request } from './held.ts';
import type { ServiceFace } from './service-face.ts';
import { VESSEL } from './service-face.ts';

const HOUR_S = 3_600;
const ISSUER = 'vessel-time-series-query-service';
/** No readings for who is not known. 429: whoever fails too often is made to wait. */
const UNKNOWN: Expectation = { statuses: [400, 401, 429, 431] };
const OWN_PATH = `/metadata/flat/${VESSEL}/Roll`;

type Json = Readonly<Record<string, unknown>>;

const b64 = (value: Json | string | Buffer) =>
  (Buffer.isBuffer(value)
    ? value
    : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  ).toString('base64url');

function claims(more: Json = {}): Json {
  const nowS = Math.floor(Date.now() / 1000);
  return { scope: 'read:*', iss: ISSUER, sub: 'wide', iat: nowS, exp: nowS + HOUR_S, ...more };
}

function hmac(header: Json, payload: Json, key: string | Buffer, hash = 'sha256'): string {
  const head = `${b64(header)}.${b64(payload)}`;
  return `${head}.${b64(createHmac(hash, key).update(head).digest())}`;
}

const HS256 = { alg: 'HS256', typ: 'JWT' };

/** Tokens that were never issued: nobody who makes them has the key. */
function forged(): [string, string][] {
  const none = ['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg): [string, string][] => {
    const head = `${b64({ alg, typ: 'JWT' })}.${b64(claims())}`;
    return [
      [`alg '${alg}' without a signature`, `${head}.`],
      [`alg '${alg}' with one`, `${head}.${b64('signature')}`],
      [`alg '${alg}' without its dot`, head],
    ];
  });
  const keys = ['', 'secret', ISSUER, 'HS256', '\0'.repeat(32), 'a long secret: 1', 'narrow', 'wide'].map(
    (key): [string, string] => [
      `HS256 with the key '${key.replaceAll('\0', '0')}'`,
      hmac(HS256, claims(), key),
    ],
  );
  const kids = [
    ...['../../../../dev/null', '/dev/null', "x' UNION SELECT ''--", '0', '__proto__', 'a'.repeat(5_000)],
    ...words('file:///dev/null http://127.0.0.1:1/keys %00 ../../proc/sys/kernel/randomize_va_space'),
  ].map((kid): [string, string] => [`kid ${kid.slice(0, 40)}`, hmac({ ...HS256, kid }, claims(), '')]);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = publicKey.export({ format: 'jwk' });
  const rsa = (more: Json): string => {
    const head = `${b64({ alg: 'RS256', ...more })}.${b64(claims())}`;
    return `${head}.${b64(sign('sha256', Buffer.from(head), privateKey))}`;
  };
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  const odd: [string, string][] = [
    ['RS256 with its key inside', rsa({ jwk })],
    ['RS256 with jku', rsa({ jku: 'http://127.0.0.1:1/keys', kid: '1' })],
    ['RS256 with x5u', rsa({ x5u: 'http://127.0.0.1:1/cert' })],
    ['RS256 with x5c', rsa({ x5c: [b64('certificate')] })],
    ['HS256 keyed with a public key', hmac(HS256, claims(), pem)],
    ['HS384 with a guessed key', hmac({ alg: 'HS384' }, claims(), 'secret', 'sha384')],
    ['HS512 with a guessed key', hmac({ alg: 'HS512' }, claims(), 'secret', 'sha512')],
    ['an unknown critical header', hmac({ ...HS256, crit: ['exp2'], exp2: 1 }, claims(), '')],
    ['b64 false', hmac({ ...HS256, b64: false, crit: ['b64'] }, claims(), '')],
    ['a JWE of five parts', 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..a.b.c'],
    [
      'JSON instead of a token',
      JSON.stringify({ payload: b64(claims()), signatures: [] }).replaceAll(' ', ''),
    ],
    ['three dots', '...'],
    ['a token of 60 kB', `${b64(HS256)}.${b64(claims({ x: 'a'.repeat(40_000) }))}.${b64('x')}`],
    ['a token of deep JSON', `${b64(HS256)}.${b64(`${'['.repeat(20_000)}`)}.${b64('x')}`],
    ['a header that is an array', `${b64('[]')}.${b64(claims())}.${b64('x')}`],
    ['a prototype in the header', `${b64('{"__proto__":{"alg":"none"}}')}.${b64(claims())}.`],
    ['alg as a list', hmac({ alg: ['HS256', 'none'] } as Json, claims(), '')],
    ['binary', Buffer.from([0xff, 0xfe, 0x80, 0x41]).toString('latin1')],
  ];
  return [...none, ...keys, ...kids, ...odd];
}

/** Issued tokens, altered: name → the altered one. */
const ALTERED: readonly (readonly [string, (token: string) => string])[] = [
  ['scope widened, signature kept', (token) => swapPayload(token, { scope: 'read:*' })],
  ['scope as a list', (token) => swapPayload(token, { scope: ['read:*'] })],
  ['subject changed', (token) => swapPayload(token, { sub: 'wide' })],
  ['expiry moved', (token) => swapPayload(token, { exp: 4_102_444_800 })],
  ['expiry left out', (token) => swapPayload(token, { exp: undefined })],
  ['issuer changed', (token) => swapPayload(token, { iss: 'x' })],
  ['audience added', (token) => swapPayload(token, { aud: 'x' })],
  ['not before the future', (token) => swapPayload(token, { nbf: 4_102_444_800 })],
  ['signature cut', (token) => token.slice(0, -4)],
  ['signature emptied', (token) => token.slice(0, token.lastIndexOf('.') + 1)],
  ['signature reversed', (token) => reverseSignature(token)],
  ['algorithm changed to none', (token) => swapHeader(token, { alg: 'none' })],
  ['algorithm changed to HS512', (token) => swapHeader(token, { alg: 'HS512' })],
  ['a dot too many', (token) => `${token}.`],
  ['twice', (token) => `${token}${token}`],
  ['a part too many', (token) => `${token}.${b64('x')}`],
  ['upper case', (token) => token.toUpperCase()],
  ['payload of another token', (token) => swapPayload(token, {}, claims())],
];

function swapPayload(token: string, more: Json, from?: Json): string {
  const [header, payload, signature] = token.split('.');
  const known = from ?? JSON.parse(Buffer.from(payload!, 'base64url').toString('utf8'));
  return `${header}.${b64({ ...known, ...more, odd: 1 })}.${signature}`;
}

function swapHeader(token: string, more: Json): string {
  const [, payload, signature] = token.split('.');
  return `${b64({ ...HS256, ...more })}.${payload}.${signature}`;
}

function reverseSignature(token: string): string {
  const at = token.lastIndexOf('.') + 1;
  return token.slice(0, at) + [...token.slice(at)].reverse().join('');
}

function bearer(name: string, authorization: (token: string) => string): HostileInput<ServiceFace> {
  return request(
    name,
    (face) => ({ path: OWN_PATH, authorization: authorization(face.narrow.token) }),
    UNKNOWN,
  );
}

const PLACED: readonly HostileInput<ServiceFace>[] = [
  bearer('no token', () => ''),
  bearer('Bearer alone', () => 'Bearer'),
  bearer('Bearer and spaces', () => 'Bearer    '),
  bearer('another scheme', (token) => `Token ${token}`),
  bearer('no scheme', (token) => token),
  bearer('Basic with the token', (token) => `Basic ${token}`),
  bearer('two tokens in one header', (token) => `Bearer ${token}, Bearer ${token}`),
  bearer('a token with a space inside', (token) => `Bearer ${token.slice(0, 20)} ${token.slice(20)}`),
  bearer('quotes around it', (token) => `Bearer "${token}"`),
  request(
    'the token in the query',
    (face) => ({ path: `${OWN_PATH}?access_token=${face.narrow.token}`, authorization: '' }),
    UNKNOWN,
  ),
  request(
    'the token in a cookie',
    (face) => ({ path: OWN_PATH, authorization: '', headers: [`cookie: access_token=${face.narrow.token}`] }),
    UNKNOWN,
  ),
  request(
    'the client secret as a token',
    (face) => ({ path: OWN_PATH, authorization: `Bearer ${face.wide.clientSecret}` }),
    UNKNOWN,
  ),
  request(
    'Basic with the right secret at the data',
    (face) => ({ path: OWN_PATH, authorization: basic(face.wide.clientId, face.wide.clientSecret) }),
    UNKNOWN,
  ),
];

export const TOKENS: Category<ServiceFace> = {
  name: 'tokens',
  inputs: [
    ...PLACED,
    ...forged().map(([name, token]) => bearer(name, () => `Bearer ${token}`)),
    ...ALTERED.map(([name, alter]) => bearer(name, (token) => `Bearer ${alter(token)}`)),
  ],
};

const FORM = 'content-type: application/x-www-form-urlencoded';
const GRANT = 'grant_type=client_credentials';

function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

/** No token comes of it; or one that says no more than the narrow client may. */
const NO_WIDER: Expectation = {
  statuses: [200, 400, 401, 404, 405, 413, 415, 429, 431],
  isToken: true,
  check: (answer) => {
    if (answer.status !== 200) return undefined;
    const { access_token: token } = JSON.parse(answer.body.toString('utf8'));
    const { scope, sub } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString('utf8'));
    if (scope === `read:${VESSEL}` && sub === 'narrow') return undefined;
    return `a token for '${sub}' with the scope '${scope}'`;
  },
};

interface TokenAsk {
  readonly authorization?: (face: ServiceFace) => string;
  readonly body?: string;
  readonly headers?: readonly string[];
  readonly method?: string;
  readonly target?: string;
}

function tokenAsk(name: string, asked: TokenAsk): HostileInput<ServiceFace> {
  const { method = 'POST', target = '/auth/oauth2/token', body = GRANT, headers = [FORM] } = asked;
  const authorization =
    asked.authorization ?? ((face: ServiceFace) => basic('narrow', face.narrow.clientSecret));
  return request(name, (face) => ({ method, target, body, headers, authorization: authorization(face) }), {
    ...NO_WIDER,
  });
}

const wrongly = (name: string, authorization: (face: ServiceFace) => string) =>
  tokenAsk(name, { authorization });

export const TOKEN_ENDPOINT: Category<ServiceFace> = {
  name: 'token endpoint',
  inputs: [
    wrongly('no credentials', () => ''),
    wrongly('an empty secret', () => basic('wide', '')),
    wrongly('an empty id', (face) => basic('', face.wide.clientSecret)),
    wrongly('the secret of another client', (face) => basic('wide', face.narrow.clientSecret)),
    wrongly('the head of the secret', (face) => basic('wide', face.wide.clientSecret.slice(0, -1))),
    wrongly('the secret and more', (face) => basic('wide', `${face.wide.clientSecret}x`)),
    wrongly('the secret and NUL', (face) => basic('wide', `${face.wide.clientSecret}\0`)),
    wrongly('the secret in upper case', (face) => basic('wide', face.wide.clientSecret.toUpperCase())),
    wrongly('the id in upper case', (face) => basic('WIDE', face.wide.clientSecret)),
    wrongly('a wildcard id', () => basic('*', '*')),
    wrongly('SQL for an id', () => basic("' OR '1'='1", "' OR '1'='1")),
    wrongly('a prototype for an id', () => basic('__proto__', 'toString')),
    wrongly('half a megabyte of colons', () => `Basic ${Buffer.from(':'.repeat(30_000)).toString('base64')}`),
    wrongly('a colon alone', () => basic('', '')),
    wrongly('no colon', () => `Basic ${Buffer.from('wide').toString('base64')}`),
    wrongly('what is not base64', () => 'Basic %%%%'),
    wrongly('invalid UTF-8', () => `Basic ${Buffer.from([0xff, 0xfe, 0x3a, 0x80]).toString('base64')}`),
    wrongly('a bearer token for credentials', (face) => `Bearer ${face.wide.token}`),
    ...[
      ['password grant', 'grant_type=password&username=wide&password=x'],
      ['refresh grant', 'grant_type=refresh_token&refresh_token=x'],
      ['no grant', ''],
      ['two grants', `${GRANT}&grant_type=password`],
      ['a wider scope', `${GRANT}&scope=read:*`],
      ['a wider scope, encoded', `${GRANT}&scope=read%3A%2A+read%3AIMO9322853`],
      ['another client in the body', `${GRANT}&client_id=wide&client_secret=x`],
      ['a longer life', `${GRANT}&expires_in=999999999&exp=4102444800`],
      ['a prototype in the form', `${GRANT}&__proto__[vessels]=*&constructor.prototype.vessels=*`],
      ['ten thousand fields', `${GRANT}${'&a=b'.repeat(10_000)}`],
      ['a megabyte', `${GRANT}&x=${'a'.repeat(1_000_000)}`],
      ['two megabytes', `${GRANT}&x=${'a'.repeat(2_000_000)}`],
      ['bad percent-encoding', `grant_type=%zz%00`],
    ].map(([name, body]) => tokenAsk(name!, { body: body! })),
    tokenAsk('JSON', {
      body: '{"grant_type":"client_credentials"}',
      headers: ['content-type: application/json'],
    }),
    tokenAsk('no content type', { headers: [] }),
    tokenAsk('multipart', { headers: ['content-type: multipart/form-data; boundary=x'] }),
    tokenAsk('two content types', { headers: [FORM, 'content-type: application/json'] }),
    ...['GET', 'PUT', 'DELETE', 'PATCH'].map((method) => tokenAsk(method, { method })),
    ...[
      ...words('/auth/oauth2/token/ //auth/oauth2/token /auth/oauth2/../oauth2/token /AUTH/oauth2/token'),
      ...words('/auth/oauth2/token%00 /auth/oauth2/token;x /fleet/oauth2/token'),
      ...words('/auth/oauth2/token?scope=read:*'),
    ].map((target) => tokenAsk(`at ${target}`, { target })),
  ],
};
