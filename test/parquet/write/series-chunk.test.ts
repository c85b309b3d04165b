import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { readColumnIndex, readOffsetIndex } from 'hyparquet/src/indexes.js';
import { readParquet } from 'parquet-wasm';
import { expect, it } from 'vitest';
import { beginFile, endFile } from '../../../src/parquet/write/column-chunk.ts';
import { MEASUREMENT_COLUMNS } from '../../../src/parquet/write/columns.ts';
import { microsValues } from '../../../src/parquet/write/page-values.ts';
import { pagesOf } from '../../../src/parquet/write/pages.ts';
import { readMetadata } from '../../../src/parquet/write/parquet-tail.ts';
import type { TextRun } from '../../../src/parquet/write/series-chunk.ts';
import { appendSeriesChunk } from '../../../src/parquet/write/series-chunk.ts';
import { appendValueChunk, createEncodeScratch } from '../../../src/parquet/write/value-chunk.ts';
import { isLong } from '../../helpers/tiers.ts';
import { readerHere, zstd } from './readers.ts';

const [TIMESTAMP, IDS, NAMES] = MEASUREMENT_COLUMNS as [
  (typeof MEASUREMENT_COLUMNS)[0],
  (typeof MEASUREMENT_COLUMNS)[0],
  (typeof MEASUREMENT_COLUMNS)[0],
];

const reader = await readerHere();

interface Run {
  readonly text: string | null;
  readonly rows: number;
}

const encoded = (runs: readonly Run[]): TextRun[] =>
  runs.map(({ text, rows }) => ({ text: text === null ? null : Buffer.from(text), rows }));
const texts = (runs: readonly Run[]) =>
  runs.flatMap(({ text, rows }) => Array<string | null>(rows).fill(text));
const zeros = (n: number) => String(n).padStart(6, '0');

/** A file of a timestamp, ids that ascend run by run, and these names. */
function fileOf(names: readonly Run[]) {
  const ids = names.map(({ rows }, n) => ({ text: `series ${zeros(n)}`, rows }));
  const rows = texts(ids).length;
  const scratch = createEncodeScratch();
  const micros = Float64Array.from({ length: rows }, (_, row) => row);
  beginFile(scratch.file);
  const chunks = [
    appendSeriesChunk(scratch.file, IDS, encoded(ids)),
    appendValueChunk(scratch, TIMESTAMP, pagesOf(rows), microsValues(micros)),
    appendSeriesChunk(scratch.file, NAMES, encoded(names)),
  ];
  const file = endFile(scratch.file, rows, [IDS, TIMESTAMP, NAMES], chunks).slice();
  return { file, ids: texts(ids), names: texts(names) };
}

const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('IMO9321483/Speed', 'Ærø', '', null) },
  fc.string({ maxLength: 300, unit: 'binary' }),
);
/** Runs within a page, of just a page, and over several. */
const rows = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 19_990, max: 20_010 }),
  fc.constantFrom(1, 20_000),
);
const someRuns = fc.array(fc.record({ text: name, rows }), { minLength: 1, maxLength: 6 });
/** More than a byte's worth of entries. */
const manyRuns = fc
  .integer({ min: 250, max: 700 })
  .map((count) => Array.from({ length: count }, (_, n) => ({ text: `name ${n}`, rows: 1 + (n % 3) })));

it('reads the same in DuckDB, hyparquet and parquet-wasm, whatever the runs', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: someRuns }, manyRuns), async (runs) => {
      const { file, ids, names } = fileOf(runs);
      const expected = ids.map((id, row) => [id, names[row]]);
      expect(await reader.query(file, 'SELECT time_series_id, id FROM FILE')).toEqual(expected);
      const objects = await parquetReadObjects({ file: file.buffer, compressors: { ZSTD: zstd } });
      expect(objects.map((row) => [row.time_series_id, row.id ?? null])).toEqual(expected);
      const table = tableFromIPC(readParquet(file).intoIPCStream());
      const [idColumn, nameColumn] = [table.getChild('time_series_id')!, table.getChild('id')!];
      expect([...idColumn].map((id, row) => [id, nameColumn.get(row)])).toEqual(expected);
    }),
    { numRuns: isLong ? 25 : 6 },
  );
});

it('says of each page what its first and last row are, and of names only how many are missing', () => {
  const { file, ids } = fileOf([
    { text: 'a', rows: 7 },
    { text: null, rows: 22_500 },
    { text: 'b', rows: 9_993 },
  ]);
  const [series, , names] = readMetadata(file).row_groups[0]!.columns;
  const view = new DataView(file.buffer);
  const { page_locations: pages } = readOffsetIndex({ view, offset: Number(series!.offset_index_offset) });
  expect(pages.map((page) => Number(page.first_row_index))).toEqual([0, 10_000, 20_000, 30_000]);
  const element = { name: 'time_series_id', type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
  const index = readColumnIndex({ view, offset: Number(series!.column_index_offset) }, element);
  expect(index).toMatchObject({
    min_values: pages.map((page) => ids[Number(page.first_row_index)]),
    max_values: [10_000, 20_000, 30_000, 32_500].map((end) => ids[end - 1]),
    null_counts: [0n, 0n, 0n, 0n],
    boundary_order: 'ASCENDING',
  });
  expect(series!.meta_data!.statistics).toMatchObject({
    min_value: new TextEncoder().encode(ids[0]!),
    max_value: new TextEncoder().encode(ids.at(-1)!),
    null_count: 0n,
  });
  expect(names!.meta_data!.statistics).toMatchObject({ null_count: 22_500n });
  expect(names!.meta_data!.statistics!.min_value).toBeUndefined();
  expect(names!.column_index_offset).toBeUndefined();
});
