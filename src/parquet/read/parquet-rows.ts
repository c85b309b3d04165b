/** An object of ours that is small → its rows, a few columns of them. */
import { ColumnReader, createPageBudget } from './column-reader.ts';
import { MAX_PARQUET_ROWS, readParquetFooter } from './parquet-footer.ts';
import type { ColumnQuestion } from './parquet-schema.ts';
import { textOf } from './parquet-texts.ts';

/** Rows that are read of all columns at a time. */
const STEP_ROWS = 4_096;

type RowColumn = ColumnQuestion & { readonly kind: 'text' | 'double' };
type RowCell = string | number | null;

/**
 * Call `onRow` for each row with the cells of the columns that are asked for, in the same bounded memory as the service's
 * Parquet: the lake may have been written by anybody. Throws DataError `bad-parquet`, `body-damaged` and `page-too-large`, and
 * TextTroubleError.
 */
export function readParquetRows(
  parquet: Uint8Array,
  columns: readonly RowColumn[],
  onRow: (cells: readonly RowCell[]) => void,
): void {
  const footer = readParquetFooter(parquet, columns, { maxRows: MAX_PARQUET_ROWS });
  const budget = createPageBudget();
  const readers = footer.columns.map((column) => new ColumnReader(parquet, column, STEP_ROWS, budget));
  for (const [number, group] of footer.groups.entries()) {
    for (const [index, reader] of readers.entries())
      reader.openChunk(group.chunks[index]!, group.rows, number);
    for (let left = group.rows; left > 0; ) {
      for (const reader of readers) reader.openPage();
      const step = Math.min(left, STEP_ROWS, ...readers.map(({ rowsLeft }) => rowsLeft));
      for (const reader of readers) reader.take(step);
      giveRows(readers, step, onRow);
      left -= step;
    }
  }
}

function giveRows(
  readers: readonly ColumnReader[],
  rows: number,
  onRow: (cells: readonly RowCell[]) => void,
): void {
  // Of each reader: how many of the values that it has taken are used.
  const used = readers.map(() => 0);
  const doubles = readers.map(({ words }) => new Float64Array(words.buffer, 0, words.length >> 1));
  for (let row = 0; row < rows; row++)
    onRow(
      readers.map((reader, index) => {
        if (reader.present[row] !== 1) return null;
        const value = used[index]!++;
        return reader.column.kind === 'text' ? textOf(reader, value) : doubles[index]![value]!;
      }),
    );
}
