import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  instantMicros,
  microsToIso,
  parseTimestamp,
  timestampMicros,
} from '../../../src/core/model/index.ts';
import { OTHER_TIMESTAMP, TimestampReader } from '../../../src/core/model/timestamp-reader.ts';

const LAST_MICROS = Date.UTC(2200, 0, 1) * 1000 - 1;
const anyMicros = fc.oneof(fc.integer({ min: 0, max: LAST_MICROS }), fc.constantFrom(0, LAST_MICROS));

describe('timestamps', () => {
  it('are the microseconds that their text was made of', () => {
    fc.assert(
      fc.property(anyMicros, (micros) => {
        expect(timestampMicros(microsToIso(micros))).toBe(micros);
        expect(parseTimestamp(microsToIso(micros))).toBe(micros);
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
        expect(reader.minuteMicros + ofMinute).toBe(timestampMicros(text));
        expect(reader.end).toBe(2 + text.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('are read from bytes whatever was read before, or are left to who reads any text', () => {
    const near = fc.record({
      micros: fc.oneof(
        fc.integer({ min: Date.UTC(2026, 1, 27) * 1_000, max: Date.UTC(2026, 2, 2) * 1_000 }),
        anyMicros,
      ),
      at: fc.nat(60),
      byte: fc.oneof(fc.constantFrom(0, ...Buffer.from('0123456789-T:.Z+')), fc.nat(255)),
    });
    const read = (reader: TimestampReader, text: string) => {
      const bytes = Buffer.from(text.padEnd(60), 'latin1');
      const ofMinute = reader.microsOfMinuteAt(bytes, new DataView(bytes.buffer, bytes.byteOffset, 60), 0);
      return ofMinute === OTHER_TIMESTAMP ? undefined : reader.minuteMicros + ofMinute;
    };
    let count = 0;
    fc.assert(
      fc.property(fc.array(near, { maxLength: 20 }), (all) => {
        const reader = new TimestampReader();
        for (const { micros, at, byte } of all) {
          const text = microsToIso(micros);
          const changed =
            text.slice(0, at) + (at < text.length ? String.fromCharCode(byte) : '') + text.slice(at + 1);
          const found = read(reader, changed);
          expect(found).toBe(read(new TimestampReader(), changed));
          if (found === undefined) continue;
          count++;
          expect(found).toBe(timestampMicros(changed.slice(0, reader.end)));
        }
      }),
      { numRuns: 2000 },
    );
    expect(count).toBeGreaterThan(1_000);
  });

  it('of every day of the accepted years are those of the calendar', () => {
    for (let millis = 0; millis * 1000 < LAST_MICROS; millis += 86_400_000) {
      const date = new Date(millis).toISOString().slice(0, 10);
      if (timestampMicros(`${date}T00:00:00Z`) !== millis * 1000) expect.fail(date);
      if (timestampMicros(`${date}T00:00:00.000000Z`) !== millis * 1000) expect.fail(date);
    }
    for (const date of ['2100-02-29', '2026-04-31', '2026-00-10', '2026-01-00', '2026-01-32', '2023-02-29']) {
      expect(timestampMicros(`${date}T00:00:00Z`)).toMatchObject({ code: 'bad-timestamp' });
      expect(timestampMicros(`${date}T00:00:00.000000Z`)).toMatchObject({ code: 'bad-timestamp' });
    }
  });

  it('take an offset into account at the edges of the accepted years', () => {
    expect(timestampMicros('1969-12-31T23:00:00-01:00')).toBe(0);
    expect(timestampMicros('1970-01-01T00:00:00+00:01')).toMatchObject({ code: 'bad-timestamp' });
    expect(timestampMicros('2026-01-05T01:30:00.5+0130')).toBe(Date.UTC(2026, 0, 5) * 1000 + 500_000);
    expect(timestampMicros('2026-01-05 01:00+01')).toBe(Date.UTC(2026, 0, 5) * 1000);
  });

  it('of ranges may lie beyond the accepted years', () => {
    expect(instantMicros('2200-01-01T00:00Z')).toBe(LAST_MICROS + 1);
    expect(timestampMicros('2200-01-01T00:00Z')).toMatchObject({ code: 'bad-timestamp' });
  });

  it('finer than a microsecond are told from those that are none', () => {
    expect(parseTimestamp('2026-01-05T00:00:00.123456000Z')).toBe(Date.UTC(2026, 0, 5) * 1000 + 123_456);
    expect(timestampMicros('2026-01-05T00:00:00.1234567Z')).toMatchObject({ code: 'timestamp-too-fine' });
  });
});
