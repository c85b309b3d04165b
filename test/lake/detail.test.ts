/** Details as they are stored: one text, however its gzip was made. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CountsJson, DayCounts } from '../../src/core/model/index.ts';
import { gzipPieces } from '../../src/lake/gzip-pieces.ts';
import { countsText } from '../../src/lake/ledger/counts-text.ts';
import { packDetail, unpackDetail } from '../../src/lake/ledger/ledger.ts';

const DAY_MICROS = Date.parse('2026-01-05T00:00:00Z') * 1_000;

function countsOf(series: number): DayCounts {
  const counts = new DayCounts(DAY_MICROS);
  for (let one = 0; one < series; one++)
    for (let hour = 0; hour < 24; hour += 1 + (one % 3)) {
      const first = DAY_MICROS + hour * 3_600e6 + one * 7_919;
      counts.add(`series-${one}`, 1 + (one % 5), first, first + one * 104_729);
    }
  return counts;
}

test.each([
  ['no series', 0, undefined],
  ['a few, no names', 3, undefined],
  ['more than deflate looks back', 400, { a: 'é/"b"', 'b"\\\u0007': '\ud800', c: null }],
  ['of series without names', 1, {}],
])('counts that are the same twice are the text that they would be one by one: %s', (_, series, names) => {
  const ours = countsOf(series);
  const more = countsOf(series);
  more.add('of the source', 1, DAY_MICROS, DAY_MICROS);
  for (const source of [countsOf(series), more, null]) {
    const { gzip, sha256 } = packDetail({
      ...{ ours, source },
      ...(names && { series: new Map(Object.entries(names).reverse()) }),
    });
    const text = `${JSON.stringify({ ours: ours.toJson(), source: source?.toJson() ?? null, series: names })}\n`;
    expect(Buffer.from(unpackDetail(gzip)!.text).toString()).toBe(text);
    expect(unpackDetail(gzip)!.sha256).toBe(sha256);
    expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
    expect(execFileSync('gzip', ['-dc'], { input: gzip, maxBuffer: 1 << 26 }).toString()).toBe(text);
  }
});

test('counts are written as JSON writes them', () => {
  const id = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '10', '9', '07', 'é"\\', '\ud800'));
  const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.integer(), fc.double());
  const hours = fc.array(fc.tuple(fc.nat(23), fc.maxSafeNat(), number, number));
  fc.assert(
    fc.property(fc.dictionary(id, hours), (json) => {
      const counts = DayCounts.fromJson(0, json as CountsJson);
      expect(Buffer.from(countsText(counts)).toString()).toBe(JSON.stringify(counts.toJson()));
    }),
  );
  const digits = Array.from({ length: 16 }, (_, n) => [10 ** n - 1, 10 ** n]).flat();
  const counts = DayCounts.fromJson(0, { a: digits.slice(0, 24).map((n, hour) => [hour, n + 1, n, n]) });
  expect(Buffer.from(countsText(counts)).toString()).toBe(JSON.stringify(counts.toJson()));
});

test('any pieces, some of them again', () => {
  const pieces = fc
    .array(fc.uint8Array({ maxLength: 200 }), { minLength: 1 })
    .chain((some) => fc.array(fc.constantFrom(...some)));
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 9 }), (all, level) => {
      expect(gunzipSync(gzipPieces(all, level))).toEqual(Buffer.concat(all));
    }),
  );
});

test('a damaged piece is found', () => {
  const piece = Buffer.from('0123456789'.repeat(50));
  const gzip = Buffer.from(gzipPieces([piece, piece], 4));
  gzip[20]! ^= 1;
  expect(unpackDetail(gzip)).toBeUndefined();
});

test('counts are equal when every hour is', () => {
  expect(countsOf(5).equals(countsOf(5))).toBe(true);
  expect(countsOf(5).equals(countsOf(6))).toBe(false);
  expect(countsOf(6).equals(countsOf(5))).toBe(false);
  const changes: [number, number, number, number][] = [
    [0, 1, 3_600e6, 3_600e6],
    [4, 1, 1, 1],
  ];
  for (const [one, count, first, last] of changes) {
    const more = countsOf(5);
    more.add(`series-${one}`, count, DAY_MICROS + first, DAY_MICROS + last);
    expect(more.equals(countsOf(5))).toBe(false);
    expect(countsOf(5).equals(more)).toBe(false);
  }
  const later = countsOf(5);
  const { lastMicros } = later.hour('series-2', 0)!;
  later.addHour('series-2', 0, 1, lastMicros, lastMicros + 1);
  const added = countsOf(5);
  added.addHour('series-2', 0, 1, lastMicros, lastMicros);
  expect(later.equals(added)).toBe(false);
});

test('a series may be called as objects call what they come from', () => {
  const counts = new DayCounts(DAY_MICROS);
  for (const id of ['__proto__', 'constructor', 'a']) counts.add(id, 1, DAY_MICROS, DAY_MICROS);
  const text = JSON.stringify(counts.toJson());
  expect(Buffer.from(countsText(counts)).toString()).toBe(text);
  expect(DayCounts.fromJson(DAY_MICROS, JSON.parse(text)).equals(counts)).toBe(true);
});
