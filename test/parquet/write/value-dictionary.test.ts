import { expect, it } from 'vitest';
import type { ColumnValues } from '../../../src/parquet/write/page-values.ts';
import { doubleValues } from '../../../src/parquet/write/page-values.ts';
import { pagesOf } from '../../../src/parquet/write/pages.ts';
import { buildDictionary, createDictionaryScratch } from '../../../src/parquet/write/value-dictionary.ts';

const valuesOf = (doubles: Float64Array): ColumnValues => doubleValues(new Int32Array(doubles.buffer));

const build = (doubles: Float64Array) =>
  buildDictionary(valuesOf(doubles), pagesOf(doubles.length), createDictionaryScratch());

/** The entry of each row, as bits. */
function decoded({ plain, entries, codes }: NonNullable<ReturnType<typeof build>>): BigInt64Array {
  const bits = new BigInt64Array(plain.slice().buffer);
  expect(bits).toHaveLength(entries);
  return BigInt64Array.from(codes, (code) => bits[code]!);
}

it('has many entries in the order of their bits, and gives every row its value', () => {
  const special = [0, -0, Number.NaN, Number.NEGATIVE_INFINITY, 5e-324, -1.5];
  const doubles = Float64Array.from({ length: 9_000 }, (_, row) =>
    row % 7 === 0 ? special[(row / 7) % special.length]! : ((row * 7_919) % 997) / 100 - 3,
  );
  const dictionary = build(doubles)!;
  expect(dictionary.entries).toBeGreaterThan(900);
  expect(decoded(dictionary)).toEqual(new BigInt64Array(doubles.buffer));
  const bits = new BigInt64Array(dictionary.plain.slice().buffer);
  expect(bits).toEqual(bits.slice().sort());
});

it('has few entries in the order of their first use', () => {
  const doubles = Float64Array.from({ length: 300 }, (_, row) => (row % 3 === 0 ? 9 : row % 3));
  const { plain } = build(doubles)!;
  expect([...new Float64Array(plain.slice().buffer)]).toEqual([9, 1, 2]);
});

it('takes as many entries as two bytes tell apart, and no more', () => {
  const repeated = (entries: number) =>
    Float64Array.from({ length: 3 * entries }, (_, row) => (row < entries ? row : row % 10));
  const all = repeated(65_536);
  expect(decoded(build(all)!)).toEqual(new BigInt64Array(all.buffer));
  expect(build(repeated(65_537))).toBeUndefined();
});

it('is told by rows from all over the chunk, for the first ones may be those of a series that never repeats', () => {
  const [rows, unlike] = [100_000, 12_000];
  const newFirst = Float64Array.from({ length: rows }, (_, row) => (row < unlike ? row + 0.5 : row % 100));
  expect(build(newFirst)!.entries).toBe(unlike + 100);
  const newLast = newFirst.slice().reverse();
  expect(build(newLast)!.entries).toBe(unlike + 100);
  expect(build(Float64Array.from({ length: rows }, (_, row) => (row % 5 === 0 ? 1 : row)))).toBeUndefined();
});
