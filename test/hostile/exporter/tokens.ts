/** Tokens that are none, and names that are meant for a terminal, a key or a path. */
import type { Category } from '../input.ts';
import { words } from '../input.ts';
import { rewritten } from './answers.ts';
import type { ExporterFace, JobFile } from './exporter-face.ts';
import { READINGS, VESSEL } from './exporter-face.ts';
import type { Misanswer, Plan } from './front.ts';
import { peer } from './held.ts';

const token = (body: string, headers: Record<string, string> = {}, status = 200): Plan => ({
  token: ({ response }: Misanswer) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  },
});

const given = (text: unknown, more: object = {}) =>
  token(JSON.stringify({ access_token: text, token_type: 'Bearer', ...more }));
const jwt = (payload: unknown) =>
  `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)).toString('base64url')}.x`;
const nowS = Math.floor(Date.now() / 1000);

/** Every answer of the token endpoint that gives no token which the service behind accepts. */
const WRONG: readonly (readonly [string, Plan])[] = [
  ['nothing', token('')],
  ['html', token('<html>')],
  ['null', token('null')],
  ['an array', token('[]')],
  ['a string', token('"x"')],
  ['no token', token('{}')],
  ['null for a token', given(null)],
  ['a number', given(1)],
  ['an object', given({ toString: 'x' })],
  ['a list', given(['a', 'b'])],
  ['an empty one', given('')],
  ['spaces', given('   ')],
  ['ends of lines', given('a\r\nx-evil: 1\r\n\r\nGET / HTTP/1.1')],
  ['NULs', given('a\0b')],
  ['binary', given('\u00ff\u00fe\u0080')],
  ['beyond Latin', given('тoken')],
  ['ESC', given('\u001b[31m')],
  ['a lone surrogate', given('\ud800')],
  ['a megabyte', given('x'.repeat(1_000_000))],
  ['30 kB', given('x'.repeat(30_000))],
  ['20 MB', given('x'.repeat(20_000_000))],
  ['a prototype', token('{"__proto__":{"access_token":"x"}}')],
  ['twice', token('{"access_token":"a","access_token":"b"}')],
  ['200,000 nested arrays', token(`{"access_token":${'['.repeat(200_000)}`)],
  ['not a JWT', given('opaque')],
  ['a JWT of nothing', given('..')],
  ['a JWT of rubbish', given('a.b.c')],
  ['a JWT of null', given(jwt(null))],
  ['a JWT of a string', given(jwt('"x"'))],
  ['a JWT of deep JSON', given(jwt('['.repeat(20_000)))],
  ['a JWT within a JWT', given(jwt({ exp: { exp: jwt({ exp: 1 }) } }))],
  ...([1, -1, 0, 1e308, '2026', null, true, nowS - 10, nowS, nowS + 1, 9e15, []] as unknown[]).map(
    (exp) => [`exp ${JSON.stringify(exp)}`, given(jwt({ exp, iat: nowS }))] as const,
  ),
  ...([-1, 0, 0.5, 1e308, '3600', null, 'x', 1e-9] as unknown[]).map(
    (expires) => [`expires_in ${JSON.stringify(expires)}`, given('opaque', { expires_in: expires })] as const,
  ),
  ['iat after exp', given(jwt({ exp: nowS, iat: nowS + 3_600 }))],
  ['another type', given('x', { token_type: 'mac' })],
  ...[201, 204, 301, 400, 401, 403, 404, 418, 429, 500, 503, 999].map(
    (status) =>
      [
        `status ${status}`,
        token(status === 204 ? '' : '{"error":"\\u001b[31mno","error_description":"\\u0007"}', {}, status),
      ] as const,
  ),
];

export const TOKEN_ANSWERS: Category<ExporterFace> = {
  name: 'tokens from the peer',
  inputs: WRONG.map(([name, plan]) => peer(name, plan, { mustFail: true })),
};

/** What a name of a series, a vessel or a unit may hold. */
const NAMES: readonly (readonly [string, string])[] = [
  ['ESC', '\u001b[31mred\u001b[2J\u001b]0;title\u0007'],
  ['C1', '\u009b31m\u0085\u0090'],
  ['BEL and BS', '\u0007\b\b\b\b'],
  ['ends of lines', 'a\r\nwarn: all is well\r\n'],
  ['direction', '\u202egnp.exe\u2066'],
  ['NUL', 'a\0b'],
  ['300 kB', 'n'.repeat(300_000)],
  ['300 kB of ESC', '\u001b'.repeat(300_000)],
  ['traversal', '../../../../canary'],
  ['a path', '/etc/passwd'],
  ['backslashes', '..\\..\\canary'],
  ['a prototype', '__proto__'],
  ['constructor', 'constructor'],
  ['a lone surrogate', '\ud800'],
  ['SQL', "'; DROP TABLE x; --"],
  ['a formula', '=cmd|"/c calc"!A1'],
  ['nothing', ''],
  ['spaces', '   '],
  ['wildcards', '*{a,b}?#&%2F'],
  ['zalgo', 'a\u0301'.repeat(20_000)],
];

