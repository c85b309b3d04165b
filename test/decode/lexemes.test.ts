import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInt64Text, parseTimestampMicros, parseTimestampText } from '../../src/decode/index.ts';
import { readNumber, UNSETTLED } from '../../src/decode/number-lexeme.ts';
import { TimestampReader } from '../../src/decode/timestamp-text.ts';
import { DataError } from '../../src/errors.ts';
import { createColumnBatch, DOUBLE, LONG, microsToIso } from '../../src/model/index.ts';

const LAST_MICROS = Date.UTC(2200, 0, 1) * 1000 - 1;
const anyMicros = fc.oneof(fc.integer({ min: 0, max: LAST_MICROS }), fc.constantFrom(0, LAST_MICROS));

describe('timestamps', () => {
  it('are the microseconds that their text was made of', () => {
    fc.assert(
      fc.property(anyMicros, (micros) => {
        expect(parseTimestampMicros(microsToIso(micros))).toBe(micros);
        expect(parseTimestampText(`"${microsToIso(micros)}"`)).toBe(micros);
      }),
      { numRuns: 2000 },
    );
  });

  it('read from bytes are those of their text', () => {
    const reader = new TimestampReader();
    fc.assert(
      fc.property(anyMicros, fc.integer({ min: 0, max: 6 }), (micros, places) => {
        const text = `${microsToIso(micros)
          .slice(0, 20 + places)
          .replace(/\.$/, '')}Z`;
        const bytes = Buffer.from(`..${text}".`.padEnd(60));
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        const ofMinute = reader.microsOfMinuteAt(bytes, view, 2);
        expect(reader.minuteMicros + ofMinute).toBe(parseTimestampMicros(text));
        expect(reader.end).toBe(2 + text.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('of every day of the accepted years are those of the calendar', () => {
    for (let millis = 0; millis * 1000 < LAST_MICROS; millis += 86_400_000) {
      const date = new Date(millis).toISOString().slice(0, 10);
      if (parseTimestampMicros(`${date}T00:00:00Z`) !== millis * 1000) expect.fail(date);
      if (parseTimestampMicros(`${date}T00:00:00.000000Z`) !== millis * 1000) expect.fail(date);
    }
    for (const date of ['2100-02-29', '2026-04-31', '2026-00-10', '2026-01-00', '2026-01-32', '2023-02-29']) {
      expect(() => parseTimestampMicros(`${date}T00:00:00Z`)).toThrow(DataError);
      expect(() => parseTimestampMicros(`${date}T00:00:00.000000Z`)).toThrow(DataError);
    }
  });

  it('that are no strings with a zone are refused', () => {
    for (const text of [
      '1767571200',
      'null',
      '"2026-01-05"',
      '2026-01-05T00:00:00',
      '2026-01-05T00:00:00+24:00',
    ])
      expect(() => parseTimestampText(text)).toThrow(DataError);
  });

  it('take an offset into account at the edges of the accepted years', () => {
    expect(parseTimestampMicros('1969-12-31T23:00:00-01:00')).toBe(0);
    expect(() => parseTimestampMicros('1970-01-01T00:00:00+00:01')).toThrow(/bad|expected/);
    expect(parseTimestampMicros('2026-01-05T01:30:00.5+0130')).toBe(Date.UTC(2026, 0, 5) * 1000 + 500_000);
    expect(parseTimestampMicros('2026-01-05 01:00+01')).toBe(Date.UTC(2026, 0, 5) * 1000);
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
