import { describe, expect, it } from 'vitest';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { createReadingDecoder } from '../../../src/source/decode/reading-decoder.ts';
import {
  bodyOf,
  codeOf,
  createRowCollector,
  decodeBody,
  decodeChunks,
  record,
  TIME,
  wireBody,
} from './decoded-rows.ts';

const MICROS = Date.UTC(2026, 0, 5) * 1000;

/** What a value decodes to, as text. */
function decodedValue(value: string): string | undefined {
  const { rows, error } = decodeBody('ndjson', `${record(value)}\n`);
  if (error) throw error;
  return rows[0]?.slice(`a ${MICROS} `.length);
}

const GOLDEN_VALUES = [
  ['01', 0, 'double 352.5'],
  ['02', 0, 'long 9007199254740993'],
  ['03', 250_000, 'json {"lat":55.67609,"lon":12.56834}'],
  ['04', 500_001, 'double 7'],
  ['05', 500_001, 'double 7.25'],
  ['06', 1_000_000, 'json "Stand by"'],
  ['01', 1_999_999, 'double -3.0625'],
  ['02', 60_000_000, 'long 9223372036854775807'],
  ['02', 3_600_000_000, 'long -9223372036854775808'],
  ['06', 86_399_999_999, 'json "Full ahead"'],
] as const;

describe('golden bodies', () => {
  const goldenRows = GOLDEN_VALUES.map(
    ([series, offset, value]) => `0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a${series} ${MICROS + offset} ${value}`,
  );

  it.each(['json', 'ndjson'] as const)('decodes the golden %s body', (format) => {
    const { rows, error } = decodeBody(format, wireBody(`measurements.${format}`));
    expect(error).toBeUndefined();
    expect(rows).toEqual(goldenRows);
  });

  it.each(['json', 'ndjson'] as const)('decodes the golden %s body one byte at a time', (format) => {
    const bytes = [...wireBody(`measurements-flat.${format}`)].map((byte) => Uint8Array.of(byte));
    for (const slabBytes of [1, 7, 64, 1000]) {
      const { rows, error } = decodeChunks(format, bytes, { slabBytes });
      expect(error).toBeUndefined();
      expect(rows[9]).toBe(`IMO9321483/Maskintelegraf Ærø ${MICROS + 86_399_999_999} json "Full ahead"`);
      expect(rows).toHaveLength(10);
    }
  });

  it.each(['json', 'ndjson'] as const)('decodes the empty %s body to no rows', (format) => {
    expect(decodeBody(format, wireBody(`measurements-empty.${format}`))).toEqual({
      rows: [],
      error: undefined,
    });
  });
});