const asJson = (text: string) => JSON.stringify(text).slice(1, -1);
const rename = (field: string, value: string) =>
  rewritten('metadata', (text) =>
    text.replaceAll(
      new RegExp(`"${field}":"([^"]*)"`, 'g'),
      `"${field}":"${asJson(value).replaceAll('$', '$$$$')}"`,
    ),
  );
/** The same in every answer that names series: readings and statistics are of those, and of no other. */
const renameIds = (value: string): Plan => ({
  ...rewritten('metadata', (text) =>
    text.replaceAll(/"timeSeriesId":"[^"]*"/g, `"timeSeriesId":"${asJson(value).replaceAll('$', '$$$$')}"`),
  ),
  ...rewritten('statistics', (text) =>
    text.replaceAll(/"id":"[^"]*"/g, `"id":"${asJson(value).replaceAll('$', '$$$$')}"`),
  ),
  ...rewritten('measurements', (text) =>
    text.replaceAll(/"id":"[^"]*"/g, `"id":"${asJson(value).replaceAll('$', '$$$$')}"`),
  ),
});

const METADATA_JOB: JobFile = { ...READINGS, dataset: 'metadata', select: ['flat/{vessel}/S*'] };
const DISCOVERING: JobFile = { ...READINGS, vessels: { discover: 'flat/*/*' } };

export const NAMES_CATEGORY: Category<ExporterFace> = {
  name: 'names',
  inputs: NAMES.flatMap(([name, text]) => [
    peer(`id of series in metadata: ${name}`, rename('id', text), { isOtherData: true }),
    peer(`time series id: ${name}`, renameIds(text), { isOtherData: true }),
    peer(`vessel's number: ${name}`, rename('imo', text), { isOtherData: true }),
    peer(`vessel's number in discovery: ${name}`, rename('imo', text), {
      job: DISCOVERING,
      isOtherData: true,
    }),
    peer(
      `id in readings: ${name}`,
      rewritten('measurements', (body) => body.replace(/"id":"[^"]*"/, `"id":"${asJson(text)}"`)),
      { mustFail: true },
    ),
    peer(
      `id in statistics: ${name}`,
      rewritten('statistics', (body) => body.replace(/"id":"[^"]*"/, `"id":"${asJson(text)}"`)),
      { mustFail: true },
    ),
    peer(`fields of metadata: ${name}`, rename('(?:source|name|description|unitOfMeasure|shortName)', text), {
      job: METADATA_JOB,
      isOtherData: true,
    }),
    peer(
      `an error message: ${name}`,
      {
        measurements: ({ response }: Misanswer) =>
          response
            .writeHead(400, { 'content-type': 'application/json' })
            .end(JSON.stringify({ error: text })),
      },
      { mustFail: true },
    ),
  ]),
};

/** Vessels as discovery may name them, and keys that are no metadata. */
const DISCOVERED: readonly unknown[] = [
  ...[
    '',
    '9321483\0',
    ...words('9321483/../x .. 932148 93214833'),
    9321483,
    -1,
    null,
    true,
    [],
    {},
    '９３２１４８３',
    ' 9321483',
  ],
];

const discovered = (imo: unknown) =>
  rewritten('metadata', (text) => text.replace(/"imo":"[^"]*"/, `"imo":${JSON.stringify(imo)}`));

export const VESSELS: Category<ExporterFace> = {
  name: 'vessels',
  inputs: [
    ...DISCOVERED.map((imo) =>
      peer(`discovered as ${JSON.stringify(imo)}`, discovered(imo), { job: DISCOVERING, isOtherData: true }),
    ),
    peer(
      'nobody is discovered',
      rewritten('metadata', () => '[]'),
      { job: DISCOVERING, mustFail: true },
    ),
    peer(
      '100,000 vessels, each once',
      rewritten('metadata', (text) => many(text, 100_000, (i) => ({ imo: String(1_000_000 + i), id: i }))),
      { job: DISCOVERING, mustFail: true, env: { WORKER_CONCURRENCY: '1' } },
    ),
    peer(
      '60,000 series of one vessel',
      rewritten('metadata', (text) => many(text, 60_000, (i) => ({ imo: VESSEL.slice(3), id: i }))),
      { mustFail: true },
    ),
    peer(
      'the same series twice',
      rewritten('metadata', (text) => text.replace('[', `[${text.trim().slice(1, -1)},`)),
      { mustWork: true },
    ),
    peer(
      'keyed by prototypes',
      rewritten('metadata', () => '{"__proto__":{"timeSeriesId":"x"},"constructor":{}}'),
      { mustFail: true },
    ),
    peer('nothing wrong at all', {}, { mustWork: true }),
  ],
};

function many(text: string, count: number, of: (i: number) => { imo: string; id: number }): string {
  const [first] = JSON.parse(text) as Record<string, unknown>[];
  const rows = Array.from({ length: count }, (_, i) => {
    const { imo, id } = of(i);
    return JSON.stringify({
      ...first,
      id: `IMO${imo}/S${id}`,
      timeSeriesId: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
      vessel: { name: 'x', imo },
    });
  });
  return `[${rows.join()}]`;
}
