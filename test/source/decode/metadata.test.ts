import { describe, expect, it } from 'vitest';
import { RetriableError } from '../../../src/core/errors.ts';
import type { SeriesMetadata } from '../../../src/core/model/index.ts';
import { createMetadataDecoder } from '../../../src/source/decode/metadata.ts';
import { wireBody } from './decoded-rows.ts';

const FIRST: SeriesMetadata = {
  id: 'IMO9321483/ME Cyl 1 Exhaust Gas Temp',
  timeSeriesId: '0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a01',
  source: 'mac',
  dataProvider: 'Fjordwise',
  unitOfMeasure: '°C',
  scale: 0.1,
  vesselName: 'Nordlys',
  vesselImo: '9321483',
  jsmea: {
    id: 'IMO9321483/jsmea_mac/MainEngine/Cylinder1/ExhaustGas/Outlet/Temp/',
    namingRule: 'jsmea_mac',
    category: 'MainEngine',
    subcategory: 'Cylinder1',
    content: 'ExhaustGas',
    item: 'Temp',
  },
  flat: { id: 'IMO9321483/ME Cyl 1 Exhaust Gas Temp', shortName: 'ME Cyl 1 Exhaust Gas Temp' },
  maker: {
    id: 'IMO9321483/mac/TE-1601',
    name: 'EXH GAS OUT T CYL1',
    description: 'Exhaust gas temperature after cylinder 1',
    rangeHigh: 600,
    rangeLow: 0,
  },
  domainsJson: '',
};

function decode(body: string | Uint8Array, shape: 'keyed' | 'array'): SeriesMetadata[] {
  const series: SeriesMetadata[] = [];
  const decoder = createMetadataDecoder(shape, (one) => series.push(one.series()));
  decoder.push(Buffer.from(body));
  decoder.end();
  return series;
}

