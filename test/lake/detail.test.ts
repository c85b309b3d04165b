/** Details as they are stored: one text, however its gzip was made. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { gzipPieces } from '../../src/lake/gzip-pieces.ts';
import { packDetail, unpackDetail } from '../../src/lake/ledger.ts';
import { DayCounts } from '../../src/model/index.ts';

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
  ['no series', 0, {}],
  ['a few, no names', 3, {}],
  ['more than deflate looks back', 400, { series: { a: 'é/"b"', c: null } }],
])('counts that are the same twice are the text that they would be one by one: %s', (_, series, rest) => {
  const ours = countsOf(series).toJson();
  const shared = packDetail({ ours, source: ours, ...rest });
  const apart = packDetail({ ours, source: structuredClone(ours), ...rest });
  expect(shared.sha256).toBe(apart.sha256);
  const text = `${JSON.stringify({ ours, source: ours, ...rest })}\n`;
  for (const { gzip, sha256 } of [shared, apart]) {
    expect(Buffer.from(unpackDetail(gzip)!.text).toString()).toBe(text);
    expect(unpackDetail(gzip)!.sha256).toBe(sha256);
    expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
    expect(execFileSync('gzip', ['-dc'], { input: gzip, maxBuffer: 1 << 26 }).toString()).toBe(text);
  }
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
  later.bySeries.get('series-2')![0]!.lastMicros += 1;
  expect(later.equals(countsOf(5))).toBe(false);
});