describe('spellings', () => {
  const usual = [record('1.5'), record('{"k":[1,"é"]}', 'b'), record('-7', 'a')];
  const usualRows = [`a ${MICROS} double 1.5`, `b ${MICROS} json {"k":[1,"é"]}`, `a ${MICROS} long -7`];

  it.each([
    ['CRLF and blank lines', `\r\n${usual.join('\r\n\r\n')}\r\n \t\r\n`],
    ['no line feed at the end', usual.join('\n')],
    [
      'white space around and inside',
      usual.map((text) => `  ${text.replaceAll(/"(id|timestamp|value)":/g, ' "$1" :\t')}\t \n`).join(''),
    ],
    [
      'another field order',
      `{"value":1.5,"timestamp":"${TIME}","id":"a"}\n{"timestamp":"${TIME}","id":"b","value":{"k":[1,"é"]}}\n{"id":"a","value":-7,"timestamp":"${TIME}"}\n`,
    ],
    [
      'extra keys, also repeated ones',
      usual.map((text) => `{"x":{"id":"no"},"x":[{"value":0}],${text.slice(1, -1)},"":null}\n`).join(''),
    ],
    [
      'escaped keys, ids and timestamps',
      usual
        .map(
          (text) =>
            `${text.replace('"id"', '"\\u0069d"').replace('"a"', '"\\u0061"').replace('T00', '\\u005400')}\n`,
        )
        .join(''),
    ],
    ['offsets that are UTC', usual.map((text) => `${text.replace('Z"', '+00:00"')}\n`).join('')],
    [
      'offsets that are not UTC',
      usual.map((text) => `${text.replace('T00:00:00.000000Z', 'T02:30:00+02:30')}\n`).join(''),
    ],
    [
      'lower-case t and z',
      usual.map((text) => `${text.replace('T00', 't00').replace('Z"', 'z"')}\n`).join(''),
    ],
    ['no fraction of a second', usual.map((text) => `${text.replace('.000000Z', 'Z')}\n`).join('')],
    [
      'seven fractional digits that end in zero',
      usual.map((text) => `${text.replace('00Z', '000Z')}\n`).join(''),
    ],
  ])('reads NDJSON with %s', (_name, body) => {
    expect(decodeBody('ndjson', body)).toEqual({ rows: usualRows, error: undefined });
  });

  it.each([
    ['line feeds', `[\n${usual.join(',\n')}\n]\n`],
    ['line feeds before commas', `[${usual.join('\n,')}]`],
    [
      'indentation',
      `[\r\n${usual.map((text) => `  ${text.replaceAll(/"(id|timestamp|value)":/g, '\n    "$1": ')}`).join(',\n')}\n]`,
    ],
  ])('reads a JSON array with %s', (_name, body) => {
    expect(decodeBody('json', body)).toEqual({ rows: usualRows, error: undefined });
  });

  it.each(['json', 'ndjson'] as const)('reads %s with white space in any one place', (format) => {
    for (const value of ['-7', '1.5', '"a b"', '{"a":[]}', 'null', '12345678901234567890']) {
      const line = record(value);
      const expected = decodeBody(format, bodyOf(format, [line, line]));
      expect(expected.rows).toHaveLength(2);
      for (const key of [`"${TIME}"`, ...'{ "id" : "a" , "timestamp" "value" "value":'.split(' '), line])
        for (const gap of [' ', '\t', '\r', ' \r']) {
          const at = line.indexOf(key) + key.length;
          const spaced = line.slice(0, at) + gap + line.slice(at);
          expect(decodeBody(format, bodyOf(format, [line, spaced]))).toEqual(expected);
        }
    }
  });

  it('gives ids that are spelled differently one code', () => {
    const { dictionary, rows, onBatch } = createRowCollector();
    const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch });
    decoder.push(
      Buffer.from(`${record('1', 'a/é')}\n${record('2', 'a\\/\\u00e9')}\n${record('3', 'a/\\u00E9')}\n`),
    );
    decoder.end();
    expect(rows).toHaveLength(3);
    expect(dictionary.ids).toEqual(['a/é']);
  });

  it('takes no byte order mark off an id', () => {
    expect(codeOf(record('1', '\ufeffa'))).toBe('bad-id');
  });

  it('reads ids that hold quotes and backslashes', () => {
    const ids = ['"', '\\', '\\"', 'a\\\\"b', '', '"\\\\'];
    const body = ids.map((id) => record('1', JSON.stringify(id).slice(1, -1))).join('\n');
    expect(decodeBody('ndjson', body).rows).toEqual(ids.map((id) => `${id} ${MICROS} long 1`));
  });
});

describe('values', () => {
  it.each([
    ['5', 'long 5'],
    ['0', 'long 0'],
    ['-1', 'long -1'],
    ['5.0', 'double 5'],
    ['5e0', 'double 5'],
    ['5E+2', 'double 500'],
    ['-0', 'double -0'],
    ['-0.0', 'double -0'],
    ['0.1', 'double 0.1'],
    ['9007199254740993', 'long 9007199254740993'],
    ['9223372036854775807', 'long 9223372036854775807'],
    ['-9223372036854775808', 'long -9223372036854775808'],
    ['352.50000000000006', 'double 352.50000000000006'],
    ['1e-400', 'double 0'],
    ['1.7976931348623157e308', 'double 1.7976931348623157e+308'],
  ])('lets the lexeme %s decide the kind', (lexeme, expected) => {
    expect(decodedValue(lexeme)).toBe(expected);
  });

  it.each([
    '"a\\"b\\u00e6\\n"',
    '"Ærø \\ud800"',
    '[ 1 , {"a" : [ ] , "a":{ }} ,-0.50e+1]',
    `${'['.repeat(5000)}${']'.repeat(5000)}`,
    '{"lat":55.1,"q":"ok, } fine]"}',
    ...'null true false "" [] {}'.split(' '),
    // What int64 cannot hold, and a double.
    ...'9223372036854775808 -9223372036854775809 123456789012345678901234567890 1e400 -1.5E+999'.split(' '),
  ])('keeps %s verbatim as JSON', (text) => {
    expect(decodedValue(text)).toBe(`json ${text}`);
  });

  it.each([
    '1 2',
    "'a'",
    '"a\tb"',
    '"\\x"',
    '"\\u12g4"',
    '[1 2]',
    '',
    ...'01 -01 +1 1. .5 1e 1e+ - NaN Infinity tru nulL truefalse [1,] [1} {"a"} {"a":1,} {a:1}'.split(' '),
    ...'{"a":1]'.split(' '),
  ])('refuses the malformed value %s', (text) => {
    expect(codeOf(`${record(text)}\n`)).toBe('malformed-json');
    expect(codeOf(`[${record(text)}]`, 'json')).toBe('malformed-json');
    expect(codeOf(`{"x":${text},${record('1').slice(1)}\n`)).toBe('malformed-json');
  });
});

