import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Family, QueryRequest } from '../../../src/core/model/query.ts';
import {
  addressOf,
  describeRequest,
  MAX_URL_BYTES,
  splitExpressions,
} from '../../../src/source/fetch/address.ts';

const HOUR = { fromMicros: 1_767_571_200_000_001, toMicros: 1_767_574_800_000_000 };

function ask(expression: string, family: Family = 'measurements'): QueryRequest {
  return { family, expressions: [expression], format: 'json' };
}

/** What a server reads out of an address: the expressions in `<domain>/<expression>` form. */
function received(address: ReturnType<typeof addressOf>, family: Family): string[] {
  const url = new URL(`http://host/tenant${address.path}?${address.query}`);
  if (address.method === 'POST') {
    expect(url.pathname).toBe(`/tenant/${family}/query`);
    return JSON.parse(address.body!);
  }
  const [root, tenant, gotFamily, ...levels] = url.pathname.split('/');
  expect([root, tenant, gotFamily]).toEqual(['', 'tenant', family]);
  return [levels.map(decodeURIComponent).join('/')];
}

describe('addressOf', () => {
  it.each([
    ['flat/IMO9321483/ME1 Shaft Power', '/measurements/flat/IMO9321483/ME1%20Shaft%20Power'],
    ['flat/*/*', '/measurements/flat/*/*'],
    ['flat/IMO9321483/öl?#%&+é', '/measurements/flat/IMO9321483/%C3%B6l%3F%23%25%26%2B%C3%A9'],
    ['id/0b7d,1c8e', '/measurements/id/0b7d,1c8e'],
    ['jsmea/IMO1/a/b/c/d/e/f/g', '/measurements/jsmea/IMO1/a/b/c/d/e/f/g'],
    ['jsmea/IMO1/*/*/*', '/measurements/jsmea/IMO1/*/*/*'],
    [
      'vis-3-8a/IMO1/411.1~main engine/C101/sec/631/S/meta/qty-power/pos-1',
      '/measurements/vis-3-8a/IMO1/411.1~main%20engine/C101/sec/631/S/meta/qty-power/pos-1',
    ],
    ['parameters/IMO1/{a,b}', '/measurements/parameters/IMO1/%7Ba%2Cb%7D'],
    ['maker/IMO1/plc/40001', '/measurements/maker/IMO1/plc/40001'],
    ['not known/x:y', '/measurements/not%20known/x%3Ay'],
  ])('puts %s into a GET path', (expression, path) => {
    expect(addressOf(ask(expression))).toMatchObject({ method: 'GET', path, body: undefined });
  });

  it.each([
    ['an empty level in the middle', 'jsmea/IMO1/a//c/d/e/f/g'],
    ['an empty modifier', 'jsmea/IMO1/a/b/c/d/e/f/'],
    ['a level that is a dot', 'flat/IMO1/.'],
    ['a level that is two dots', 'flat/../x'],
  ])('posts an expression with %s', (_, expression) => {
    for (const family of ['measurements', 'statistics'] as const)
      expect(addressOf(ask(expression, family))).toMatchObject({
        method: 'POST',
        path: `/${family}/query`,
        body: JSON.stringify([expression]),
      });
  });

  it('posts several expressions', () => {
    const expressions = ['flat/IMO1/a b', 'jsmea/IMO1/a///'];
    const address = addressOf({ ...ask('x/y'), expressions });
    expect(address).toMatchObject({ method: 'POST', body: '["flat/IMO1/a b","jsmea/IMO1/a///"]' });
  });

  it('posts what would make too long a URL', () => {
    const ids = Array.from({ length: 200 }, (_, i) => `${i}`.padStart(36, '0')).join(',');
    expect(addressOf(ask(`id/${ids}`))).toMatchObject({
      method: 'POST',
      body: JSON.stringify([`id/${ids}`]),
    });
    const longest = MAX_URL_BYTES - 'https://host/t/measurements/flat/?format=json'.length;
    const base = 'https://host/t'.length;
    expect(addressOf(ask(`flat/${'a'.repeat(longest)}`), base).method).toBe('GET');
    expect(addressOf(ask(`flat/${'a'.repeat(longest + 1)}`), base).method).toBe('POST');
  });

  it('writes every parameter of statistics', () => {
    const { query } = addressOf({
      ...ask('flat/IMO1/x', 'statistics'),
      range: HOUR,
      outputDomain: 'id',
      verbose: true,
      aggregations: ['count', 'first_time'],
      window: '1h',
      windowEdges: 'partial',
    });
    expect([...new URLSearchParams(query)]).toEqual([
      ['from', '2026-01-05T00:00:00.000001Z'],
      ['to', '2026-01-05T01:00:00.000000Z'],
      ['format', 'json'],
      ['output_domain', 'id'],
      ['verbose', 'true'],
      ['aggregations', 'count,first_time'],
      ['window', '1h'],
      ['window_edges', 'partial'],
    ]);
  });

  it('leaves out what a family does not take', () => {
    const all = { range: HOUR, aggregations: ['count'], window: '1h', windowEdges: 'whole' } as const;
    expect(addressOf({ ...ask('flat/IMO1/x', 'metadata'), ...all }).query).toBe('format=json');
    expect(addressOf({ ...ask('flat/IMO1/x'), ...all, verbose: false }).query).not.toMatch(
      /aggreg|window|verbose/,
    );
  });

  it.each([
    ['json', 'application/json'],
    ['ndjson', 'application/x-ndjson'],
    ['parquet', 'application/vnd.apache.parquet'],
  ] as const)('asks for %s in the query and in Accept', (format, accept) => {
    const address = addressOf({ ...ask('flat/IMO1/x'), format });
    expect(address).toMatchObject({ accept, query: `format=${format}` });
  });

  it.each([
    ['jsmea/IMO1/a/b/c/d/e/f/', '/metadata/jsmea/IMO1/a/b/c/d/e/f'],
    ['jsmea/IMO1/a/b/c/d/e//', '/metadata/jsmea/IMO1/a/b/c/d/e'],
    ['jsmea/IMO1/a', '/metadata/jsmea/IMO1/a'],
  ])('leaves empty levels at the end of %s out of the path of metadata', (expression, path) => {
    expect(addressOf(ask(expression, 'metadata'))).toMatchObject({ method: 'GET', path });
  });

  it.each([
    ['expression-needs-post', 'jsmea/IMO1/a//c/d/e/f/g'],
    ['expression-needs-post', 'jsmea//a/b'],
    ['expression-needs-post', 'jsmea///'],
    ['expression-needs-post', 'flat/IMO1/'],
    ['expression-needs-post', 'flat/../x'],
    ['url-too-long', `flat/IMO1/${'x'.repeat(MAX_URL_BYTES)}`],
  ])('refuses with %s the metadata of an expression no GET can carry (%#)', (code, expression) => {
    expect(() => addressOf(ask(expression, 'metadata'))).toThrow(expect.objectContaining({ code }));
  });

  it.each(['flat', 'flat/', '/IMO1/x', '', 'flat/\ud800'])('refuses the expression %j', (expression) => {
    expect(() => addressOf(ask(expression))).toThrow(expect.objectContaining({ code: 'expression-invalid' }));
  });

  it('lets a server read back the same expressions, whatever they hold', () => {
    const level = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('/', '')),
      fc.constantFrom('*', '', '.', '..', '%2F', '%2e', '~x', ' ', '+', "it's", '\\', '\u0000', '‮'),
    );
    const rest = fc.array(level, { minLength: 1, maxLength: 9 }).map((levels) => levels.join('/'));
    const expression = fc
      .tuple(fc.constantFrom('id', 'jsmea', 'flat', 'vis-3-8a', 'parameters', 'new domain'), rest)
      .filter(([, text]) => text !== '')
      .map((parts) => parts.join('/'));
    fc.assert(
      fc.property(
        fc.array(expression, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('measurements' as const, 'statistics' as const),
        (expressions, family) => {
          const address = addressOf({ family, expressions, format: 'ndjson', range: HOUR });
          expect(received(address, family)).toEqual(expressions);
          expect(address.path.length + address.query.length).toBeLessThanOrEqual(MAX_URL_BYTES);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('splitExpressions', () => {
  it('leaves measurements and statistics whole', () => {
    const request = { ...ask('flat/IMO1/a'), expressions: ['flat/IMO1/a', 'flat/IMO1/b'] };
    expect(splitExpressions(request)).toEqual([request]);
  });

  it('asks metadata for one expression a request', () => {
    const request = { ...ask('', 'metadata'), expressions: ['flat/IMO1/a', 'id/1,2', 'id/3'] };
    expect(splitExpressions(request).map((one) => one.expressions)).toEqual([
      ['flat/IMO1/a'],
      ['id/1,2'],
      ['id/3'],
    ]);
  });

  it('cuts long id lists so that each request fits and no id is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.uuid(), { minLength: 1, maxLength: 600 }), fc.nat(300), (ids, baseUrlBytes) => {
        const requests = splitExpressions(ask(`id/${ids.join(',')}`, 'metadata'), baseUrlBytes);
        const addresses = requests.map((request) => addressOf(request, baseUrlBytes));
        expect(addresses.every(({ method }) => method === 'GET')).toBe(true);
        expect(addresses.flatMap((address) => received(address, 'metadata')[0]!.slice(3).split(','))).toEqual(
          ids,
        );
        expect(requests.length).toBe(
          Math.ceil(ids.length / Math.max(1, requests[0]!.expressions[0]!.split(',').length)),
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe('describeRequest', () => {
  it('says family, expression and range without control characters', () => {
    const request = {
      ...ask('flat/IMO1/a\u001b[31m'),
      range: HOUR,
      expressions: ['flat/IMO1/a\u001b[31m', 'flat/b/c'],
    };
    expect(describeRequest(request)).toBe(
      'measurements of flat/IMO1/a [31m and 1 more in [2026-01-05T00:00:00.000001Z, 2026-01-05T01:00:00.000000Z)',
    );
  });
});
