import { afterAll, describe, expect, it } from 'vitest';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { createEncoder, createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import { compressed, discard } from '../../../src/parquet/write/zstd.ts';
import type { Reading } from './lake-file.ts';
import { batchOf, DAY_MICROS } from './lake-file.ts';

const ROWS = 2_000;

/** Readings of four row groups, no two alike. */
const READINGS: readonly Reading[] = Array.from({ length: 4 * ROWS }, (_, i) => ({
  micros: DAY_MICROS + i,
  series: `s${i % 7}`,
  value: Math.sin(i),
}));

describe.each([0, 1])('an encoder with %i threads', (threads) => {
  const encoder = createEncoder({ threads });
  afterAll(() => encoder.close());

  function build() {
    const dictionary = createSeriesDictionary();
    const builder = createMeasurementRowGroups({
      rowGroupRows: ROWS,
      dictionary,
      idOf: (id) => id,
      encoder,
    });
    builder.append(batchOf(READINGS, dictionary), 0, READINGS.length);
    return builder;
  }

  it('writes the next file into memory that was released, with the same bytes', async () => {
    const kept = build();
    const expected: Buffer[] = [];
    for (let n = 0; n < 4; n++) expected.push(Buffer.from((await kept.seal(ROWS)).body));
    const builder = build();
    const first = await builder.seal(ROWS);
    const { byteLength } = first.body.buffer;
    const found = [Buffer.from(first.body)];
    first.release();
    // Twice is once: two row groups would share it.
    first.release();
    const [second, third] = await Promise.all([builder.seal(ROWS), builder.seal(ROWS)]);
    expect(second.body.buffer.byteLength).toBe(byteLength);
    if (threads === 0) expect(second.body.buffer).toBe(first.body.buffer);
    else expect(first.body.buffer.byteLength).toBe(0);
    expect(third.body.buffer).not.toBe(second.body.buffer);
    found.push(Buffer.from(second.body), Buffer.from(third.body));
    second.release();
    third.release();
    found.push(Buffer.from((await builder.seal(ROWS)).body));
    expect(found.map((body, n) => body.equals(expected[n]!))).toEqual([true, true, true, true]);
  });
});

it('a discarded frame gives its memory back, but not what small ones share', () => {
  const large = compressed(
    new Uint8Array(100_000).map((_, i) => (i * i) % 251),
    'values',
  );
  discard(large);
  expect(large.buffer.byteLength).toBe(0);
  const small = compressed(Uint8Array.of(1, 2, 3), 'values');
  const text = Buffer.from(small).toString('hex');
  discard(small);
  expect(Buffer.from(small).toString('hex')).toBe(text);
});
