import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RetriableError } from '../../../src/core/errors.ts';
import { AGGREGATIONS, type StatisticsRow } from '../../../src/core/model/index.ts';
import {
  createStatisticsDecoder,
  type StatisticsDecoderOptions,
} from '../../../src/source/decode/statistics.ts';
import { cutAt, wireBody } from './decoded-rows.ts';

type Shape = StatisticsDecoderOptions['shape'];
type Format = StatisticsDecoderOptions['format'];
/** micros, id, aggregation, JSON text; one for each value of a row. */
type ValueText = readonly [number, string, string, string];

const START = Date.UTC(2026, 0, 5) * 1000;
const HOUR = 3_600_000_000;
const SERIES = '0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a0';

function decode(
  shape: Shape,
  format: Format,
  chunks: readonly Uint8Array[],
  slabBytes = 4096,
): { rows: number; values: ValueText[] } {
  const values: ValueText[] = [];
  let rows = 0;
  const decoder = createStatisticsDecoder({
    shape,
    format,
    slabBytes,
    onRow: (row) => {
      rows++;
      for (const [aggregation, text] of row.values)
        values.push([row.timestampMicros, row.id, aggregation, text]);
    },
  });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { rows, values };
}

function decodeText(shape: Shape, body: string, format: Format = 'ndjson') {
  return decode(shape, format, [Buffer.from(body)]);
}

