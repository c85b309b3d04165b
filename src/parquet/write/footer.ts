import type { ColumnChunk, FileMetaData, RowGroup } from 'hyparquet';
import { FatalError } from '../../core/errors.ts';
import { type Dataset, FORMAT_VERSION, type SplicedRowGroup } from '../../core/model/index.ts';
import { type ByteSink, createByteSink, putBytes } from './byte-sink.ts';
import { shiftChunk } from './column-chunk.ts';
import { CREATED_BY, datasetColumns, rootElement, schemaElement } from './columns.ts';
import { MAGIC_BYTES, readMetadata } from './parquet-tail.ts';
import { putFooter, putShiftedOffsetIndex } from './parquet-thrift.ts';

/**
 * What follows the last body of a file: page indexes and the footer of all row groups, every absolute offset shifted to where its body now
 * is. Offset indexes list pages by such offsets too, so page indexes are not in the bodies but written here.
 */

/** What each dataset's row groups are sorted by, first to last. */
const SORTED_BY: Readonly<Record<Dataset, readonly string[]>> = {
  measurements: ['time_series_id', 'timestamp'],
  statistics: ['time_series_id', 'timestamp'],
  metadata: ['time_series_id'],
};

interface PlacedGroup {
  readonly group: RowGroup;
  readonly tail: Uint8Array;
  /** Where the tail began in the one-group file. */
  readonly tailAt: number;
  /** Bytes between where the body was in the one-group file and where it is now. */
  readonly shiftBytes: bigint;
}

function indexBytes(placed: PlacedGroup, offset: bigint, length: number | undefined): Uint8Array {
  const at = Number(offset) - placed.tailAt;
  return placed.tail.subarray(at, at + (length ?? 0));
}

type AppendIndex = (sink: ByteSink, bodiesEnd: number, chunk: ColumnChunk, placed: PlacedGroup) => void;

const appendColumnIndex: AppendIndex = (sink, bodiesEnd, chunk, placed) => {
  if (chunk.column_index_offset === undefined) return;
  const bytes = indexBytes(placed, chunk.column_index_offset, chunk.column_index_length);
  chunk.column_index_offset = BigInt(bodiesEnd + sink.at);
  putBytes(sink, bytes);
};

const appendOffsetIndex: AppendIndex = (sink, bodiesEnd, chunk, placed) => {
  if (chunk.offset_index_offset === undefined) return;
  const bytes = indexBytes(placed, chunk.offset_index_offset, chunk.offset_index_length);
  const { at } = sink;
  putShiftedOffsetIndex(sink, bytes, Number(placed.shiftBytes));
  chunk.offset_index_offset = BigInt(bodiesEnd + at);
  chunk.offset_index_length = sink.at - at;
};

function readTails(groups: readonly SplicedRowGroup[]): {
  first: FileMetaData;
  placed: PlacedGroup[];
  bodiesEnd: number;
} {
  let first: FileMetaData | undefined;
  let bodiesEnd = MAGIC_BYTES;
  const placed: PlacedGroup[] = [];
  for (const [index, { bodyBytes, tail }] of groups.entries()) {
    const metadata = readMetadata(tail);
    first ??= metadata;
    if (JSON.stringify(metadata.schema) !== JSON.stringify(first.schema))
      throw new FatalError(
        'footer-schema-mismatch',
        `Row group ${index} has other columns than row group 0; start this vessel-day clean`,
      );
    const tailAt = MAGIC_BYTES + bodyBytes;
    const shiftBytes = BigInt(bodiesEnd - MAGIC_BYTES);
    for (const group of metadata.row_groups) placed.push({ group, tail, tailAt, shiftBytes });
    bodiesEnd += bodyBytes;
  }
  if (first === undefined) throw new RangeError('got no row group, expected at least one');
  return { first, placed, bodiesEnd };
}

/** The end of a file of these groups. Throws FatalError `footer-schema-mismatch` where their columns differ, RangeError without any group. */
export function parquetFooter(dataset: Dataset, groups: readonly SplicedRowGroup[]): Uint8Array {
  const { first, placed, bodiesEnd } = readTails(groups);
  const indexes = createByteSink();
  for (const { group, shiftBytes } of placed) {
    if (group.file_offset !== undefined) group.file_offset += shiftBytes;
    for (const chunk of group.columns) shiftChunk(chunk, shiftBytes);
  }
  for (const append of [appendColumnIndex, appendOffsetIndex])
    for (const rowGroup of placed)
      for (const chunk of rowGroup.group.columns) append(indexes, bodiesEnd, chunk, rowGroup);

  const names = first.schema.slice(1).map((element) => element.name);
  const sortingColumns = SORTED_BY[dataset].map((name) => ({
    column_idx: names.indexOf(name),
    descending: false,
    nulls_first: false,
  }));
  const rowGroups = placed.map(({ group }) => ({ ...group, sorting_columns: sortingColumns }));
  return finishFooter(indexes, first, rowGroups);
}

/** The end of a file without rows: columns as any other day's, and no row group. Follows `PARQUET_MAGIC`. */
export function emptyParquetFooter(of: Parameters<typeof datasetColumns>[0]): Uint8Array {
  const columns = datasetColumns(of);
  const schema = [rootElement(columns), ...columns.map(schemaElement)];
  return finishFooter(createByteSink(), { version: 1, schema }, []);
}

function finishFooter(
  sink: ByteSink,
  { version, schema }: Pick<FileMetaData, 'version' | 'schema'>,
  rowGroups: RowGroup[],
): Uint8Array {
  putFooter(sink, {
    version,
    schema,
    num_rows: rowGroups.reduce((sum, group) => sum + group.num_rows, 0n),
    row_groups: rowGroups,
    key_value_metadata: [{ key: 'vessel_export.format_version', value: String(FORMAT_VERSION) }],
    created_by: CREATED_BY,
  });
  return sink.bytes.subarray(0, sink.at);
}
