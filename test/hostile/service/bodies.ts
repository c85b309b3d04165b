/** Expressions that explode, and bodies that are not what they should be. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Category } from '../input.ts';
import { words } from '../input.ts';
import type { Expectation } from './held.ts';
import { ANSWERED, query, REFUSED, request } from './held.ts';
import type { ServiceFace } from './service-face.ts';
import { VESSEL } from './service-face.ts';

const LETTERS = '{a,b,c,d,e,f,g,h,i,j}';
const numbered = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i));

/** Expressions, by name; each is far below the limit of a body. */
const BOMBS: readonly (readonly [string, readonly string[]])[] = [
  [
    '9,000 expressions of a thousand alternatives',
    numbered(9_000, (i) => `parameters/${VESSEL}/${LETTERS.repeat(3)}${i}`),
  ],
  ['500 with wildcards', numbered(500, (i) => `flat/*/*${'a*'.repeat(20)}${i}`)],
  ['500 of jsmea with wildcards', numbered(500, (i) => `jsmea/*/*/*/*/*/*/*${i}*/*`)],
  [
    '499 with a wildcard and a thousand alternatives',
    numbered(499, (i) => `parameters/*/${LETTERS.repeat(3)}*${i}`),
  ],
  ['9,999 wildcards', numbered(9_999, (i) => `flat/${VESSEL}/*${i}`)],
  ['10,001 expressions', numbered(10_001, (i) => `flat/${VESSEL}/${i}`)],
  ['10,000 ids', numbered(10_000, (i) => `id/00000000-0000-4000-8000-${String(i).padStart(12, '0')}`)],
  [
    'ids in one expression',
    [`id/${numbered(100, (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`).join(',')}`],
  ],
  ['a million alternatives', [`parameters/${VESSEL}/${LETTERS.repeat(6)}`]],
  ['alternatives in every level', [`parameters/${LETTERS.repeat(3)}/${LETTERS.repeat(3)}`]],
  ['4,000 open braces', [`parameters/${VESSEL}/${'{'.repeat(4_000)}`]],
  ['4,000 closing braces', [`parameters/${VESSEL}/${'}'.repeat(4_000)}`]],
  ['2,000 nested braces', [`parameters/${VESSEL}/${'{'.repeat(2_000)}${'}'.repeat(2_000)}`]],
  ['nested alternatives', [`parameters/${VESSEL}/${'{a,'.repeat(1_000)}b${'}'.repeat(1_000)}`]],
  ['250 of 4,000 open braces', numbered(250, (i) => `parameters/${VESSEL}/${'{'.repeat(3_900)}${i}`)],
  ['2,000 commas in braces', [`parameters/${VESSEL}/{${','.repeat(2_000)}}`]],
  ['the same twice in braces', [`parameters/${VESSEL}/${'{a,a}'.repeat(500)}`]],
  ['stars and letters', [`flat/${VESSEL}/${'*a'.repeat(2_000)}b`]],
  ['stars alone', [`flat/${VESSEL}/${'*'.repeat(4_000)}`]],
  ['4,000 empty levels', [`jsmea/${'/'.repeat(4_000)}`]],
  ['vis with levels', numbered(400, (i) => `vis-3-8a/${VESSEL}/${'*/'.repeat(200)}${i}`)],
  ['vis of verbose levels', [`vis-3-8a/${VESSEL}/${'~x/'.repeat(1_300)}`]],
  ['an expression of 5,000 characters', [`flat/${VESSEL}/${'x'.repeat(5_000)}`]],
  ['one of everything, 300 times', numbered(300, (i) => `flat/*/*${i % 7}*`)],
];

const GETS: readonly (readonly [string, string])[] = [
  ['30,000 open braces', `parameters/${VESSEL}/${'{'.repeat(30_000)}`],
  ['10,000 open braces, encoded', `parameters/${VESSEL}/${'%7B'.repeat(10_000)}`],
  ['15,000 pairs of braces', `parameters/${VESSEL}/${'{}'.repeat(15_000)}`],
  ['10,000 nested braces', `parameters/${VESSEL}/${'{'.repeat(10_000)}x${'}'.repeat(10_000)}`],
  ['5,000 alternations', `parameters/${VESSEL}/${'{a,b}'.repeat(5_000)}`],
  ['20,000 commas', `parameters/${VESSEL}/{${','.repeat(20_000)}}`],
  ['30,000 stars', `flat/${VESSEL}/${'*'.repeat(30_000)}`],
  ['15,000 stars and letters', `flat/${VESSEL}/${'*a'.repeat(15_000)}b`],
  ['20,000 levels', `vis-3-8a/${'x/'.repeat(20_000)}y`],
  ['1,500 ids', `id/${numbered(1_500, () => '00000000-0000-4000-8000-000000000000').join(',')}`],
  ['sec and meta, many', `vis-3-8a/${VESSEL}/${'sec/meta/'.repeat(3_000)}x`],
];

export const EXPRESSIONS: Category<ServiceFace> = {
  name: 'expression bombs',
  // The three of old cost 43 s, 4.8 s and 1.8 s; what they should cost is a few hundredths.
  maxCpuMs: 1_500,
  inputs: [
    ...BOMBS.map(([name, expressions]) =>
      query(name, JSON.stringify(expressions), { headers: ['x-api-version: 2026-09-10'] }),
    ),
    ...BOMBS.slice(0, 4).map(([name, expressions]) =>
      query(`statistics: ${name}`, JSON.stringify(expressions), {
        path: '/statistics/query?from=2026-01-05&to=2026-01-05T01:00:00Z&window=1h&aggregations=count',
      }),
    ),
    ...GETS.map(([name, path]) => request(`GET ${name}`, { path: `/metadata/${path}` })),
    ...GETS.slice(0, 3).map(([name, path]) =>
      request(`statistics: GET ${name}`, { path: `/statistics/${path}?window=1h` }),
    ),
  ],
};

const REFUSED_BODY: Expectation = { statuses: REFUSED.statuses };
const NO_SUCH: Expectation = { statuses: REFUSED.statuses };
const JSON_TYPE = 'content-type: application/json';

/** Bodies that are no array of expressions. */
const WRONG: readonly (readonly [string, string | Buffer])[] = [
  ['nothing', ''],
  ['a space', ' '],
  ['null', 'null'],
  ['an object', '{}'],
  ['an object with a length', '{"length":1,"0":"flat/x/y"}'],
  ['a string', '"flat/x/y"'],
  ['a number', '1e400'],
  ['an empty array', '[]'],
  ['an array of null', '[null]'],
  ['an array of arrays', '[["flat/x/y"]]'],
  ['an array of numbers', '[1,2,3]'],
  ['empty strings', '["","",""]'],
  ['a megabyte of brackets', '['.repeat(1_000_000)],
  ['500,000 nested arrays', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
  ['100,000 nested objects', `[${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}]`],
  ['an unclosed array', '["flat/x/y"'],
  ['a comma too many', '["flat/x/y",]'],
  ['single quotes', "['flat/x/y']"],
  ['comments', '/* x */ ["flat/x/y"]'],
  ['NaN', '[NaN]'],
  ['two arrays', '["flat/x/y"]["flat/x/z"]'],
  ['a NUL', '["flat/x/y"]\0'],
  ['a byte order mark of UTF-16', Buffer.from('\ufeff["flat/x/y"]', 'utf16le')],
  ['a prototype', '[{"__proto__":{"x":1}}]'],
  ['500,000 numbers', `[${'1,'.repeat(400_000)}1]`],
  ['200,000 empty strings', `[${'"",'.repeat(200_000)}""]`],
  ['a string of a megabyte', `["${'a'.repeat(1_000_000)}"]`],
  ['two megabytes', `["${'a'.repeat(2_000_000)}"]`],
  ['20 megabytes', Buffer.alloc(20_000_000, 0x5b)],
  ['a megabyte of backslashes', `["${'\\'.repeat(1_000_000)}"]`],
  ['no domain', '["x"]'],
  ['a slash alone', '["/"]'],
  ['an unknown domain', '["__proto__/x"]'],
  ['a lone surrogate', '["flat/\\ud800/x"]'],
  [
    'invalid UTF-8',
    Buffer.concat([Buffer.from('["flat/'), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from('/x"]')]),
  ],
  [
    'an overlong slash',
    Buffer.concat([Buffer.from('["flat'), Buffer.from([0xc0, 0xaf]), Buffer.from('x"]')]),
  ],
  ['control characters', '["flat/\\u0000\\u001b[2J/x"]'],
];

const GOOD = JSON.stringify([`flat/${VESSEL}/Roll`]);
/** gzip of 64 MiB of brackets: some 64 kB. */
const zipped = () => gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x5b));

