import { expect, it } from 'vitest';
import { rankSeries } from '../../../src/parquet/write/series-ranks.ts';

const named = (...ids: string[]) => ids.map((id) => ({ id, name: id }));

it('ranks by bytes, which are in another order than UTF-16 units', () => {
  const [high, wide, plain] = ['\u{1f6a2}', '\uff5e', 'b'];
  const { ids, ranks } = rankSeries(named(high, wide, plain));
  expect(ids).toEqual([plain, wide, high]);
  expect([...ranks.rankOfCode]).toEqual([2, 1, 0]);
});

it('gives the bytes of every text, and where each ends, in memory of exactly their size', () => {
  const { ids, names } = rankSeries([
    { id: 'a', name: 'Größe' },
    { id: 'b', name: null },
    { id: 'c', name: '°' },
  ]).ranks;
  expect(Buffer.from(ids.bytes).toString()).toBe('abc');
  expect([...ids.ends]).toEqual([1, 2, 3]);
  expect(Buffer.from(names.bytes).toString()).toBe('Größe°');
  expect([...names.ends]).toEqual([7, 7, 9]);
  for (const { bytes } of [ids, names]) expect(bytes.buffer.byteLength).toBe(bytes.length);
});

it('joins no halves of characters that stand in two texts', () => {
  const { names } = rankSeries([
    { id: 'a', name: 'x\ud83d' },
    { id: 'b', name: '\udea2y' },
  ]).ranks;
  expect(Buffer.from(names.bytes).toString()).toBe('x\ufffd\ufffdy');
  expect([...names.ends]).toEqual([4, 8]);
  expect(names.bytes.buffer.byteLength).toBe(8);
});
