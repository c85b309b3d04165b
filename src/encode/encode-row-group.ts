import { FatalError, messageOf } from '../errors.ts';
import type { Arena } from './arrow-stream.ts';
import { type Column, MEASUREMENT_COLUMNS, MEASUREMENT_VALUES } from './columns.ts';
import type { EncodeAnswer, EncodeJob, MeasurementJob, TableJob } from './encode-job.ts';
import { insertColumns } from './insert-columns.ts';
import { sortMeasurements } from './measurement-sort.ts';
import { encodeParquetFile } from './parquet-file.ts';
import { encodeSeriesChunk, type TextRun } from './series-chunk.ts';
import type { SeriesRanks } from './series-ranks.ts';
import { sortTable } from './table-sort.ts';

export { createArena } from './arrow-stream.ts';

/**
 * Sort and encode one row group, in the thread that calls: some 0.2 s per million rows. Loads parquet-wasm and
 * apache-arrow, so only the thread that encodes imports this module. Throws FatalError `encode-failed`.
 */
export function encodeRowGroup(job: EncodeJob, arena: Arena): EncodeAnswer {
  try {
    return job.kind === 'measurements' ? encodeMeasurements(job, arena) : encodeTable(job, arena);
  } catch (error) {
    throw new FatalError(
      'encode-failed',
      `A row group of ${job.gathered.rows} rows could not be encoded: ${messageOf(error)}; nothing was uploaded from it`,
      { cause: error },
    );
  }
}

function encodeMeasurements({ gathered, ranks }: MeasurementJob, arena: Arena): EncodeAnswer {
  const { stream, runs, rowsOfRank, values } = sortMeasurements(gathered, ranks, arena);
  const encoded = encodeParquetFile(stream, MEASUREMENT_VALUES, gathered.rows);
  const inserted = MEASUREMENT_COLUMNS.filter(({ type }) => type === 'series').map((column) => ({
    column,
    encoded: encodeSeriesChunk(column, textRuns(column, ranks, rowsOfRank)),
  }));
  return { file: insertColumns(encoded, inserted, MEASUREMENT_COLUMNS), runs, values, gathered };
}

function encodeTable({ gathered, ranks }: TableJob, arena: Arena): EncodeAnswer {
  const { stream, runs, values } = sortTable(gathered, ranks, arena);
  return { file: encodeParquetFile(stream, gathered.schema, gathered.rows), runs, values, gathered };
}

/** The runs of a series column: ids, which every series has, or names. */
function textRuns(column: Column, ranks: SeriesRanks, rowsOfRank: Int32Array): TextRun[] {
  const { bytes, ends } = column.required ? ranks.ids : ranks.names;
  const runs: TextRun[] = [];
  for (const [rank, rows] of rowsOfRank.entries()) {
    if (rows === 0) continue;
    if (rank >= ends.length)
      throw new RangeError(`got rows of series ${rank}, expected fewer than ${ends.length} series`);
    const hasText = column.required || ranks.named[rank] === 1;
    runs.push({ text: hasText ? bytes.subarray(ends[rank - 1] ?? 0, ends[rank]) : null, rows });
  }
  return runs;
}
