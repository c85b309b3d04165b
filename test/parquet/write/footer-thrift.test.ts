/** Footers are written without a general writer of Thrift; byte for byte they are what that writes. */
import type { FileMetaData } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { describe, expect, test } from 'vitest';
import { AGGREGATIONS } from '../../../src/core/model/index.ts';
import { createByteSink } from '../../../src/parquet/write/byte-sink.ts';
import { datasetColumns, rootElement, schemaElement } from '../../../src/parquet/write/columns.ts';
import { PARQUET_MAGIC, putFooter } from '../../../src/parquet/write/parquet-thrift.ts';

const DATASETS = ['measurements', 'statistics', 'metadata'] as const;

function generalBytes(metadata: FileMetaData): Buffer {
  const writer = new ByteWriter();
  writeMetadata(writer, metadata, Number.POSITIVE_INFINITY);
  return Buffer.from(writer.getBytes());
}

function ourBytes(metadata: FileMetaData): Buffer {
  const sink = createByteSink();
  // Behind something else, as in a file.
  sink.at = 3;
  putFooter(sink, metadata);
  expect(sink.bytes.subarray(sink.at - 4, sink.at)).toEqual(PARQUET_MAGIC);
  return Buffer.from(sink.bytes.subarray(3, sink.at - 4));
}

type Chunk = FileMetaData['row_groups'][number]['columns'][number];
type Bound = bigint | number | Uint8Array | undefined;

/** Bounds of each type, of which the last are longer than what the general writer would cut by default. */
const BOUNDS: Readonly<Record<string, readonly (readonly [min: Bound, max: Bound])[]>> = {
  INT64: [
    [-(2n ** 63n), 2n ** 63n - 1n],
    [-1n, 0n],
    [1_767_571_200_000_000n, 1_767_657_599_999_999n],
  ],
  DOUBLE: [
    [-0, 0],
    [-1.5, Number.MAX_VALUE],
    [Number.MIN_VALUE, Number.POSITIVE_INFINITY],
  ],
  BYTE_ARRAY: [
    [new Uint8Array(0), Buffer.from('ä')],
    [Buffer.from('a'.repeat(200)), Buffer.from('\u{10ffff}'.repeat(50))],
  ],
};

function chunkOf(type: 'INT64' | 'DOUBLE' | 'BYTE_ARRAY', name: string, at: number): Chunk {
  const [min, max] = [...BOUNDS[type]!, [undefined, undefined] as const][at % (BOUNDS[type]!.length + 1)]!;
  const isCoded = at % 2 === 1;
  const encoding = isCoded ? 'RLE_DICTIONARY' : 'PLAIN';
  const bounds = min === undefined ? {} : { min_value: min, max_value: max! };
  return {
    file_offset: 0n,
    meta_data: {
      type,
      encodings: isCoded ? ['PLAIN', 'RLE', encoding] : ['RLE', encoding],
      path_in_schema: [name],
      codec: isCoded ? 'ZSTD' : 'UNCOMPRESSED',
      num_values: BigInt(at) * 2n ** 31n,
      total_uncompressed_size: 2n ** 40n + BigInt(at),
      total_compressed_size: 127n + BigInt(at),
      ...(isCoded && { dictionary_page_offset: 4n }),
      data_page_offset: 2n ** 33n,
      statistics: {
        null_count: BigInt(at),
        ...bounds,
        ...(min !== undefined && { is_min_value_exact: true, is_max_value_exact: at % 3 === 0 }),
      },
      encoding_stats: [{ page_type: 'DATA_PAGE', encoding, count: 63 + at }],
    },
    offset_index_offset: 2n ** 32n + 1n,
    offset_index_length: 64,
    ...(isCoded && { column_index_offset: 5n, column_index_length: 2 ** 30 }),
  } as Chunk;
}

function metadataOf(dataset: (typeof DATASETS)[number], rowGroups: number): FileMetaData {
  const columns = datasetColumns({ dataset, aggregations: AGGREGATIONS });
  const schema = [rootElement(columns), ...columns.map(schemaElement)];
  const row_groups = Array.from({ length: rowGroups }, (_, group) => ({
    columns: schema
      .slice(1)
      .map(({ type, name }, i) => chunkOf(type as 'INT64' | 'DOUBLE' | 'BYTE_ARRAY', name, group + i)),
    total_byte_size: 2n ** 45n,
    num_rows: 524_288n + BigInt(group),
    total_compressed_size: 1n,
    ...(group % 2 === 0 && {
      sorting_columns: [{ column_idx: group, descending: group > 0, nulls_first: false }],
    }),
  }));
  return {
    version: 1,
    schema,
    num_rows: BigInt(rowGroups) * 524_288n,
    row_groups,
    ...(rowGroups !== 1 && { key_value_metadata: [{ key: 'a key', value: 'ä value' }] }),
    created_by: 'vessel-export',
    metadata_length: 0,
  };
}

describe.each(DATASETS)('a footer of %s', (dataset) => {
  test.each([1, 2, 14, 15, 16, 300])('of %i row groups', (rowGroups) => {
    const metadata = metadataOf(dataset, rowGroups);
    expect(ourBytes(metadata).equals(generalBytes(metadata))).toBe(true);
  });

  test('of none: the list has the type of a row group, which the general writer does not know', () => {
    const metadata = metadataOf(dataset, 0);
    const general = generalBytes(metadata);
    const list = general.indexOf(Uint8Array.of(0x16, 0x00, 0x19)) + 3;
    expect(general[list]).toBe(0x00);
    general[list] = 0x0c;
    expect(ourBytes(metadata).equals(general)).toBe(true);
  });
});

test('what no file of ours has is refused', () => {
  const { schema, ...rest } = metadataOf('measurements', 1);
  const withDate = schema.map((element) => ({ ...element, logical_type: { type: 'DATE' } as const }));
  expect(() => ourBytes({ ...rest, schema: withDate })).toThrow('logical type DATE');
  expect(() => ourBytes({ ...rest, schema, num_rows: -1n })).toThrow('got -1 in a footer');
});
