/** Paths, methods and bytes that are not quite HTTP. */
import type { Category, HostileInput } from '../input.ts';
import { shown, words } from '../input.ts';
import type { Expectation } from './held.ts';
import { ANSWERED, faultOf, REFUSED, request } from './held.ts';
import type { ServiceFace } from './service-face.ts';
import { VESSEL } from './service-face.ts';

const OWN = `/fleet/metadata/flat/${VESSEL}/Roll`;
const NO_FILE: Expectation = {
  statuses: [...ANSWERED.statuses, 501],
  check: (answer, face) =>
    /root:[x*]?:0:0/.test(answer.body.toString('latin1'))
      ? 'a file is shown'
      : ANSWERED.check?.(answer, face),
};

const TARGETS: readonly string[] = [
  '/fleet\\metadata\\flat\\x',
  `/${'a'.repeat(30_000)}`,
  `/${'a'.repeat(70_000)}`,
  `${'/'.repeat(10_000)}`,
  `/fleet/metadata/flat/${'x/'.repeat(10_000)}`,
  `${OWN}?${'a=b&'.repeat(8_000)}`,
  `${OWN}?${'from='.repeat(5_000)}`,
  `${OWN}?${'%'.repeat(5_000)}`,
  `${OWN}?__proto__[x]=1&constructor=2`,
  `http://127.0.0.1${OWN}`,
  `http://evil.example${OWN}`,
  `https://evil.example:1${OWN}`,
  `ftp://evil.example${OWN}`,
  `//evil.example${OWN}`,
  ...words('/ // /fleet /fleet/ /fleet/metadata /fleet/metadata/ /fleet//metadata/flat/x/y * ? /?'),
  ...words('/../../etc/passwd /fleet/../../../etc/passwd /fleet/metadata/../../../etc/passwd'),
  ...words('/%2e%2e/%2e%2e/etc/passwd /fleet/%2e%2e%2f%2e%2e%2fetc%2fpasswd'),
  ...words('/fleet/metadata/flat/..%5c..%5cetc%5cpasswd/x /fleet/metadata/flat/%c0%ae%c0%ae/x'),
  ...words('/fleet/metadata/flat/%00/x /fleet/metadata/flat/%/x /fleet/metadata/flat/%f/x'),
  ...words('/fleet/metadata/flat/%ff%fe/x /fleet/metadata/flat/%ed%a0%80/x'),
  ...words('/fleet/metadata/__proto__/x /fleet/__proto__/flat/x /__proto__ /constructor'),
  ...words('/fleet/metadata/flat/x/y#fragment /fleet/metadata/flat/x/y?a#b'),
  ...words('/fleet;jsessionid=1/metadata /openapi.json /openapi.json?x=1 /openapi.json/../fleet'),
  ...words('/metrics /debug /.env /server-status /favicon.ico http:// http://[ HTTP://x'),
  ...words('javascript:alert(1) file:///etc/passwd evil.example:443 http://a@b:c@d/'),
];

const METHODS: readonly string[] = [
  ...words('PUT DELETE PATCH TRACE OPTIONS CONNECT PROPFIND PURGE LINK SEARCH M-SEARCH'),
];

export const PATHS: Category<ServiceFace> = {
  name: 'paths and methods',
  inputs: [
    ...TARGETS.map((target) =>
      request(`target ${target}`, { target }, { ...NO_FILE, statuses: [0, ...NO_FILE.statuses] }),
    ),
    ...METHODS.map((method) =>
      request(`method ${method}`, { method, target: OWN }, { statuses: [0, ...REFUSED.statuses, 501] }),
    ),
    ...['HEAD', 'head', 'get', 'Get', 'FOO', 'G'.repeat(10_000), 'GET\t', ''].map((method) =>
      request(
        `method '${method.slice(0, 20)}'`,
        { method, target: OWN },
        { statuses: [0, ...REFUSED.statuses, 501] },
      ),
    ),
    ...['POST', 'GET'].map((method) =>
      request(`${method} at the other's path`, {
        method,
        target: method === 'GET' ? '/fleet/metadata/query' : OWN,
      }),
    ),
  ],
};