function codeOf(body: string, shape: 'keyed' | 'array'): string | undefined {
  try {
    decode(body, shape);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

function withoutDomains(series: readonly SeriesMetadata[]): SeriesMetadata[] {
  return series.map((one) => ({ ...one, domainsJson: '' }));
}

describe('metadata of version 2026-09-10', () => {
  const golden = decode(wireBody('metadata-2026-09-10.json'), 'array');

  it('is one element a series, with every field', () => {
    expect(golden).toHaveLength(6);
    expect(withoutDomains(golden)[0]).toEqual(FIRST);
  });

  it('keeps the text of the domains verbatim', () => {
    const text = wireBody('metadata-2026-09-10.json').toString();
    expect(golden[2]!.domainsJson.length).toBeGreaterThan(50);
    for (const { domainsJson } of golden) expect(text).toContain(`"domains": ${domainsJson}`);
    const odd = '{ "vis-3-8a" :{"id":"IMO1/a","new":[1.50,"\\u00e6"]} }';
    expect(decode(`[{"id":"a","timeSeriesId":"u","domains":${odd}}]`, 'array')[0]!.domainsJson).toBe(odd);
  });

  it('makes null of what is absent or null', () => {
    const [bare, nulls] = decode(
      '[{"id":"a","timeSeriesId":"u"},{"id":"a","timeSeriesId":"u","source":null,"scale":null,"vessel":null,"domains":null}]',
      'array',
    );
    expect(bare).toEqual({
      id: 'a',
      timeSeriesId: 'u',
      source: null,
      dataProvider: null,
      unitOfMeasure: null,
      scale: null,
      vesselName: null,
      vesselImo: null,
      jsmea: { id: null, namingRule: null, category: null, subcategory: null, content: null, item: null },
      flat: { id: null, shortName: null },
      maker: { id: null, name: null, description: null, rangeHigh: null, rangeLow: null },
      domainsJson: '{}',
    });
    expect(nulls).toEqual(bare);
  });

  it('reads an empty answer', () => {
    expect(decode(' [ ] ', 'array')).toEqual([]);
  });
});

describe('metadata before 2026-09-10', () => {
  const golden = decode(wireBody('metadata-2025-10-31.json'), 'keyed');

  it('becomes the newer shape', () => {
    const newer = decode(wireBody('metadata-2026-09-10.json'), 'array');
    expect(withoutDomains(golden)).toEqual(
      withoutDomains(newer).map((one) => ({ ...one, dataProvider: null })),
    );
  });

  it('keeps every series under a repeated key', () => {
    const shared = golden.filter(({ id }) => id === 'IMO9321483/Wind Speed');
    expect(shared.map(({ timeSeriesId }) => timeSeriesId.slice(-2))).toEqual(['04', '05']);
    expect(shared.map(({ maker }) => maker.name)).toEqual(['WIND SPEED PORT', 'WIND SPEED STBD']);
  });

  it('keeps the text of mapsTo verbatim', () => {
    const text = wireBody('metadata-2025-10-31.json').toString();
    for (const { domainsJson } of golden) expect(text).toContain(`"mapsTo": ${domainsJson}`);
    expect(JSON.parse(golden[0]!.domainsJson).id).toBe(golden[0]!.timeSeriesId);
  });

  it('takes the parts of a jsmea id from its levels', () => {
    const jsmea = (id: string) =>
      decode(`{"k":{"timeSeriesId":"u","mapsTo":{"jsmea":"${id}"}}}`, 'keyed')[0]!.jsmea;
    expect(jsmea('IMO1/rule/cat///pos/item/mod')).toEqual({
      id: 'IMO1/rule/cat///pos/item/mod',
      namingRule: 'rule',
      category: 'cat',
      subcategory: '',
      content: '',
      item: 'item',
    });
    expect(jsmea('IMO1/rule')).toMatchObject({ namingRule: 'rule', category: null, item: null });
  });

  it('takes the short name from the flat id behind the vessel', () => {
    const shortName = (id: string) =>
      decode(`{"k":{"timeSeriesId":"u","mapsTo":{"flat":"${id}"}}}`, 'keyed')[0]!.flat.shortName;
    expect(shortName('IMO9321483/Tank 1/2 Level')).toBe('Tank 1/2 Level');
    expect(shortName('no vessel')).toBeNull();
  });

  it('reads an empty object', () => {
    expect(decode('{}', 'keyed')).toEqual([]);
  });

  it('reads a series whose key is error', () => {
    expect(decode('{"error":{"timeSeriesId":"u"}}', 'keyed')[0]!.id).toBe('error');
  });
});

describe('fields that the contract does not list', () => {
  const others = (body: string, shape: 'keyed' | 'array') => decode(body, shape)[0]!.domainsJson;

  it('are kept beside the domains, verbatim and by name', () => {
    const series = '"id":"a","timeSeriesId":"u"';
    const vessel = '"vessel":{"flag":"NO","name":"x","imo":"1","built":1.50}';
    expect(
      others(`[{"z":[1.0, {}],${series},${vessel},"a":null,"domains":{"flat":{"id":"b"} }}]`, 'array'),
    ).toBe('{"flat":{"id":"b"},"_other":{"a":null,"z":[1.0, {}],"vessel":{"built":1.50,"flag":"NO"}}}');
    expect(others(`[{${series},"a":1}]`, 'array')).toBe('{"_other":{"a":1}}');
    expect(others(`[{${series},"a":1,"domains":{ }}]`, 'array')).toBe('{"_other":{"a":1}}');
  });

  it('are the same in whatever order they come', () => {
    const of = (fields: string) => others(`[{"id":"a","timeSeriesId":"u",${fields}}]`, 'array');
    expect(of('"b":1,"a":2')).toBe(of('"a":2,"b":1'));
  });

  it('are kept of versions before 2026-09-10', () => {
    const body = '{"k":{"timeSeriesId":"u","uom":"m","dataProvider":"p","mapsTo":{"flat":"b"},"name":"x"}}';
    expect(others(body, 'keyed')).toBe('{"flat":"b","_other":{"dataProvider":"p"}}');
  });

  it('of one series are not those of the next', () => {
    const [, second] = decode('[{"id":"a","timeSeriesId":"u","x":1},{"id":"b","timeSeriesId":"v"}]', 'array');
    expect(second!.domainsJson).toBe('{}');
  });
});

describe('fields', () => {
  it.each([
    ['"9321483"', '9321483'],
    ['9321483', '9321483'],
    ['"IMO9321483"', '9321483'],
    ['"imo 9321483"', '9321483'],
    ['""', null],
    // What is no IMO number is given as it is.
    ['"unknown"', 'unknown'],
    ['"IMO 93214"', '93214'],
    ['"93214830"', '93214830'],
    ['false', 'false'],
    ['{"number":9321483}', '{"number":9321483}'],
  ])('normalise the IMO number %s', (imo, vesselImo) => {
    expect(decode(`{"k":{"timeSeriesId":"u","vesselImo":${imo}}}`, 'keyed')).toMatchObject([{ vesselImo }]);
    const series = `{"id":"k","timeSeriesId":"u","vessel":{"imo":${imo}}}`;
    expect(decode(`[${series}]`, 'array')).toMatchObject([{ vesselImo }]);
  });

  it('may have any spelling of JSON', () => {
    const [series] = decode(
      '[ {"time\\u0053eriesId" : "u\\"1" , "id":"\\u00c6", "x":[{}], "domains":{"flat":{ "id":"a\\/b"}}} ]',
      'array',
    );
    expect(series).toMatchObject({ id: 'Æ', timeSeriesId: 'u"1', flat: { id: 'a/b' } });
  });
});

describe('metadata faults', () => {
  it.each<[code: string, body: string, shape?: 'keyed' | 'array']>([
    ['missing-field', '[{"id":"a"}]'],
    ['missing-field', '[{"timeSeriesId":"u"}]'],
    ['missing-field', '[{"id":"a","timeSeriesId":null}]'],
    ['duplicate-key', '[{"id":"a","timeSeriesId":"u","timeSeriesId":"v"}]'],
    ['bad-field', '[{"id":"a","timeSeriesId":"u","source":{}}]'],
    ['bad-field', '[{"id":"a","timeSeriesId":"u","scale":"1"}]'],
    ['bad-field', '[{"id":"a","timeSeriesId":"u","scale":1e999}]'],
    ['bad-field', '[{"id":"a","timeSeriesId":"u","domains":"x"}]'],
    ['malformed-json', '[{"id":"a","timeSeriesId":"u"},]'],
    ['malformed-json', '{}'],
    ['body-truncated', '[{"id":"a","timeSeriesId":"u"}'],
    ['error-in-body', '{"error":"later"}'],
    ['missing-field', '{"k":{}}', 'keyed'],
    ['bad-field', '{"k":[]}', 'keyed'],
    ['bad-field', '{"k":{"timeSeriesId":"u","mapsTo":{"jsmea":{}}}}', 'keyed'],
    ['malformed-json', '[]', 'keyed'],
    ['malformed-json', '{} {}', 'keyed'],
    ['malformed-json', '{"k":{"timeSeriesId":"u",}}', 'keyed'],
    ['body-truncated', '', 'keyed'],
  ])('are told as %s in %s', (code, body, shape = 'array') => {
    expect(codeOf(body, shape)).toBe(code);
  });

  it('tell truncations', () => {
    for (const [name, shape] of [
      ['metadata-2025-10-31.json', 'keyed'],
      ['metadata-2026-09-10.json', 'array'],
    ] as const) {
      const body = wireBody(name).toString('latin1').trimEnd();
      for (let length = 0; length < body.length; length += 5)
        if (codeOf(body.slice(0, length), shape) !== 'body-truncated')
          expect.fail(`${name} cut at ${length}`);
    }
  });

  it('name the series by its number', () => {
    expect(() => decode('{"a":{"timeSeriesId":"u"},"b":{"name":"x"}}', 'keyed')).toThrow(
      /record 2, byte 30 of the body: found '{"name":"x"}.*expected an object with 'timeSeriesId'/,
    );
  });

  it('are for asking again when the service reports an error', () => {
    expect(() => decode('{"error":"later"}', 'keyed')).toThrow(RetriableError);
  });
});

describe('metadata one series at a time', () => {
  const [array, keyed] = ['metadata-2026-09-10.json', 'metadata-2025-10-31.json'] as const;
  it.each([
    ['array', array],
    ['keyed', keyed],
  ] as const)('is what the whole body holds, however it is cut: %s', (shape, name) => {
    const body = wireBody(name);
    for (const size of [1, 7, 1_000, body.length]) {
      const series: SeriesMetadata[] = [];
      const decoder = createMetadataDecoder(shape, (one) => series.push(one.series()));
      for (let at = 0; at < body.length; at += size) decoder.push(body.subarray(at, at + size));
      decoder.end();
      expect(series).toEqual(decode(body, shape));
    }
  });

  it('takes nothing over from the series before', () => {
    const [first] = JSON.parse(wireBody(array).toString()) as object[];
    const bare = { id: 'a', timeSeriesId: 'b' };
    const [, second] = decode(JSON.stringify([first, bare]), 'array');
    expect(second).toEqual(decode(JSON.stringify([bare]), 'array')[0]);
    expect(second).toMatchObject({ vesselImo: null, jsmea: { id: null }, flat: { id: null } });
  });
});
