/** Answers that are cut, garbled, packed, or of another status than they should be. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Category, HostileInput } from '../input.ts';
import { words } from '../input.ts';
import type { ExporterFace } from './exporter-face.ts';
import { READINGS, RUN_ARGS } from './exporter-face.ts';
import type { Answer, AskedFamily, Misanswer, Plan } from './front.ts';
import { closeServer, listen, sendAnswer } from './front.ts';
import { faultOfEnd, peer } from './held.ts';

export const FAMILIES = ['metadata', 'statistics', 'measurements'] as const;

/** Every answer of a family, altered. */
export function altered(family: AskedFamily, alter: (answer: Answer) => Partial<Answer>): Plan {
  return {
    [family]: async ({ honest, response }: Misanswer) => {
      const answer = await honest();
      sendAnswer(response, { ...answer, ...alter(answer) });
    },
  };
}

/** The body of every answer of a family, as text, rewritten. */
export function rewritten(family: AskedFamily, rewrite: (text: string) => string | Buffer): Plan {
  return altered(family, ({ body }) => ({ body: Buffer.from(rewrite(body.toString('utf8')) as string) }));
}

const lines = (text: string) => text.trimEnd().split('\n');

const REWRITES: readonly (readonly [string, (text: string) => string | Buffer])[] = [
  ['empty', () => ''],
  ['cut in half', (text) => text.slice(0, text.length >> 1)],
  ['cut before its last byte', (text) => text.trimEnd().slice(0, -1)],
  ['cut after 10 bytes', (text) => text.slice(0, 10)],
  ['twice', (text) => text + text],
  ['reversed', (text) => [...text].reverse().join('')],
  ['with a byte order mark', (text) => `\ufeff${text}`],
  ['in UTF-16', (text) => Buffer.from(text, 'utf16le')],
  ['with NULs', (text) => text.replaceAll(',', ',\0')],
  [
    'with invalid UTF-8',
    (text) =>
      Buffer.concat([
        Buffer.from(text.slice(0, 60)),
        Buffer.from([0xff, 0xc0, 0xaf]),
        Buffer.from(text.slice(60)),
      ]),
  ],
  ['lines in reverse order', (text) => lines(text).reverse().join('\n')],
  [
    'every second line left out',
    (text) =>
      lines(text)
        .filter((_, i) => i % 2 === 0)
        .join('\n'),
  ],
  [
    'every line twice',
    (text) =>
      lines(text)
        .flatMap((line) => [line, line])
        .join('\n'),
  ],
  ['carriage returns alone', (text) => text.replaceAll('\n', '\r')],
  ['html', () => '<html><body>Sign in</body></html>'],
  ['null', () => 'null'],
  ['an empty object', () => '{}'],
  ['an empty array', () => '[]'],
  ['an error', () => '{"error":"\u001b[31mno\u0007"}'],
  ['a number', () => '1e999'],
  ['a string', () => '"x"'],
  ['a megabyte of brackets', () => '['.repeat(1_000_000)],
  ['200,000 nested objects', () => `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
  ['other keys', (text) => text.replaceAll('"timestamp"', '"time"').replaceAll('"id"', '"ID"')],
  ['a trailing comma', (text) => `${text.trimEnd()},`],
];

export const GARBLED: Category<ExporterFace> = {
  name: 'garbled bodies',
  inputs: [
    ...FAMILIES.flatMap((family) =>
      REWRITES.map(([name, rewrite]) => peer(`${family}: ${name}`, rewritten(family, rewrite))),
    ),
    ...REWRITES.map(([name, rewrite], index) => {
      const transport = index % 2 === 1 ? 'json' : 'parquet';
      const plan = rewritten('measurements', rewrite);
      return peer(`measurements as ${transport}: ${name}`, plan, { job: { ...READINGS, transport } });
    }),
  ],
};

const bombs = new Map<string, Buffer>();
/** More than an answer of metadata may have. */
const BEYOND_METADATA_MIB = 320;
/** Readings may be gigabytes: what a bomb must not take is memory. */
const BOMB_MIB = 96;
/** Spaces, line ends, or readings of another day, as a body that is small on the wire. */
function bomb(piece: string, mebibytes: number): Buffer {
  const key = `${piece} ${mebibytes}`;
  const known = bombs.get(key);
  if (known !== undefined) return known;
  const block = Buffer.from(piece.repeat(Math.ceil((1024 * 1024) / piece.length)));
  const packed = gzipSync(Buffer.concat(Array.from({ length: 32 }, () => block)));
  // Members of gzip follow each other.
  const made = Buffer.concat(Array.from({ length: mebibytes / 32 }, () => packed));
  bombs.set(key, made);
  return made;
}

const packed = (encoding: string, pack: (body: Buffer) => Buffer) => (family: AskedFamily) =>
  altered(family, ({ body, headers }) => ({
    headers: { ...headers, 'content-encoding': encoding },
    body: pack(body),
  }));

const PACKED: readonly (readonly [string, (family: AskedFamily) => Plan])[] = [
  ['deflate', packed('deflate', deflateSync)],
  ['raw deflate', packed('deflate', deflateRawSync)],
  ['br', packed('br', brotliCompressSync)],
  ['zstd', packed('zstd', zstdCompressSync)],
  ['gzip that is none', packed('gzip', (body) => body)],
  ['gzip cut in half', packed('gzip', (body) => gzipSync(body).subarray(0, 60))],
  ['gzip of gzip', packed('gzip, gzip', (body) => gzipSync(gzipSync(body)))],
  [
    'gzip with rubbish behind',
    packed('gzip', (body) => Buffer.concat([gzipSync(body), Buffer.from('rubbish')])),
  ],
  ['gzip with a wrong checksum', packed('gzip', (body) => flipped(gzipSync(body)))],
  ['an unknown encoding', packed('x-\u00ff', (body) => body)],
  ['a hundred encodings', packed(Array.from({ length: 100 }, () => 'gzip').join(', '), (body) => body)],
];

function flipped(bytes: Buffer): Buffer {
  bytes[bytes.length - 6] = bytes[bytes.length - 6]! ^ 0xff;
  return bytes;
}

const ROW =
  '{"id":"00000000-0000-4000-8000-000000000000","timestamp":"2026-01-04T00:00:00.000000Z","value":1}\n';
const zipped = (family: AskedFamily, piece: string) =>
  altered(family, ({ headers }) => ({
    headers: { ...headers, 'content-encoding': 'gzip' },
    body: bomb(piece, family === 'metadata' ? BEYOND_METADATA_MIB : BOMB_MIB),
  }));

export const PACKING: Category<ExporterFace> = {
  name: 'packed bodies',
  hangMs: 300_000,
  inputs: [
    ...FAMILIES.flatMap((family) => PACKED.map(([name, plan]) => peer(`${family}: ${name}`, plan(family)))),
    ...FAMILIES.flatMap((family) => [
      peer(`${family}: a bomb of spaces`, zipped(family, ' ')),
      peer(`${family}: a bomb of zeros`, zipped(family, '0')),
      peer(`${family}: a bomb of brackets`, zipped(family, '[')),
      peer(`${family}: a bomb of one string`, zipped(family, '"a')),
    ]),
    peer('measurements: a bomb of line ends', zipped('measurements', '\n')),
    peer('measurements: a bomb of readings of another day', zipped('measurements', ROW)),
    peer('token: a bomb of spaces', zipped('token', ' '), { mustFail: true }),
  ],
};

const STATUSES: readonly number[] = [
  ...[
    201, 202, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 402, 403, 404,
    405, 406,
  ],
  ...[
    407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 425, 426, 428, 429, 431, 451,
    499, 500,
  ],
  ...[501, 502, 503, 504, 505, 507, 508, 511, 520, 599, 600, 799, 999],
];

const RETRY_AFTER: readonly string[] = [
  '',
  'Fri, 31 Dec 9999 23:59:59 GMT',
  ...words('-1 0 31536000 99999999999999999999 1e400 NaN soon 0x10'),
  ...['Thu, 01 Jan 1970 00:00:00 GMT', 'x'.repeat(8_000), '1, 2', '\u00a0', '1.5'],
];

const status = (code: number, headers: Record<string, string> = {}, message = `status ${code}`): Plan =>
  Object.fromEntries(
    FAMILIES.map((family) => [
      family,
      ({ response }: Misanswer) => {
        response.writeHead(code, { 'content-type': 'application/json', ...headers });
        response.end(code === 204 || code === 304 ? undefined : JSON.stringify({ error: message }));
      },
    ]),
  );

/** Answers as bytes: the socket is written to, and closed. */
const rawly = (family: AskedFamily, text: string | Buffer): Plan => ({
  [family]: ({ response }: Misanswer) => {
    response.socket?.end(text);
  },
});

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\napi-version: 2026-09-10\r\n';

/** Answers that are not quite HTTP. */
const ODD_BYTES: readonly (readonly [string, string | Buffer])[] = [
  ['nothing', ''],
  ['an SSH greeting', 'SSH-2.0-x\r\n'],
  ['binary', Buffer.from([0, 1, 2, 3, 255, 254])],
  ['status 000', 'HTTP/1.1 000 x\r\n\r\n'],
  ['status 99', 'HTTP/1.1 99 x\r\n\r\n'],
  ['status -200', 'HTTP/1.1 -200 x\r\n\r\n'],
  ['HTTP/9.9', 'HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a length that is negative', `${HEAD}content-length: -5\r\n\r\n`],
  ['two lengths', `${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\n[1]  `],
  ['a length and chunks', `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length that is not reached', `${HEAD}content-length: 500\r\n\r\n[]`],
  ['neither length nor chunks', `${HEAD}\r\n[]`],
  ['a chunk that is no number', `${HEAD}transfer-encoding: chunked\r\n\r\nxyz\r\n`],
  ['a chunk that is too large', `${HEAD}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nx`],
  ['a chunk without its end', `${HEAD}transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n`],
  ['a thousand 1xx', `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)}${HEAD}content-length: 2\r\n\r\n[]`],
  ['100,000 1xx', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100_000)],
  ['early hints with a megabyte', `HTTP/1.1 103 Early Hints\r\nlink: ${'x'.repeat(1_000_000)}\r\n\r\n`],
  ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'],
  ['a header of 10 MB', `${HEAD}x: ${'x'.repeat(10_000_000)}\r\n\r\n`],
  ['a million headers', `${HEAD}${'x: y\r\n'.repeat(1_000_000)}\r\n`],
  ['a NUL in a header', `${HEAD}x: a\0b\r\ncontent-length: 2\r\n\r\n[]`],
  [
    'an ESC in a header',
    `HTTP/1.1 200 \u001b[31mOK\r\napi-version: \u001b[31mx\r\ncontent-length: 2\r\n\r\n[]`,
  ],
  ['headers without an end', `${HEAD}${'x: y\r\n'.repeat(100)}`],
  [
    'a body that never ends, of spaces',
    `${HEAD}transfer-encoding: chunked\r\n\r\n${`fff\r\n${' '.repeat(4_095)}\r\n`.repeat(20_000)}`,
  ],
  ['many api-versions', `${HEAD}${'api-version: 2026-09-10\r\n'.repeat(50)}content-length: 2\r\n\r\n[]`],
  [
    'a huge api-version',
    `HTTP/1.1 200 OK\r\napi-version: ${'9'.repeat(10_000)}\r\ncontent-length: 2\r\n\r\n[]`,
  ],
  ['no api-version', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]'],
];

const DATES: readonly string[] = [
  ...[
    '',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'yesterday',
    'x'.repeat(5_000),
    '\u00ff',
  ],
  'Sat, 32 Jan 2026 00:00:00 GMT',
  '2026-01-05T00:00:00Z',
  'Sun, 04 Jan 2026 23:00:00 GMT',
];

const dated = (date: string): Plan =>
  Object.fromEntries(
    FAMILIES.map((family) => [
      family,
      async ({ honest, response }: Misanswer) => {
        const answer = await honest();
        sendAnswer(response, { ...answer, headers: { ...answer.headers, date } });
      },
    ]),
  );

/** Whoever is sent elsewhere must not take the token, or the credentials, along. */
function redirect(
  name: string,
  code: number,
  family: AskedFamily,
  location: (port: number) => string,
): HostileInput<ExporterFace> {
  return {
    name: `${family}: ${code} to ${name}`,
    async send(face) {
      await using sandbox = await face.sandbox();
      const seen: string[] = [];
      const trap = createServer((request, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
        response.end('{}');
      });
      await listen(trap);
      try {
        const to = location((trap.address() as AddressInfo).port);
        face.front.plan = {
          [family]: ({ response }: Misanswer) => response.writeHead(code, { location: to }).end(),
        };
        const end = await face.run(sandbox, RUN_ARGS);
        const told = seen.find((line) => /bearer|basic/i.test(line));
        if (told !== undefined) return `another host was sent ${told.slice(0, 60)}`;
        if (end.code === 0) return 'exit code 0';
        return await faultOfEnd(face, sandbox, end);
      } finally {
        await closeServer(trap);
      }
    },
  };
}

export const HTTP: Category<ExporterFace> = {
  name: 'odd HTTP',
  inputs: [
    ...STATUSES.map((code) => peer(`status ${code}`, status(code), { mustFail: true })),
    ...RETRY_AFTER.map((text, index) =>
      peer(
        `Retry-After: ${text}`,
        status(index % 2 === 0 ? 429 : 503, { 'retry-after': text.replace('\u00a0', '') }),
        { mustFail: true },
      ),
    ),
    ...ODD_BYTES.flatMap(([name, bytes], index) => [
      peer(`${FAMILIES[index % 3]}: ${name}`, rawly(FAMILIES[index % 3]!, bytes)),
      ...(index % 2 === 0 ? [peer(`token: ${name}`, rawly('token', bytes), { mustFail: true })] : []),
    ]),
    ...DATES.map((date) => peer(`Date: ${date}`, dated(date), { mayNotBeDue: true })),
    peer('an error of ESC and BEL', status(400, {}, '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnp'), {
      mustFail: true,
    }),
    peer('an error of a megabyte', status(500, {}, 'x'.repeat(1_000_000)), { mustFail: true }),
    ...[301, 302, 303, 307, 308].flatMap((code) => [
      redirect(
        'another port',
        code,
        'measurements',
        (port) => `http://127.0.0.1:${port}/fleet/measurements/x/y`,
      ),
      redirect('another name', code, 'metadata', (port) => `http://localhost:${port}/x`),
      redirect(
        'another host for tokens',
        code,
        'token',
        (port) => `http://127.0.0.1:${port}/auth/oauth2/token`,
      ),
    ]),
    redirect('a host without a scheme', 307, 'statistics', (port) => `//127.0.0.1:${port}/x`),
  ],
};
