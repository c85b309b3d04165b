/** Guessing, and forging who one is. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Category, HostileInput } from '../input.ts';
import { shown, words } from '../input.ts';
import type { RawAnswer } from '../raw-http.ts';
import type { PageAsked, PageFace } from './page-face.ts';
import { ACT_LINES, ACT_PASSWORD, READ_PASSWORD, signIn, USER_HEADER } from './page-face.ts';

const GUESSES = 300;

/** So many wrong passwords in a row are not all judged, and whoever has the right one and another address gets in. */
function guess(
  name: string,
  of: (i: number, face: PageFace) => { readonly name: string; readonly more?: Partial<PageAsked> },
): HostileInput<PageFace> {
  return {
    name,
    async send(face) {
      const from = face.newAddress();
      const statuses: number[] = [];
      for (let at = 0; at < GUESSES; at += 20)
        await Promise.all(
          Array.from({ length: 20 }, async (_, i) => {
            const { name: user, more = {} } = of(at + i, face);
            const { status } = await signIn(face, user, `guess ${at + i} ${'x'.repeat(12)}`, {
              from,
              ...more,
            });
            statuses.push(status);
          }),
        );
      if (statuses.includes(200)) return 'a guess was right';
      const judged = statuses.filter((status) => status === 401).length;
      if (judged > GUESSES / 2) return `${judged} of ${GUESSES} guesses in a row were judged`;
      if (/guess \d/.test(face.log())) return 'the log shows what was tried';
      const { status } = await signIn(face, 'Ada', READ_PASSWORD);
      return status === 200 ? undefined : `the right password got status ${status}`;
    },
  };
}

/** Whatever it brings, it is nobody, and may nothing. */
function nobody(
  name: string,
  headers: readonly string[] | ((face: PageFace) => readonly string[]),
): HostileInput<PageFace> {
  return {
    name: shown(name),
    async send(face) {
      const brought = typeof headers === 'function' ? headers(face) : headers;
      const session = await face.ask({ path: '/api/session', headers: brought });
      if (session.status === 200 && JSON.parse(session.body.toString('utf8')).mayRead !== false)
        return `it may look: ${shown(session.body.toString('utf8'))}`;
      const [about, act] = [
        await face.ask({ path: '/api/about', headers: brought }),
        await face.ask({
          ...{ method: 'POST', path: '/api/acts', body: '{"act":"end-all-sessions"}' },
          headers: [...ACT_LINES, ...brought],
        }),
      ];
      return faultOf(about, 'look') ?? faultOf(act, 'act');
    },
  };
}

function faultOf({ status, body }: RawAnswer, what: string): string | undefined {
  return [400, 401, 403, 431].includes(status)
    ? undefined
    : `it may ${what}: ${status} ${shown(body.toString('utf8'))}`;
}

const b64 = (text: string) => Buffer.from(text).toString('base64url');
const LATER = 4_102_444_800;
const ACTOR = b64('act AAAAAAAAAAAAAAAA Eve');

/** Values of cookies that nobody signed: the name is that of a real one. */
const FORGED: readonly (readonly [string, (value: string) => string])[] = [
  ['no signature', () => `act.${LATER}.${ACTOR}.`],
  ['a signature that is made up', () => `act.${LATER}.${ACTOR}.${randomBytes(32).toString('base64url')}`],
  ...['', 'secret', READ_PASSWORD.slice(0, -1), 'vessel-export'].map(
    (key) =>
      [
        `signed with '${key}'`,
        () =>
          `act.${LATER}.${ACTOR}.${createHmac('sha256', key).update(`act.${LATER}.${ACTOR}`).digest('base64url')}`,
      ] as const,
  ),
  ['a reader’s that says act', (value) => value.replace(/^read/, 'act')],
  ['a reader’s that says provider', (value) => value.replace(/^read/, 'provider')],
  ['a later end', (value) => value.replace(/^read\.\d+/, `read.${LATER}`)],
  ['another name', (value) => value.replace(/^(read\.\d+\.)[^.]+/, `$1${ACTOR}`)],
  ['half a signature', (value) => value.slice(0, -20)],
  ['a longer signature', (value) => `${value}AAAA`],
  ['signature of another case', (value) => value.toUpperCase()],
  ['sixty thousand letters', () => 'a'.repeat(60_000)],
  ['a prototype', () => '__proto__.1.a.b'],
  ['NUL', (value) => `${value}%00`],
  ['nothing', () => ''],
];

const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  ['the name of the header of a proxy', [`${USER_HEADER}: Eve`]],
  ['that name twice', [`${USER_HEADER}: Eve`, `${USER_HEADER}: Ada`]],
  ['it, and an address of the proxy', [`${USER_HEADER}: Eve`, 'x-forwarded-for: 192.0.2.1']],
  [
    'it, and many addresses',
    [`${USER_HEADER}: Eve`, `x-forwarded-for: ${'192.0.2.1, '.repeat(500)}192.0.2.1`],
  ],
  ['it, and Forwarded', [`${USER_HEADER}: Eve`, 'forwarded: for=192.0.2.1;by=192.0.2.1']],
  ['it, and X-Real-IP', [`${USER_HEADER}: Eve`, 'x-real-ip: 192.0.2.1']],
  ['a password as Basic', [`authorization: Basic ${Buffer.from(`x:${ACT_PASSWORD}`).toString('base64')}`]],
  ['a password as Bearer', [`authorization: Bearer ${ACT_PASSWORD}`]],
  ['a host that is ours', ['x-forwarded-host: localhost']],
];

/** Ways back from a provider that nobody went to. */
const RETURNS = [
  '',
  `?code=${'x'.repeat(8_000)}&state=${'y'.repeat(8_000)}`,
  ...words('?code=x ?code=x&state=x ?error=access_denied&state=x'),
  ...words('?code=x&state=x&iss=http%3A%2F%2F127.0.0.1%3A1 ?code[]=x&state[__proto__]=y'),
  ...words('?id_token=x.y.z&access_token=x'),
].map(
  (query): HostileInput<PageFace> => ({
    name: shown(`the way back with '${query}'`),
    async send(face) {
      const { status, headers } = await face.ask({ path: `/api/session/provider/return${query}` });
      if (headers['set-cookie'] !== undefined) return 'a cookie was set';
      const isLedBack = status === 303 && /^\/\?sign-in=[\w-]+$/.test(headers.location ?? '');
      return isLedBack || status === 431
        ? undefined
        : `status ${status}, to ${shown(headers.location ?? '')}`;
    },
  }),
);

export const SIGNING_IN: Category<PageFace> = {
  name: 'signing in to the page',
  inputs: [
    guess('passwords under one name', () => ({ name: 'Ada' })),
    guess('passwords under many names', (i) => ({ name: `name ${i}` })),
    guess('passwords from addresses that are made up', (i) => ({
      name: `name ${i}`,
      more: { headers: [`x-forwarded-for: 203.0.113.${i % 250}`] },
    })),
    guess('passwords with a browser’s cookie that is made up', (i) => ({
      name: 'Ada',
      more: {
        headers: [`cookie: vessel-export-00000000-known=read.${LATER}.${b64(`${i}`)}.${'A'.repeat(43)}`],
      },
    })),
    ...FORGED.map(([name, forge]) =>
      nobody(`a cookie: ${name}`, ({ cookie }) => {
        const at = cookie.indexOf('=') + 1;
        return [`cookie: ${cookie.slice(0, at)}${forge(cookie.slice(at))}`];
      }),
    ),
    ...HEADERS.map(([name, headers]) => nobody(`headers: ${name}`, headers)),
    ...RETURNS,
  ],
};