function codeOf(shape: Shape, body: string, format: Format = 'ndjson'): string | undefined {
  try {
    decodeText(shape, body, format);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

describe.each(['json', 'ndjson'] as const)('golden statistics in %s', (format) => {
  const golden = (name: string, shape: Shape) =>
    decode(shape, format, [wireBody(`statistics-${name}.${format}`)]);

  it('of the array shape have all values in one row', () => {
    const { rows, values } = golden('2026-09-10-id', 'array');
    expect(rows).toBe(5);
    expect(values).toEqual([
      [START, `${SERIES}1`, 'count', '2'],
      [START, `${SERIES}1`, 'first_time', '"2026-01-05T00:00:00.000000Z"'],
      [START, `${SERIES}1`, 'last_time', '"2026-01-05T00:00:01.999999Z"'],
      [START, `${SERIES}1`, 'mean', '174.71875'],
      [START, `${SERIES}3`, 'count', '1'],
      [START, `${SERIES}3`, 'last_val', '{"lat":55.67609,"lon":12.56834}'],
      [START, `${SERIES}4`, 'count', '1'],
      [START, `${SERIES}4`, 'mean', '7.0'],
      [START, `${SERIES}5`, 'count', '1'],
      [START, `${SERIES}5`, 'mean', '7.25'],
      [START + HOUR, `${SERIES}2`, 'count', '1'],
      [START + HOUR, `${SERIES}2`, 'last_val', '-9223372036854775808'],
    ]);
  });

  it('of the keyed shape have one value a row', () => {
    const { rows, values } = golden('2025-10-31-id', 'keyed');
    expect(rows).toBe(8);
    const newer = golden('2026-09-10-id', 'array').values.filter(([, id]) => !/[45]$/.test(id));
    expect(values).toEqual(newer);
  });

  it('of a domain with shared ids keep every object', () => {
    expect(golden('2025-10-31-flat', 'keyed').values).toEqual([
      [START, 'IMO9321483/ME Cyl 1 Exhaust Gas Temp', 'count', '2'],
      [START, 'IMO9321483/ME Cyl 1 Exhaust Gas Temp', 'mean', '174.71875'],
      [START, 'IMO9321483/Wind Speed', 'count', '1'],
      [START, 'IMO9321483/Wind Speed', 'count', '1'],
      [START, 'IMO9321483/Wind Speed', 'mean', '7.0'],
      [START, 'IMO9321483/Wind Speed', 'mean', '7.25'],
    ]);
    expect(golden('2026-09-10-flat', 'array').rows).toBe(2);
  });
});

describe('keys of the keyed shape', () => {
  const time = '"timestamp":"2026-01-05T00:00:00Z"';
  const anyId = fc.string({
    unit: fc.constantFrom('a', '/', ':', 'Avg', 'é', '"', ' ', '\\'),
    maxLength: 12,
  });

  it('split at the last delimiter, whatever the id holds', () => {
    fc.assert(
      fc.property(anyId, fc.constantFrom(...AGGREGATIONS), fc.boolean(), (id, aggregation, capital) => {
        const name = capital ? `/${aggregation[0]!.toUpperCase()}${aggregation.slice(1)}` : `:${aggregation}`;
        const { values } = decodeText('keyed', `{${time},${JSON.stringify(id + name)}:1}\n`);
        expect(values).toEqual([[START, id, aggregation, '1']]);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['a', 'a:', 'a:median', 'avg', 'a/Avg/', 'a avg'])(
    'that name no aggregation are refused: %s',
    (key) => {
      expect(codeOf('keyed', `{${time},"${key}":1}`)).toBe('bad-statistics');
    },
  );

  it('stand alone beside the timestamp', () => {
    expect(codeOf('keyed', `{${time}}`)).toBe('bad-statistics');
    expect(codeOf('keyed', `{${time},"a:avg":1,"a:min":1}`)).toBe('bad-statistics');
    expect(codeOf('keyed', `{${time},"a:avg":1,"a:avg":2}`)).toBe('duplicate-key');
  });
});

describe('the array shape', () => {
  const record = (aggregations: string) =>
    `{"timestamp":"2026-01-05T00:00:00Z","id":"a","new":1,"aggregations":${aggregations}}`;

  it('keeps values verbatim and names in lower case', () => {
    const { values } = decodeText(
      'array',
      record('{"Count" : 1.0, "var":1e400,"min":null , "first_val":{ "a" : [1, 2] }}'),
    );
    expect(values).toEqual([
      [START, 'a', 'count', '1.0'],
      [START, 'a', 'var', '1e400'],
      [START, 'a', 'min', 'null'],
      [START, 'a', 'first_val', '{ "a" : [1, 2] }'],
    ]);
  });

  it.each([
    ['duplicate-key', record('{"min":1,"min":1}')],
    ['duplicate-key', record('{"min":1,"Min":1}')],
    ['bad-field', record('[]')],
    ['missing-field', '{"timestamp":"2026-01-05T00:00:00Z","id":"a"}'],
    ['missing-field', '{"timestamp":"2026-01-05T00:00:00Z","aggregations":{}}'],
    ['missing-field', '{"id":"a","aggregations":{}}'],
    ['bad-timestamp', record('{}').replace('00Z', '60Z')],
    ['timestamp-too-fine', record('{}').replace('Z', '.0000001Z')],
    ['malformed-json', record('{"min":01}')],
    ['malformed-json', `${record('{}')},`],
    ['body-truncated', record('{}').slice(0, -1)],
    ['error-in-body', '{"error":"later"}'],
  ])('is refused with %s: %s', (code, line) => {
    expect(codeOf('array', line)).toBe(code);
  });

  it('is refused where its id is longer than a line of text', () => {
    const long = 'x'.repeat(4_096);
    expect(codeOf('array', record('{}').replace('"a"', `"${long}"`))).toBe(undefined);
    expect(codeOf('array', record('{}').replace('"a"', `"${long}x"`))).toBe('bad-id');
    expect(codeOf('keyed', `{"timestamp":"2026-01-05T00:00:00Z","${long}x:count":1}`)).toBe('bad-id');
  });

  it('asks to retry when the service reports an error after rows', () => {
    expect(() => decodeText('array', `[${record('{"min":1}')},{"error":"later"}]`, 'json')).toThrow(
      RetriableError,
    );
  });
});

describe('streams of statistics', () => {
  it('give the same rows however they are cut', () => {
    const cases = [
      ['keyed', 'json', 'statistics-2025-10-31-flat.json'],
      ['keyed', 'ndjson', 'statistics-2025-10-31-id.ndjson'],
      ['array', 'json', 'statistics-2026-09-10-id.json'],
      ['array', 'ndjson', 'statistics-2026-09-10-flat.ndjson'],
    ] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...cases),
        fc.array(fc.nat()),
        fc.constantFrom(1, 50, 300),
        ([shape, format, name], cuts, slab) => {
          const body = wireBody(name);
          expect(decode(shape, format, cutAt(body, cuts), slab)).toEqual(decode(shape, format, [body]));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('tell every truncation of an array', () => {
    const body = wireBody('statistics-2026-09-10-id.json').toString().trimEnd();
    for (let length = 0; length < body.length; length++)
      if (codeOf('array', body.slice(0, length), 'json') !== 'body-truncated')
        expect.fail(`cut at ${length}`);
  });
});

describe('names that are read again', () => {
  const rowsOf = (...aggregations: string[]) => {
    const rows: [string, string][][] = [];
    const onRow = ({ values }: StatisticsRow) => rows.push([...values]);
    const decoder = createStatisticsDecoder({ shape: 'array', format: 'ndjson', onRow });
    for (const one of aggregations)
      decoder.push(Buffer.from(`{"timestamp":"2026-01-05T00:00:00Z","id":"a","aggregations":${one}}\n`));
    decoder.end();
    return rows;
  };

  it('are those of each record', () => {
    expect(rowsOf('{"min":1,"max":2}', '{"max":3,"min":4}', '{"min":5}', '{}', '{"min":6,"max":7}')).toEqual([
      [
        ['min', '1'],
        ['max', '2'],
      ],
      [
        ['max', '3'],
        ['min', '4'],
      ],
      [['min', '5']],
      [],
      [
        ['min', '6'],
        ['max', '7'],
      ],
    ]);
  });

  it('are not taken for others whose bytes are alike', () => {
    const [wide, narrow] = ['\u00c3\u00a9', '\u00e9'];
    expect(rowsOf(`{"${wide}":1}`, `{"${narrow}":2}`).flat()).toEqual([
      [wide.toLowerCase(), '1'],
      [narrow, '2'],
    ]);
    expect(rowsOf('{"a\\\\n":1}', '{"a\\n":2}').flat()).toEqual([
      ['a\\n', '1'],
      ['a\n', '2'],
    ]);
  });

  it('are refused when they are repeated, also the second time', () => {
    expect(() => rowsOf('{"min":1}', '{"min":1,"min":2}')).toThrow(/one 'min'/);
    expect(() => rowsOf('{"min":1,"MIN":2}')).toThrow(/one 'min'/);
  });
});