describe('batches', () => {
  it('hands over full batches, then the rest', () => {
    const { dictionary, rows, batchRows, onBatch } = createRowCollector();
    const decoder = createReadingDecoder({
      format: 'json',
      dictionary,
      onBatch,
      batchRows: 4,
      slabBytes: 300,
    });
    const records = Array.from({ length: 10 }, (_, i) => record(i % 3 === 0 ? `"text ${i}"` : String(i)));
    decoder.push(Buffer.from(bodyOf('json', records)));
    decoder.end();
    expect(batchRows).toEqual([4, 4, 2]);
    expect(rows[9]).toBe(`a ${MICROS} json "text 9"`);
    expect(rows[6]).toBe(`a ${MICROS} json "text 6"`);
  });

  it('hands the first batch of a body over early, so that it is known what comes behind one', () => {
    const { dictionary, batchRows, onBatch } = createRowCollector();
    const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch });
    decoder.push(Buffer.from(`${record('1')}\n`.repeat(20_000)));
    decoder.end();
    expect(batchRows).toEqual([256, 16_384, 20_000 - 256 - 16_384]);
  });

  it('hands a batch over early when its JSON text grows large', () => {
    const { dictionary, batchRows, onBatch } = createRowCollector();
    const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch });
    const large = `${record(`"${'x'.repeat(3 * 1024 * 1024)}"`)}\n`;
    for (let i = 0; i < 5; i++) decoder.push(Buffer.from(large));
    decoder.end();
    expect(batchRows).toEqual([3, 2]);
  });

  it('takes any number of ids', () => {
    const count = 200_000;
    const { dictionary, rows, onBatch } = createRowCollector();
    const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch });
    for (let round = 0; round < 2; round++)
      for (let from = 0; from < count; from += 10_000) {
        const lines = Array.from(
          { length: 10_000 },
          (_, i) => `${record('1', `IMO9321483/tag ${from + i}`)}\n`,
        );
        decoder.push(Buffer.from(lines.join('')));
      }
    decoder.end();
    expect(dictionary.ids).toHaveLength(count);
    expect(dictionary.ids[123_456]).toBe('IMO9321483/tag 123456');
    expect(rows).toHaveLength(2 * count);
    expect(rows[count + 199_999]).toBe(`IMO9321483/tag 199999 ${MICROS} long 1`);
  });

  it('goes on with the codes of a dictionary that pages share', () => {
    const dictionary = createSeriesDictionary(['x', 'b']);
    const codes: number[] = [];
    const onBatch = ({ rows, seriesCodes }: { rows: number; seriesCodes: Int32Array }) =>
      codes.push(...seriesCodes.subarray(0, rows));
    for (const ids of [
      ['a', 'b'],
      ['c', 'a', 'x'],
    ]) {
      const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch });
      decoder.push(
        Buffer.from(
          bodyOf(
            'ndjson',
            ids.map((id) => record('1', id)),
          ),
        ),
      );
      decoder.end();
    }
    expect(codes).toEqual([2, 1, 3, 2, 0]);
  });
});
