import type { FileMetaData } from 'hyparquet';
import { parquetMetadata } from 'hyparquet/src/metadata.js';
import { FatalError, messageOf } from '../../core/errors.ts';
import { CREATED_BY } from './columns.ts';
import { PARQUET_MAGIC } from './parquet-thrift.ts';

/**
 * A Parquet file of one row group in two: the *body* (its column chunks) and the *tail* (page indexes, footer, its length, magic), kept until
 * the footer of the whole file is written. Offsets in a tail count from the start of the one-group file.
 */

export const MAGIC_BYTES = 4;
const LENGTH_BYTES = 4;

function isMagic(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes, PARQUET_MAGIC) === 0;
}

/** Metadata at the end of a file or tail. Statistics stay exact: microseconds in a bigint, strings as bytes. */
export function readMetadata(bytes: Uint8Array): FileMetaData {
  return parquetMetadata(bytes, {
    geoparquet: false,
    parsers: { stringFromBytes: (text) => text, timestampFromMicroseconds: (micros) => micros },
  });
}

/** First byte after the column chunks: that of the first page index, or of the footer where there is none. */
function bodyEnd(metadata: FileMetaData, fileBytes: number): number {
  const indexes = metadata.row_groups
    .flatMap((group) => group.columns)
    .flatMap((chunk) => [chunk.column_index_offset, chunk.offset_index_offset])
    .filter((offset) => offset !== undefined);
  const footerAt = fileBytes - MAGIC_BYTES - LENGTH_BYTES - metadata.metadata_length;
  return Math.min(footerAt, ...indexes.map(Number));
}

/** Split a one-group file; `metadata` is the tail's. Throws FatalError `encode-check-failed` if it is no whole Parquet file. */
export function splitParquetFile(file: Uint8Array): {
  body: Uint8Array;
  tail: Uint8Array;
  metadata: FileMetaData;
} {
  const isFramed =
    file.length > 2 * MAGIC_BYTES + LENGTH_BYTES &&
    isMagic(file.subarray(0, MAGIC_BYTES)) &&
    isMagic(file.subarray(-MAGIC_BYTES));
  try {
    if (!isFramed) throw new Error('it does not begin and end with PAR1');
    const metadata = readMetadata(file);
    const end = bodyEnd(metadata, file.length);
    // A copy, so that the tail can be kept when the body is uploaded and forgotten.
    return { body: file.subarray(MAGIC_BYTES, end), tail: file.slice(end), metadata };
  } catch (error) {
    throw checkFailed(`, ${file.length} bytes, is no whole Parquet file: ${messageOf(error)}`, error);
  }
}

function checkFailed(found: string, cause?: unknown): FatalError {
  const advice = 'nothing was uploaded from it. This is a defect of vessel-export: report it';
  return new FatalError('encode-check-failed', `The encoded row group${found}; ${advice}`, { cause });
}

/** What is known of the gathered rows, from before they were sorted and encoded. */
export interface RowFacts {
  readonly rows: number;
  /** Undefined for rows without a time. */
  readonly minMicros: number | undefined;
  readonly maxMicros: number | undefined;
  /** Nulls that columns must have, together. */
  readonly nulls: readonly { readonly columns: readonly string[]; readonly count: number }[];
  /** Readings in all series and hours together; undefined where none are counted. */
  readonly readings: number | undefined;
}

/** Compare what an encoded row group says of itself with what was gathered. Throws FatalError `encode-check-failed`. */
export function checkRowGroup(
  { body, tail }: { body: Uint8Array; tail: Uint8Array },
  facts: RowFacts,
  readings: number,
): void {
  const { row_groups: groups, num_rows: fileRows, created_by: createdBy } = readMetadata(tail);
  expectEqual('row groups', groups.length, 1);
  expectEqual('rows in the footer', Number(fileRows), facts.rows);
  expectEqual('rows in the row group', Number(groups[0]?.num_rows), facts.rows);
  expectEqual('the name of the writer', createdBy ?? 'none', CREATED_BY);
  const chunks = groups[0]!.columns.map(({ meta_data: meta }) => meta);
  const chunkBytes = chunks.reduce((sum, chunk) => sum + Number(chunk?.total_compressed_size), 0);
  expectEqual('bytes of column chunks', chunkBytes, body.length);
  const statistics = new Map(
    chunks.map((chunk) => [chunk?.path_in_schema.join('.') ?? '', chunk?.statistics]),
  );
  if (facts.minMicros !== undefined && facts.maxMicros !== undefined) {
    const timestamps = statistics.get('timestamp');
    expectEqual('the smallest timestamp', Number(timestamps?.min_value), facts.minMicros);
    expectEqual('the largest timestamp', Number(timestamps?.max_value), facts.maxMicros);
  }
  for (const { columns, count } of facts.nulls) {
    const found = columns.reduce((sum, name) => sum + Number(statistics.get(name)?.null_count), 0);
    expectEqual(`nulls in ${columns.join(', ')}`, found, count);
  }
  if (facts.readings !== undefined) expectEqual('readings by series and hour', readings, facts.readings);
}

function expectEqual(what: string, found: number | string, expected: number | string): void {
  if (found !== expected) throw checkFailed(`, read back: ${what}: got ${found}, expected ${expected}`);
}
