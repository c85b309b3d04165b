/** Details as they are stored: one text, however its gzip was made. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { DayCounts } from '../../src/core/model/index.ts';
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

test('a damaged detail is found', () => {
  const { gzip } = packDetail({ ours: countsOf(20), source: countsOf(20) });
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
  expect(DayCounts.fromJson(DAY_MICROS, JSON.parse(text)).equals(counts)).toBe(true);
});
