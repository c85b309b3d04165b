import { TIMESTAMP } from './columns.ts';
import type { SeriesRanks } from './series-ranks.ts';
import type { OrderedColumn } from './series-values.ts';
import type { Table, TableColumn } from './table.ts';
import { textAt } from './table.ts';

/**
 * Table rows in order of (time_series_id, timestamp). Rows that are equal in both are put in order of their values, column
 * by column, so that the result depends on the multiset of rows alone.
 */
interface SortedTable {
  /** The row of the table at each place. */
  readonly order: Int32Array;
  /** The first row of each rank and, in the end, the number of rows. */
  readonly first: Int32Array;
  /** Undefined for rows without a time. */
  readonly micros: Float64Array | undefined;
}

/** Sort the table's rows. */
export function sortTable(table: Table, { rankOfCode }: SeriesRanks): SortedTable {
  const { rows, seriesCodes, timestampMicros } = table;
  const order = sortedRows(table, rankOfCode);
  const ranks = rankOfCode.length === 0 ? 0 : Math.max(...rankOfCode) + 1;
  const first = new Int32Array(ranks + 1);
  for (let row = 0; row < rows; row++) first[rankOfCode[seriesCodes[row]!]! + 1]!++;
  for (let rank = 0; rank < ranks; rank++) first[rank + 1]! += first[rank]!;
  const isTimed = table.schema.some(({ name }) => name === TIMESTAMP);
  return {
    order,
    first,
    micros: isTimed ? Float64Array.from(order, (row) => timestampMicros[row]!) : undefined,
  };
}

/** A column's cells and nulls in the order of the sorted rows; of a text only the nulls. */
export function inOrder({ words, set }: TableColumn, order: Int32Array): OrderedColumn {
  const ordered = {
    cells: new Int32Array(words.length === 0 ? 0 : 2 * order.length),
    set: new Uint8Array(order.length),
  };
  for (let at = 0; at < order.length; at++) {
    const row = order[at]!;
    ordered.set[at] = set[row]!;
    if (words.length === 0) continue;
    ordered.cells[2 * at] = words[2 * row]!;
    ordered.cells[2 * at + 1] = words[2 * row + 1]!;
  }
  return ordered;
}

function compareValues(values: TableColumn, a: number, b: number): number {
  const { column, set, words } = values;
  const bySet = set[b]! - set[a]!;
  if (bySet !== 0 || set[a] === 0) return bySet;
  if (column.type === 'text') return Buffer.compare(textAt(values, a), textAt(values, b));
  return words[2 * a + 1]! - words[2 * b + 1]! || (words[2 * a]! >>> 0) - (words[2 * b]! >>> 0);
}

function sortedRows(table: Table, rankOfCode: Int32Array): Int32Array {
  const { rows, seriesCodes, timestampMicros, columns } = table;
  const order = Int32Array.from({ length: rows }, (_, row) => row);
  return order.sort((a, b) => {
    const bySeries = rankOfCode[seriesCodes[a]!]! - rankOfCode[seriesCodes[b]!]!;
    if (bySeries !== 0) return bySeries;
    const byTime = timestampMicros[a]! - timestampMicros[b]!;
    if (byTime !== 0) return byTime;
    for (const column of columns) {
      const byValue = compareValues(column, a, b);
      if (byValue !== 0) return byValue;
    }
    return 0;
  });
}
