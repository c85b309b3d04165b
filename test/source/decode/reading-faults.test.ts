import { describe, expect, it } from 'vitest';
import { DataError, RetriableError } from '../../../src/core/errors.ts';
import { createReadingDecoder } from '../../../src/source/decode/reading-decoder.ts';
import { bodyOf, codeOf, createRowCollector, decodeBody, record, TIME } from './decoded-rows.ts';

const MICROS = Date.UTC(2026, 0, 5) * 1000;

describe('faults', () => {
  it.each([
    ['timestamp-too-fine', record('1', 'a', '2026-01-05T00:00:00.0000001Z')],
    ['bad-timestamp', record('1', 'a', '2026-01-05T00:00:00.000000')],
    ['bad-timestamp', record('1', 'a', '2026-02-29T00:00:00Z')],
    ['bad-timestamp', record('1', 'a', '2026-13-01T00:00:00Z')],
    ['bad-timestamp', record('1', 'a', '2026-01-05T24:00:00Z')],
    ['bad-timestamp', record('1', 'a', '2026-01-05T23:60:00Z')],
    ['bad-timestamp', record('1', 'a', '2016-12-31T23:59:60Z')],
    ['bad-timestamp', record('1', 'a', '2016-12-31T23:59:60.500000Z')],
    ['bad-timestamp', record('1', 'a', '1969-12-31T23:59:59.999999Z')],
    ['bad-timestamp', record('1', 'a', '2200-01-01T00:00:00Z')],
    ['bad-timestamp', record('1', 'a', '2026-01-05T00:00:00.Z')],
    ['bad-timestamp', record('1', 'a', '')],
    ['bad-timestamp', `{"id":"a","timestamp":1767571200,"value":1}`],
    ['bad-id', `{"id":7,"timestamp":"${TIME}","value":1}`],
    ['bad-id', `{"id":null,"timestamp":"${TIME}","value":1}`],
    ['missing-field', '{}'],
    ['missing-field', `{"timestamp":"${TIME}","value":1}`],
    ['missing-field', '{"id":"a","value":1}'],
    ['missing-field', `{"id":"a","timestamp":"${TIME}"}`],
    ['missing-field', '{"error":{"message":"not the contract\'s"}}'],
    ['duplicate-key', record('1').replace('{', '{"id":"a",')],
    ['duplicate-key', record('1').replace('{', `{"timestamp":"${TIME}",`)],
    ['duplicate-key', record('1').replace('}', ',"value":1}')],
    ['duplicate-key', record('1').replace('}', ',"v\\u0061lue":1}')],
    ['invalid-utf8', record('1', '\\ud800')],
    ['malformed-json', record('1', 'a\u0001')],
    ['malformed-json', `${record('1')} ${record('1')}`],
    ['malformed-json', `${record('1')},`],
    ['malformed-json', 'x'],
    ['malformed-json', '[]'],
    ['malformed-json', record('1').replace(',', ',\n')],
  ])('throws DataError %s for %s', (code, line) => {
    const { rows, error } = decodeBody('ndjson', `${record('0')}\n${line}\n`);
    expect(error).toBeInstanceOf(DataError);
    expect(error?.code).toBe(code);
    expect(rows[0]).toBe(`a ${MICROS} long 0`);
  });

  it.each([
    `[${record('1')} ${record('1')}]`,
    `[${record('1')},]`,
    `[,${record('1')}]`,
    `[${record('1')}],`,
    `[${record('1')}][]`,
    `${record('1')}`,
    ...'{ } [1] [[]]'.split(' '),
  ])('refuses %s as a JSON array of records', (body) => {
    expect(codeOf(body, 'json')).toBe(body === '{' ? 'body-truncated' : 'malformed-json');
  });

  it.each([
    [
      'an id',
      (bad: Buffer) => [Buffer.from('{"id":"'), bad, Buffer.from(`","timestamp":"${TIME}","value":1}\n`)],
    ],
    ['a JSON text', (bad: Buffer) => [Buffer.from(record('"').slice(0, -1)), bad, Buffer.from('"}\n')]],
    [
      'an object key in a JSON text',
      (bad: Buffer) => [Buffer.from(record('{"').slice(0, -1)), bad, Buffer.from('":1}}\n')],
    ],
  ])('refuses invalid UTF-8 in %s', (_place, build) => {
    for (const bad of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]])
      expect(codeOf(Buffer.concat(build(Buffer.from(bad))))).toBe('invalid-utf8');
  });

  it('refuses a timestamp below the one before it, naming both', () => {
    const body = bodyOf('ndjson', [
      record('1', 'a', '2026-01-05T00:00:01.000001Z'),
      record('2', 'b', '2026-01-05T00:00:01.000000Z'),
    ]);
    const { rows, error } = decodeBody('ndjson', body);
    expect(error?.code).toBe('out-of-order');
    expect(error?.message).toContain('2026-01-05T00:00:01.000000Z after 2026-01-05T00:00:01.000001Z');
    expect(rows).toHaveLength(1);
  });

  it('names record, byte, what was found and what was expected', () => {
    const body = `${record('1')}\n${record('2')}\n{"id":"a","timestamp":"noon\u0007","value":3}\n`.replace(
      '\u0007',
      '\\u0007',
    );
    const { error } = decodeBody('ndjson', body);
    const byte = body.indexOf('"noon');
    expect(error?.message).toMatch(
      new RegExp(
        `^record 3, byte ${byte} of the body: found '"noon.*"', expected a date-time .*; if a second fetch`,
      ),
    );
  });

  it('shows no more than a short, clean excerpt', () => {
    const { error } = decodeBody('ndjson', record(`"\u202e${'x'.repeat(1000)}`));
    expect(error?.code).toBe('body-truncated');
    const malformed = decodeBody('ndjson', `{"id":\u001b[31m${'y'.repeat(1000)}\n`).error;
    expect(malformed?.message).toContain('yyy');
    expect(malformed?.message).not.toContain('\u001b');
    expect(malformed?.message.length).toBeLessThan(300);
  });

  it('refuses a record longer than 64 MiB, and reads one that is as long as that', () => {
    const around = record('""').length;
    const limit = 64 * 1024 * 1024;
    const longest = record(`"${'x'.repeat(limit - around)}"`);
    expect(longest).toHaveLength(limit);
    const { rows, error } = decodeBody('json', `[${longest}]`);
    expect(error).toBeUndefined();
    expect(rows[0]).toHaveLength(`a ${MICROS} json ""`.length + limit - around);
    const tooLong = record(`"${'x'.repeat(limit - around + 1)}"`);
    expect(decodeBody('ndjson', `${record('1')}\n${tooLong}${'x'.repeat(limit)}`).error?.code).toBe(
      'record-too-long',
    );
  });

  it('throws the same error again and hands over nothing twice', () => {
    const { dictionary, rows, onBatch } = createRowCollector();
    const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch, slabBytes: 200 });
    const first = (() => {
      try {
        decoder.push(Buffer.from(`${record('1')}\n${record('01')}\n${'x'.repeat(200)}`));
        return undefined;
      } catch (error) {
        return error;
      }
    })();
    expect(first).toBeInstanceOf(DataError);
    expect(() => decoder.push(Buffer.from(record('2')))).toThrow(first as Error);
    decoder.flush();
    expect(() => decoder.end()).toThrow(first as Error);
    expect(rows).toEqual([`a ${MICROS} long 1`]);
  });
});

