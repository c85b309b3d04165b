/** Small files of a lake that somebody else wrote: what their pages claim costs nothing. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSmallDay } from '../../src/service/data/lake-small-day.ts';
import { newTempFolder } from '../helpers/temp.ts';
import type { Forged, ForgedColumn } from '../parquet/read/forged-parquet.ts';
import {
  constantColumns,
  ENCODING,
  forgeParquet,
  levels,
  plain,
  varint,
} from '../parquet/read/forged-parquet.ts';

const ROWS = 1_000;
/** What a page may claim in a few bytes, and takes a gigabyte to read. */
const MANY = 30_000_000;

const leaf = (name: string, type: string, converted_type?: string) => ({
  ...{ name, type, repetition_type: 'OPTIONAL' },
  ...(converted_type && { converted_type }),
});
const SCHEMA = [
  { name: 'root', num_children: 5 },
  leaf('timestamp', 'INT64', 'TIMESTAMP_MICROS'),
  leaf('time_series_id', 'BYTE_ARRAY', 'UTF8'),
  leaf('long_value', 'INT64'),
  leaf('double_value', 'DOUBLE'),
  leaf('json_value', 'BYTE_ARRAY', 'UTF8'),
];

/** Every row the first entry of a dictionary. */
function ofDictionary(entry: string, rows: number, entries = 1): ForgedColumn {
  const codes = Buffer.from([1, ...varint(rows * 2), 0]);
  return {
    pages: [
      { kind: 'dictionary', values: entries, bytes: plain(entry) },
      {
        kind: 'data',
        values: rows,
        encoding: ENCODING.dictionary,
        bytes: Buffer.concat([levels(rows, 1), codes]),
      },
    ],
  };
}

const SERIES = '11111111-0000-4000-8000-000000000001';

async function read(columns: Partial<Forged['columns']>): Promise<number | undefined> {
  await using folder = await newTempFolder();
  const path = join(folder.path, 'data.parquet');
  const id = columns.id ?? ofDictionary(SERIES, ROWS);
  const all = { ...constantColumns(ROWS), ...columns };
  const claims = { path_in_schema: ['time_series_id'] };
  await writeFile(
    path,
    forgeParquet({ rows: ROWS, schema: SCHEMA, columns: { ...all, id: { ...id, claims } } }),
  );
  const day = await readSmallDay([{ job: 'a', vessel: 'IMO9074729', date: '2026-01-05', path }], true);
  return day?.[0]?.rows;
}

test('a sound one is read', async () => {
  expect(await read({})).toBe(ROWS);
  expect(await read({ json_value: ofDictionary(`"${'x'.repeat(1_000)}"`, ROWS) })).toBe(ROWS);
});

const nulls = (values: number): ForgedColumn => ({
  pages: [{ kind: 'data', values, encoding: ENCODING.plain, bytes: levels(values, 0) }],
});
const deltas = Buffer.from([...varint(128), ...varint(4), ...varint(MANY), 0]);

test.each<[string, Partial<Forged['columns']>]>([
  ['nulls', { long_value: nulls(MANY) }],
  [
    'nulls in many pages',
    { long_value: { pages: Array.from({ length: 20 }, () => nulls(8_000).pages[0]!) } },
  ],
  ['ids', { id: ofDictionary(SERIES, MANY) }],
  ['entries of a dictionary', { id: ofDictionary(SERIES, ROWS, MANY) }],
  [
    'deltas',
    {
      long_value: {
        pages: [
          {
            kind: 'data',
            values: MANY,
            encoding: ENCODING.delta,
            bytes: Buffer.concat([levels(MANY, 1), deltas]),
          },
        ],
      },
    },
  ],
  ['fewer values than rows', { long_value: nulls(ROWS - 1) }],
  ['bytes', { long_value: { pages: [{ ...nulls(ROWS).pages[0]!, size: 2 ** 30 }], codec: 'ZSTD' } }],
  ['a long text in every row', { json_value: ofDictionary(`"${'x'.repeat(100_000)}"`, ROWS) }],
  [
    'texts that share prefixes',
    { json_value: { pages: [{ ...nulls(ROWS).pages[0]!, encoding: ENCODING.deltaBytes }] } },
  ],
])('one that claims more is left to DuckDB: %s', async (_, columns) => {
  expect(await read(columns)).toBeUndefined();
});
