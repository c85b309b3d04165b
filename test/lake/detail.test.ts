/** Details as they are stored. */
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
  const gzip = Buffer.from(packDetail({ ours: countsOf(50), source: null }).gzip);
  gzip[gzip.length - 20]! ^= 1;
  expect(unpackDetail(gzip)).toBeUndefined();
});
