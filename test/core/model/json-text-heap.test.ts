import { expect, test } from 'vitest';
import type { JsonTextHeap } from '../../../src/core/model/index.ts';
import { appendJsonText, appendJsonTexts, jsonTextAt } from '../../../src/core/model/index.ts';

const heapOf = (end: number): JsonTextHeap => ({
  count: 1,
  bytes: Buffer.from('"text"'),
  ends: Int32Array.of(end),
});

test('texts are told apart up to two gibibytes, and more are refused', () => {
  const full = heapOf(2 ** 31 - 6);
  const from = heapOf(6);
  for (const append of [
    () => appendJsonText(full, from.bytes, 0, 6),
    () => appendJsonTexts(full, from, 0, 1),
  ])
    expect(append).toThrow(new RangeError('got 2147483648 bytes of JSON, expected at most 2147483647'));
  expect(full.count).toBe(1);
  appendJsonTexts(from, heapOf(6), 0, 1);
  expect(Buffer.from(jsonTextAt(from, 1)).toString()).toBe('"text"');
});