describe('errors in the body', () => {
  it.each([
    ['ndjson', `${record('1')}\n{"error":"engine overheated"}\n`],
    ['ndjson', `${record('1')}\n{ "error" : "engine overheated" }`],
    ['ndjson', `${record('1')}{"error":"engine overheated"}`],
    ['json', `[${record('1')},{"error":"engine overheated"}]`],
    ['json', `[${record('1')}{"error":"engine overheated"}`],
    ['json', `[${record('1')},{"error":"engine overheated"}`],
  ] as const)('asks to retry when %s ends in an error object: %s', (format, body) => {
    for (const slabBytes of [8, 4096]) {
      const { rows, error } = decodeBody(format, body, { slabBytes });
      expect(error).toBeInstanceOf(RetriableError);
      expect(error?.code).toBe('error-in-body');
      expect(error?.message).toContain('engine overheated');
      expect(rows).toEqual([`a ${MICROS} long 1`]);
    }
  });

  it('asks to retry when an error object stands for the JSON array', () => {
    expect(decodeBody('json', '{"error":"late"}').error).toBeInstanceOf(RetriableError);
  });
});

describe('bodies that end early', () => {
  const records = [record('1'), record('{"é":"}"}', 'é'), record('-2.5e1', 'b')];

  it.each(['json', 'ndjson'] as const)('tells a whole %s body from one cut at any byte', (format) => {
    const body = Buffer.from(bodyOf(format, records));
    const whole = decodeBody(format, body).rows;
    const recordEnds = records.map((_, i) => Buffer.from(bodyOf(format, records.slice(0, i + 1))).length - 1);
    expect(whole).toHaveLength(3);
    for (let length = 0; length < body.length; length++) {
      const cut = body.subarray(0, length);
      const wholeRecords = recordEnds.filter((end) => end <= length).length;
      const atRecordEnd = length === 0 || recordEnds.includes(length) || recordEnds.includes(length - 1);
      for (const slabBytes of [5, 4096]) {
        const { rows, error } = decodeBody(format, cut, { slabBytes });
        expect(rows).toEqual(whole.slice(0, wholeRecords));
        expect(error?.code).toBe(format === 'ndjson' && atRecordEnd ? undefined : 'body-truncated');
      }
    }
  });

  it.each(['json', 'ndjson'] as const)('flushes the whole records of a broken %s body', (format) => {
    const body = Buffer.from(bodyOf(format, records));
    const whole = decodeBody(format, body).rows;
    for (let length = 0; length <= body.length; length++) {
      const { dictionary, rows, onBatch } = createRowCollector();
      const decoder = createReadingDecoder({ format, dictionary, onBatch });
      decoder.push(body.subarray(0, length));
      decoder.flush();
      expect(rows).toEqual(whole.slice(0, rows.length));
      decoder.push(body.subarray(length));
      decoder.end();
      expect(rows).toEqual(whole);
    }
  });

  it('says where a body ended and what was missing', () => {
    const body = `[${record('1')},`;
    const { error } = decodeBody('json', body);
    expect(error?.message).toContain(`record 2, byte ${body.length} of the body: found the end of the body`);
  });
});
