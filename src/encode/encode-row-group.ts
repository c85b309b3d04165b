import { FatalError, messageOf } from '../errors.ts';
import type { Arena } from './arrow-stream.ts';
import { MEASUREMENT_COLUMNS } from './columns.ts';
import type { EncodeAnswer, EncodeJob } from './encode-job.ts';
import { sortMeasurements } from './measurement-sort.ts';
import { encodeParquetFile } from './parquet-file.ts';
import { sortTable } from './table-sort.ts';

export { createArena } from './arrow-stream.ts';

/**
 * Sort and encode one row group, in the thread that calls: some 0.3 s per million rows. Loads parquet-wasm and
 * apache-arrow, so only the thread that encodes imports this module. Throws FatalError `encode-failed`.
 */
export function encodeRowGroup(job: EncodeJob, arena: Arena): EncodeAnswer {
  const { gathered, ranks } = job;
  const isMeasurements = job.kind === 'measurements';
  const columns = isMeasurements ? MEASUREMENT_COLUMNS : job.gathered.schema;
  try {
    const { stream, runs } = isMeasurements
      ? sortMeasurements(job.gathered, ranks, arena)
      : sortTable(job.gathered, ranks, arena);
    return { file: encodeParquetFile(stream, columns, gathered.rows), runs, gathered };
  } catch (error) {
    throw new FatalError(
      'encode-failed',
      `A row group of ${gathered.rows} rows could not be encoded: ${messageOf(error)}; nothing was uploaded from it`,
      { cause: error },
    );
  }
}
