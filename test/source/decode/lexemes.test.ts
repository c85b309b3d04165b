import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { createColumnBatch, DOUBLE, LONG } from '../../../src/core/model/index.ts';
import {
  parseInt64Text,
  parseTimestampText,
  readNumber,
  UNSETTLED,
} from '../../../src/source/decode/number-lexeme.ts';

describe('time-valued aggregations', () => {
  it('are the microseconds of a JSON string', () => {
    expect(parseTimestampText('"2026-01-05T00:00:00.000001Z"')).toBe(Date.UTC(2026, 0, 5) * 1000 + 1);
  });

  it('that are no strings with a zone are refused', () => {
    for (const text of [
      ...'1767571200 null "2026-01-05" 2026-01-05T00:00:00 2026-01-05T00:00:00+24:00'.split(' '),
    ])
      expect(() => parseTimestampText(text)).toThrow(DataError);
    expect(() => parseTimestampText('"1970-01-01T00:00:00+00:01"')).toThrow(/bad|expected/);
  });
});

describe('numbers', () => {
  const batch = createColumnBatch(1);
  const settle = (lexeme: string) => {
    batch.kinds[0] = 99;
    return readNumber(Buffer.from(`${lexeme}}`), 0, batch, 0);
  };

  it('of int64 are settled without loss', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.maxSafeInteger().map(BigInt)),
        (value) => {
          expect(settle(String(value))).toBe(String(value).length);
          expect([batch.kinds[0], batch.longs[0]]).toEqual([LONG, value]);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('beyond int64 are not settled', () => {
    for (const value of [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 64n, 10n ** 19n, 9_999_999_999_999_999_999n])
      expect(settle(String(value))).toBe(UNSETTLED);
  });

  it('with a fraction are the nearest double, or not settled', () => {
    const fraction = fc.tuple(
      fc.integer({ min: -(10 ** 9), max: 10 ** 9 }),
      fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 12 }),
    );
    let settled = 0;
    fc.assert(
      fc.property(fraction, ([whole, places]) => {
        const lexeme = `${whole}.${places}`;
        if (settle(lexeme) === UNSETTLED) return;
        settled++;
        expect([batch.kinds[0], batch.doubles[0]]).toEqual([DOUBLE, Number(lexeme)]);
      }),
      { numRuns: 5000 },
    );
    expect(settled).toBeGreaterThan(1000);
  });

  it('as counts are whole and exact', () => {
    expect(['0', '12', '12.0', '-3', '9007199254740991'].map(parseInt64Text)).toEqual([
      0, 12, 12, -3, 9007199254740991,
    ]);
    for (const text of ['1.5', '1e3', '"1"', 'null', '', '9007199254740992', '99999999999999999999'])
      expect(() => parseInt64Text(text)).toThrow(DataError);
  });
});
