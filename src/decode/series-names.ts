/** A metadata snapshot of ours → its series. */
import { ColumnReader, createPageBudget } from './column-reader.ts';
import { MAX_PARQUET_ROWS, readParquetFooter } from './parquet-footer.ts';
import type { ColumnQuestion } from './parquet-schema.ts';
import { textOf } from './parquet-texts.ts';

const COLUMNS = [
  { name: 'time_series_id', kind: 'text' },
  { name: 'id', kind: 'text' },
] as const satisfies readonly ColumnQuestion[];
/** Rows that are read of both columns at a time. */
const STEP_ROWS = 4_096;

/**
 * Time series id → name of every row of an object of metadata, in the same bounded memory as the service's Parquet: the
 * lake may have been written by anybody. Throws DataError `bad-parquet` and `page-too-large`, and TextTroubleError.
 */
export function readSeriesNames(parquet: Uint8Array): Map<string, string | null> {
  const footer = readParquetFooter(parquet, COLUMNS, { maxRows: MAX_PARQUET_ROWS });
  const budget = createPageBudget();
  const readers = footer.columns.map((column) => new ColumnReader(parquet, column, STEP_ROWS, budget));
  const series = new Map<string, string | null>();
  for (const [number, group] of footer.groups.entries()) {
    for (const [index, reader] of readers.entries())
      reader.openChunk(group.chunks[index]!, group.rows, number);
    for (let left = group.rows; left > 0; ) {
      for (const reader of readers) reader.openPage();
      const step = Math.min(left, STEP_ROWS, ...readers.map(({ rowsLeft }) => rowsLeft));
      for (const reader of readers) reader.take(step);
      addRows(series, readers as [ColumnReader, ColumnReader], step);
      left -= step;
    }
  }
  return series;
}

function addRows(
  series: Map<string, string | null>,
  [ids, names]: readonly [ColumnReader, ColumnReader],
  rows: number,
): void {
  let [id, name] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const own = ids.present[row] === 1 ? textOf(ids, id++) : '';
    series.set(own, names.present[row] === 1 ? textOf(names, name++) : null);
  }
}