export const BODIES: Category<ServiceFace> = {
  name: 'bodies',
  inputs: [
    ...WRONG.map(([name, body], index) =>
      query(
        name,
        body,
        { family: ['metadata', 'measurements', 'statistics'][index % 3]! },
        { ...NO_SUCH, statuses: [0, ...NO_SUCH.statuses] },
      ),
    ),
    query('a byte order mark', `\ufeff${GOOD}`),
    query('the same expression 10,000 times', JSON.stringify(numbered(10_000, () => `flat/${VESSEL}/Roll`))),
    query('unicode escapes', GOOD.replace('flat', '\\u0066lat')),
    ...(
      [
        ['gzip', gzipSync(GOOD)],
        ['deflate', deflateSync(GOOD)],
        ['br', brotliCompressSync(GOOD)],
        ['x-nonsense', Buffer.from(GOOD)],
        ['identity, gzip', gzipSync(GOOD)],
      ] as const
    ).map(([encoding, body]) =>
      query(
        `content-encoding ${encoding}`,
        body,
        { headers: [`content-encoding: ${encoding}`] },
        encoding === 'x-nonsense' ? ANSWERED : REFUSED_BODY,
      ),
    ),
    query('a gzip bomb', zipped(), { headers: ['content-encoding: gzip'] }, REFUSED_BODY),
    ...[
      '',
      'APPLICATION/JSON; charset=utf-16',
      'multipart/form-data; boundary=x',
      `application/json;${'x'.repeat(20_000)}`,
      ...words('text/plain application/jsonp application/x-www-form-urlencoded application/json-seq'),
    ].map((type) => query(`content type ${type.slice(0, 50)}`, GOOD, { headers: [`content-type: ${type}`] })),
    request('no content type', { method: 'POST', path: '/metadata/query', body: GOOD }, REFUSED_BODY),
    request('two content types', {
      method: 'POST',
      path: '/metadata/query',
      body: GOOD,
      headers: [JSON_TYPE, 'content-type: text/plain'],
    }),
    request('a GET with a body', { path: `/metadata/flat/${VESSEL}/Roll`, body: GOOD, headers: [JSON_TYPE] }),
    request(
      'a body of 20 MB without a token',
      {
        method: 'POST',
        path: '/metadata/query',
        authorization: '',
        body: Buffer.alloc(20_000_000, 0x20),
        headers: [JSON_TYPE],
      },
      { statuses: [0, 401, 413] },
    ),
  ],
};
