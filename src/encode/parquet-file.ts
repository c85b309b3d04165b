import {
  Compression,
  EnabledStatistics,
  Encoding,
  Table,
  WriterPropertiesBuilder,
  writeParquet,
} from 'parquet-wasm';
import { type Column, CREATED_BY } from './columns.ts';

const STATISTICS = {
  none: EnabledStatistics.None,
  chunk: EnabledStatistics.Chunk,
  page: EnabledStatistics.Page,
} as const;

function writerProperties(columns: readonly Column[], rows: number) {
  let builder = new WriterPropertiesBuilder()
    .setCompression(Compression.ZSTD)
    .setCreatedBy(CREATED_BY)
    .setMaxRowGroupSize(rows);
  for (const { name, type, statistics, dictionary } of columns) {
    builder = builder
      .setColumnStatisticsEnabled(name, STATISTICS[statistics])
      .setColumnDictionaryEnabled(name, dictionary);
    if (type === 'timestamp' || type === 'long')
      builder = builder.setColumnEncoding(name, Encoding.DELTA_BINARY_PACKED);
  }
  return builder.build();
}

/**
 * Encode an Arrow IPC stream of one record batch as a whole Parquet file of one row group. Neither the
 * properties nor the table is freed here: `writeParquet` takes both over. Throws what parquet-wasm throws.
 */
export function encodeParquetFile(
  stream: Uint8Array,
  columns: readonly Column[],
  rows: number,
): Uint8Array<ArrayBuffer> {
  const properties = writerProperties(columns, rows);
  // parquet-wasm copies the file out of its memory: the buffer is ours, and of just this size.
  return writeParquet(Table.fromIPCStream(stream), properties) as Uint8Array<ArrayBuffer>;
}
