import type { ColumnBatch, RunColumns } from '../../core/model/index.ts';
import type { SeriesRanks } from './series-ranks.ts';
import type { RankValues } from './series-values.ts';
import type { Table } from './table.ts';

/**
 * What an encoder is asked and what it answers: plain values and typed arrays, so that a worker thread can
 * have them. The gathered rows go there and come back by transfer, so that their memory is used again; so does that of
 * files: memory that is allocated and given up for each row group is what the C library cannot give back.
 */
export type EncodeJob = MeasurementJob | TableJob;

interface CommonJob {
  readonly ranks: SeriesRanks;
  /** Of the file of an earlier row group, for that of this one. */
  readonly fileMemory?: ArrayBuffer | undefined;
}

export interface MeasurementJob extends CommonJob {
  readonly kind: 'measurements';
  readonly gathered: ColumnBatch;
}

export interface TableJob extends CommonJob {
  readonly kind: 'table';
  readonly gathered: Table;
}

/** `gathered` of the answer replaces that of the job, which a transfer leaves without memory. */
export interface EncodeAnswer<Job extends EncodeJob = EncodeJob> {
  /** A whole Parquet file of one row group, at the begin of memory of its own. */
  readonly file: Uint8Array<ArrayBuffer>;
  readonly runs: RunColumns;
  readonly values: readonly RankValues[];
  readonly gathered: Job['gathered'];
}

/** The memory that goes to another thread with a job. */
export function jobBuffers(job: EncodeJob): ArrayBuffer[] {
  return [...gatheredBuffers(job), ...(job.fileMemory === undefined ? [] : [job.fileMemory])];
}

/** The memory of the gathered rows. */
export function gatheredBuffers({ kind, gathered }: EncodeJob): ArrayBuffer[] {
  const arrays: ArrayBufferView[] =
    kind === 'measurements'
      ? [
          gathered.timestampMicros,
          gathered.seriesCodes,
          gathered.kinds,
          gathered.words,
          gathered.jsonText.bytes,
          gathered.jsonText.ends,
        ]
      : [
          gathered.timestampMicros,
          gathered.seriesCodes,
          ...gathered.columns.flatMap(({ set, words, ends, bytes }) => [set, words, ends, bytes]),
        ];
  return [...new Set(arrays.map((array) => array.buffer as ArrayBuffer))];
}
