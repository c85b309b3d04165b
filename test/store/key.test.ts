import { resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { faultOfKey } from '../../src/store/key.ts';

test('a key that passes stays inside the lake and names one path', () => {
  const pieces = fc.constantFrom(
    'a',
    '.',
    '..',
    '/',
    '//',
    '\\',
    'ö',
    '=',
    ' ',
    '\u0000',
    '\ud800',
    '船',
    '~',
    '%2e',
  );
  const keys = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(keys, (key) => {
      if (faultOfKey(key) !== undefined) return;
      expect(resolve('/lake', key)).toBe(`/lake/${key}`);
      expect(Buffer.from(key).toString()).toBe(key);
    }),
    { numRuns: 2000 },
  );
});

test('a key of the layout passes', () => {
  for (const key of [
    'measurements/vessel=IMO9321483/date=2026-01-05/data.parquet',
    '_ledger/measurements/date=2026-01-05/vessel=IMO9321483.json',
    '_checkpoints/measurements/date=2026-01-05/vessel=IMO9321483/12.json',
  ]) {
    expect(faultOfKey(key)).toBeUndefined();
  }
});