interface RawInput {
  readonly name: string;
  /** Written as it is; `TOKEN` is replaced by the narrow client's. */
  readonly bytes: (face: ServiceFace) => string | Buffer;
  /** Most answers that may come: what was smuggled would be one more. */
  readonly maxAnswers?: number;
  /** The request is to be refused, not only survived. */
  readonly isRefused?: boolean;
}

const WAIT_MS = 3_000;

function wire({ name, bytes, maxAnswers = 1, isRefused = true }: RawInput): HostileInput<ServiceFace> {
  return {
    name: shown(name),
    async send(face) {
      const answers = await face.raw(bytes(face), { waitMs: WAIT_MS });
      if (answers.length > maxAnswers) return `${answers.length} answers, expected at most ${maxAnswers}`;
      const statuses = isRefused
        ? [0, ...REFUSED.statuses, 408, 501, 505]
        : [0, 200, ...REFUSED.statuses, 408, 501, 505];
      for (const answer of answers) {
        const fault = faultOf(answer, { statuses }, face);
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
  };
}

/** A POST with these headers and this body, and behind it what would be smuggled. */
function post(name: string, headers: readonly string[], body: string, more: Partial<RawInput> = {}) {
  return wire({
    name,
    bytes: ({ narrow }) =>
      [
        'POST /fleet/metadata/query HTTP/1.1',
        'host: x',
        'content-type: application/json',
        `authorization: Bearer ${narrow.token}`,
        ...headers,
        '',
        body,
      ].join('\r\n'),
    ...more,
  });
}

/** A GET with these header lines, as they are. */
function get(
  name: string,
  lines: readonly string[],
  more: Partial<RawInput> = {},
  first = `GET ${OWN} HTTP/1.1`,
) {
  return wire({
    name,
    bytes: ({ narrow }) =>
      `${[first, 'host: x', `authorization: Bearer ${narrow.token}`, 'connection: close', ...lines].join('\r\n')}\r\n\r\n`,
    ...more,
  });
}

const SMUGGLED = `GET ${OWN} HTTP/1.1\r\nhost: x\r\n\r\n`;
const QUERY = `["flat/${VESSEL}/Roll"]`;

const SMUGGLING: readonly HostileInput<ServiceFace>[] = [
  post('a length and chunks', [`content-length: 4`, 'transfer-encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
  post('chunks and a length', ['transfer-encoding: chunked', 'content-length: 4'], `0\r\n\r\n${SMUGGLED}`),
  post('two lengths', ['content-length: 3', 'content-length: 30'], `[1]${SMUGGLED}`),
  post('a list of lengths', ['content-length: 3, 30'], `[1]${SMUGGLED}`),
  ...['+5', '-5', '0x5', '5.0', '5 5', '', '1e1', '99999999999999999999', '٥'].map((length) =>
    post(`content-length: ${length}`, [`content-length: ${length}`], `[1]${SMUGGLED}`),
  ),
  ...[
    'chunked, identity',
    'identity',
    'xchunked',
    'chunked, chunked',
    ' chunked',
    'chunked\x0b',
    'gzip, chunked',
    '"chunked"',
  ].map((encoding) =>
    post(`transfer-encoding: ${encoding}`, [`transfer-encoding: ${encoding}`], `0\r\n\r\n${SMUGGLED}`, {
      isRefused: false,
      maxAnswers: 2,
    }),
  ),
  post(
    'chunked twice',
    ['transfer-encoding: chunked', 'transfer-encoding: identity'],
    `0\r\n\r\n${SMUGGLED}`,
  ),
  post('a space before the colon', ['transfer-encoding : chunked'], `0\r\n\r\n${SMUGGLED}`),
  post('a tab for a header', ['\ttransfer-encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
  ...[
    '',
    '5 ; a=b',
    `5;${'a'.repeat(30_000)}`,
    ...words('fffffffffffffffff -1 0x5 g 00000000000000000000000005'),
  ].map((size) =>
    post(
      `a chunk of size '${size.slice(0, 30)}'`,
      ['transfer-encoding: chunked'],
      `${size}\r\nabcde\r\n0\r\n\r\n`,
    ),
  ),
  post('a chunk that is longer than it says', ['transfer-encoding: chunked'], `3\r\n${QUERY}\r\n0\r\n\r\n`),
  post(
    'trailers',
    ['transfer-encoding: chunked', 'trailer: authorization'],
    `2\r\n[]\r\n0\r\nauthorization: Bearer x\r\n\r\n`,
  ),
  post('lines ended by LF alone', ['transfer-encoding: chunked'], `2\n[]\n0\n\n${SMUGGLED}`),
];

const MALFORMED: readonly HostileInput<ServiceFace>[] = [
  ...['HTTP/1.1 x', '', ...words('HTTP/0.9 HTTP/1.2 HTTP/2.0 HTTP/9.9 HTTP/1. http/1.1 HTCPCP/1.0')].map(
    (version) => get(`version '${version}'`, [], { isRefused: false }, `GET ${OWN} ${version}`),
  ),
  get('two hosts', ['host: y'], { isRefused: false }),
  get('a NUL in a header', ['x: a\0b']),
  get('a bare CR in a header', ['x: a\rb']),
  get('a folded header', ['x: a', ' b'], { isRefused: false }),
  get('a header without a name', [': x']),
  get('a header without a colon', ['nonsense']),
  get('a control character in a name', ['x\x01y: 1']),
  get(
    'ten thousand headers',
    Array.from({ length: 10_000 }, (_, i) => `x${i}: 1`),
  ),
  get(
    'three thousand headers',
    Array.from({ length: 3_000 }, (_, i) => `x${i}: 1`),
    { isRefused: false },
  ),
  get('one header of 70 kB', [`x: ${'a'.repeat(70_000)}`]),
  get('one header of a megabyte', [`x: ${'a'.repeat(1_000_000)}`]),
  get('a name of 70 kB', [`${'a'.repeat(70_000)}: x`]),
  get(
    'the same header a thousand times',
    Array.from({ length: 1_000 }, () => 'accept: */*'),
    { isRefused: false },
  ),
  ...['h2c', 'websocket', 'TLS/1.0'].map((name) =>
    get(
      `upgrade to ${name}`,
      [`upgrade: ${name}`, 'connection: upgrade', 'http2-settings: AAMAAABkAAQAAP__'],
      { isRefused: false },
    ),
  ),
  ...['100-continue', '200-ok', 'x'.repeat(1_000)].map((what) =>
    get(`Expect: ${what.slice(0, 20)}`, [`expect: ${what}`], { isRefused: false }),
  ),
  get('hop-by-hop headers named', ['connection: authorization, host'], { isRefused: false }),
  ...['bytes=0-0', 'bytes=0-,0-,0-', `bytes=${'0-1,'.repeat(5_000)}0-1`].map((range) =>
    get(`Range: ${range.slice(0, 20)}`, [`range: ${range}`], { isRefused: false }),
  ),
  ...(
    [
      ['HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['a TLS hello', Buffer.from('16030100c8010000c40303', 'hex')],
      ['an SSH greeting', 'SSH-2.0-OpenSSH_9.6\r\n'],
      ['Redis', '*1\r\n$4\r\nPING\r\n'],
      ['SMTP', 'EHLO x\r\nMAIL FROM:<a@b>\r\n'],
      ['lines only', '\r\n'.repeat(10_000)],
      ['binary', Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 37) & 255))],
      ['NULs', Buffer.alloc(10_000)],
      ['one line of a megabyte', 'G'.repeat(1_000_000)],
      ['HTTP/0.9', `GET ${OWN}\r\n`],
      ['LF only', `GET ${OWN} HTTP/1.1\nhost: x\n\n`],
      ['no host', `GET ${OWN} HTTP/1.1\r\nconnection: close\r\n\r\n`],
      ['a proxy line', 'PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ] as const
  ).map(([name, bytes]) => wire({ name, bytes: () => bytes })),
];

export const WIRE: Category<ServiceFace> = {
  name: 'malformed HTTP',
  inputs: [...SMUGGLING, ...MALFORMED],
};
