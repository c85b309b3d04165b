/**
 * Measurements as one Parquet file, sent row group by row group: memory is bounded by one, and by some hundred bytes of
 * each that was sent. A file ends with what it holds, so its reader needs all of it; that is the format's nature.
 */
import type { TimeRange } from '../../core/model/index.ts';
import type { DataSource } from '../data/source.ts';
import type { SelectedSeries } from '../query/selection.ts';
import type { Work } from '../turns.ts';
import { STEPS_PER_LOOK } from '../turns.ts';
import { RowGroupColumns } from './parquet-columns.ts';
import { PARQUET_MAGIC, ParquetFooter } from './parquet-footer.ts';

/** Body of a Parquet answer, in pieces. Times are milliseconds, rounded down. */
export async function* parquetBody(
  source: DataSource,
  series: readonly SelectedSeries[],
  range: TimeRange,
  work: Work,
): AsyncGenerator<Uint8Array> {
  const columns = new RowGroupColumns(series.map(({ id }) => id));
  const footer = new ParquetFooter();
  yield PARQUET_MAGIC;
  const records = series.map(({ record }) => record);
  for await (const { batch } of source.read(records, range, { values: true, interleaved: true }, work))
    for (let row = 0; row < batch.rows; ) {
      if (work.isDue()) await work.pause();
      row = columns.add(batch, row, STEPS_PER_LOOK);
      if (columns.isFull) yield* rowGroup(columns, footer, work);
    }
  if (columns.rows > 0) yield* rowGroup(columns, footer, work);
  yield* footer.pieces();
}

async function* rowGroup(
  columns: RowGroupColumns,
  footer: ParquetFooter,
  work: Work,
): AsyncGenerator<Uint8Array> {
  const encoded = await columns.seal(work);
  footer.add(encoded);
  for (const { pages } of encoded) yield* pages;
}
