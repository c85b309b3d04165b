/** Counts are read from their own spelling as JSON would read them, or left to JSON. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CountsJson } from '../../../src/core/model/index.ts';
import { DayCounts } from '../../../src/core/model/index.ts';
import { readCountsText } from '../../../src/lake/ledger/counts-reader.ts';
import { countsText } from '../../../src/lake/ledger/counts-text.ts';

const DAY_MICROS = Date.parse('2026-01-05T00:00:00Z') * 1_000;

const hours = fc.uniqueArray(
  fc.tuple(fc.nat(23), fc.integer({ min: 1, max: 1e15 - 1 }), fc.nat(1e11), fc.nat(1e11)),
  { minLength: 1, maxLength: 24, selector: ([hour]) => hour },
);
const plainCounts = fc.dictionary(fc.uuid(), hours, { maxKeys: 5 });

test('what an export writes is read', () => {
  fc.assert(
    fc.property(plainCounts, fc.nat(9), (json, before) => {
      const counts = DayCounts.fromJson(DAY_MICROS, json as CountsJson);
      const text = countsText(counts);
      const read = readCountsText(Buffer.concat([Buffer.alloc(before), text]), before, DAY_MICROS);
      expect(read?.end).toBe(before + text.length);
      expect(read?.counts.equals(counts)).toBe(true);
      expect(counts.equals(read!.counts)).toBe(true);
    }),
  );
});

test('whatever else stands there is read as JSON reads it, or not at all', () => {
  const change = fc.record({
    at: fc.nat(),
    drop: fc.nat(2),
    put: fc.constantFrom(
      '',
      ' ',
      '0',
      '-',
      '.',
      'e',
      ',',
      '"',
      '\\',
      '[',
      ']',
      '{',
      '}',
      ':',
      'é',
      '1',
      '[]',
    ),
  });
  let read = 0;
  fc.assert(
    fc.property(plainCounts, fc.array(change, { maxLength: 2 }), (json, changes) => {
      let text = Buffer.from(countsText(DayCounts.fromJson(DAY_MICROS, json as CountsJson))).toString();
      for (const { at, drop, put } of changes) {
        const from = at % (text.length + 1);
        text = text.slice(0, from) + put + text.slice(from + drop);
      }
      const bytes = Buffer.from(text);
      const found = readCountsText(bytes, 0, DAY_MICROS);
      if (found === undefined) return;
      read++;
      const byJson = DayCounts.fromJson(DAY_MICROS, JSON.parse(bytes.toString('utf8', 0, found.end)));
      expect(found.counts.toJson()).toEqual(byJson.toJson());
    }),
    { numRuns: 2_000 },
  );
  expect(read).toBeGreaterThan(100);
});

test.each([
  ['a series twice', '{"a":[[1,2,3,4]],"a":[[2,2,3,4]]}'],
  ['an escaped name', '{"\\u0061":[[1,2,3,4]]}'],
  ['white space', '{"a": [[1,2,3,4]]}'],
  ['a fraction', '{"a":[[1,2.5,3,4]]}'],
  ['a number with a zero before it', '{"a":[[01,2,3,4]]}'],
  ['five numbers', '{"a":[[1,2,3,4,5]]}'],
  ['no end', '{"a":[[1,2,3,4]]'],
])('left to JSON: %s', (_, text) => {
  expect(readCountsText(Buffer.from(text), 0, 0)).toBeUndefined();
});
