import type { ColumnBatch, RunColumns } from '../../core/model/index.ts';
import type { SeriesRanks } from './series-ranks.ts';
import type { RankValues } from './series-values.ts';
import type { Table } from './table.ts';

/** What an encoder is asked. The gathered rows go to a thread and come back by transfer, so that their memory is used again. */
export type EncodeJob = MeasurementJob | TableJob;

export interface MeasurementJob {
  readonly kind: 'measurements';
  readonly gathered: ColumnBatch;
  readonly ranks: SeriesRanks;
}

export interface TableJob extends Pick<MeasurementJob, 'ranks'> {
  readonly kind: 'table';
  readonly gathered: Table;
}

/** `gathered` of the answer replaces that of the job, which a transfer leaves without memory. */
export interface EncodeAnswer<Job extends EncodeJob = EncodeJob> {
  /** A whole Parquet file of one row group, in memory of its own. */
  readonly file: Uint8Array<ArrayBuffer>;
  readonly runs: RunColumns;
  readonly values: readonly RankValues[];
  readonly gathered: Job['gathered'];
}

export function gatheredBuffers({ kind, gathered }: EncodeJob): ArrayBuffer[] {
  const { timestampMicros, seriesCodes } = gathered;
  const own: ArrayBufferView[] =
    kind === 'measurements'
      ? [gathered.kinds, gathered.words, gathered.jsonText.bytes, gathered.jsonText.ends]
      : gathered.columns.flatMap(({ set, words, ends, bytes }) => [set, words, ends, bytes]);
  return [...new Set([timestampMicros, seriesCodes, ...own].map(({ buffer }) => buffer as ArrayBuffer))];
}

/** The memory that came back, in the objects that were sent: those of another thread have a shape of their own, for which code is compiled again. */
export function takeBack(job: EncodeJob, gathered: EncodeJob['gathered']): void {
  if (job.kind === 'table') Object.assign(job.gathered, gathered);
  else {
    const { jsonText, ...arrays } = gathered as ColumnBatch;
    Object.assign(job.gathered, arrays);
    Object.assign(job.gathered.jsonText, jsonText);
  }
}
