/** Files of any schema, nested ones too, are read by others as they were given. */

import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { SchemaElement } from 'hyparquet';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { PARQUET_MAGIC, PlainFile, rowAdder } from '../../../src/parquet/write/plain-file.ts';

type Row = Record<string, unknown>;

const optional = { repetition_type: 'OPTIONAL' } as const;
const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const SCHEMA: SchemaElement[] = [
  { name: 'schema', num_children: 4 },
  { name: 'word', repetition_type: 'REQUIRED', ...text },
  { name: 'count', ...optional, type: 'INT64' },
  { name: 'flag', ...optional, type: 'BOOLEAN' },
  { name: 'inner', ...optional, num_children: 4 },
  { name: 'small', ...optional, type: 'INT32' },
  { name: 'names', ...optional, converted_type: 'LIST', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', ...optional, ...text },
  { name: 'options', ...optional, converted_type: 'MAP', num_children: 1 },
  { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
  { name: 'key', repetition_type: 'REQUIRED', ...text },
  { name: 'value', ...optional, ...text },
  { name: 'deeper', ...optional, num_children: 1 },
  { name: 'note', ...optional, ...text },
];

function fileOf(groups: readonly (readonly Row[])[]): ArrayBuffer {
  const file = new PlainFile(SCHEMA, { createdBy: 'test', dictionaries: ['word'] });
  const add = rowAdder(file, SCHEMA);
  const pieces: Uint8Array[] = [PARQUET_MAGIC];
  for (const rows of groups) {
    for (const row of rows) add(row);
    pieces.push(...file.rowGroup());
  }
  return Uint8Array.from(Buffer.concat([...pieces, file.end({ 'a key': 'ä value' })])).buffer;
}

/** The reader has undefined for a struct that is null. */
const nullsIn = (value: unknown): unknown =>
  value === undefined || value === null
    ? null
    : Array.isArray(value)
      ? value.map(nullsIn)
      : typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([name, of]) => [name, nullsIn(of)]))
        : value;

async function read(file: ArrayBuffer): Promise<unknown[]> {
  const rows = await parquetReadObjects({
    file,
    compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
  });
  return rows.map(nullsIn);
}

const orNone = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null });
const word = fc.string({ unit: 'grapheme', maxLength: 6 });
/** No `__proto__` and the like: those are names of another kind to the reader. */
const key = fc.stringMatching(/^[a-z]{1,6}$/);
const row = fc.record({
  word,
  count: orNone(fc.maxSafeInteger().map(BigInt)),
  flag: orNone(fc.boolean()),
  inner: orNone(
    fc.record({
      small: orNone(fc.integer()),
      names: orNone(fc.array(orNone(word), { maxLength: 3 })),
      options: orNone(fc.dictionary(key, orNone(word), { maxKeys: 3, noNullPrototype: true })),
      deeper: orNone(fc.record({ note: orNone(word) })),
    }),
  ),
});

test('nested rows are read by another reader as they were given, in row groups of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(row, { minLength: 1, maxLength: 30 }), { maxLength: 3 }),
      async (groups) => {
        const file = fileOf(
          groups.map((rows) =>
            rows.map((one) => ({ ...one, count: one.count === null ? null : Number(one.count) })),
          ),
        );
        expect(await read(file)).toEqual(groups.flat());
        const metadata = parquetMetadata(file);
        expect(metadata.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual(
          groups.map(({ length }) => length),
        );
        expect(metadata.key_value_metadata).toEqual([{ key: 'a key', value: 'ä value' }]);
      },
    ),
    { numRuns: 100 },
  );
});

test('pages of many rows end where a row does', async () => {
  const rows = Array.from({ length: 70_000 }, (_, n) => ({
    word: `w${n % 300}`,
    count: n * 2 ** 20,
    flag: n % 3 === 0,
    inner:
      n % 2 === 0
        ? null
        : { small: -n, names: [`a${n}`, null, `${'b'.repeat(30)}${n}`], options: null, deeper: null },
  }));
  const found = await read(fileOf([rows]));
  expect(found).toHaveLength(rows.length);
  for (const n of [0, 1, 34_999, 65_535, 65_536, 65_537, 69_999])
    expect(found[n]).toEqual({ ...rows[n]!, count: BigInt(rows[n]!.count) });
});

test('a row without a value that it must have, and a row group without rows, are refused', () => {
  const file = new PlainFile(SCHEMA, { createdBy: 'test' });
  expect(() => rowAdder(file, SCHEMA)({ word: null })).toThrow('got no word');
  expect(() => [...new PlainFile(SCHEMA, { createdBy: 'test' }).rowGroup()]).toThrow('expected some');
});
