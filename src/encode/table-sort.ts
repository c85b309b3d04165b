import type { Arena, ColumnBuffers } from './arrow-stream.ts';
import { openArrowStream } from './arrow-stream.ts';
import { TIMESTAMP } from './columns.ts';
import type { SeriesRanks } from './series-ranks.ts';
import { countNameless, markNamed } from './series-ranks.ts';
import type { RunColumns } from './series-runs.ts';
import { findRuns } from './series-runs.ts';
import type { RankValues } from './series-values.ts';
import { windowValues } from './series-values.ts';
import type { Table, TableColumn } from './table.ts';
import { countNulls, textAt, textBytes } from './table.ts';

/**
 * Table rows → Arrow columns in order of (time_series_id, timestamp). Rows that are equal in both are put in
 * order of their values, column by column, so that the result depends on the multiset of rows alone.
 */
interface SortedTable {
  readonly stream: Uint8Array;
  readonly runs: RunColumns;
  readonly values: readonly RankValues[];
}

const TWO_32 = 2 ** 32;
const NO_RUNS: RunColumns = { ranks: [], counts: [], firstMicros: [], lastMicros: [] };

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

function fillTimestamps(table: Table, order: Int32Array, cells: Int32Array): void {
  for (let at = 0; at < order.length; at++) {
    const micros = table.timestampMicros[order[at]!]!;
    cells[2 * at] = micros | 0;
    cells[2 * at + 1] = Math.floor(micros / TWO_32);
  }
}

function fillValues(values: TableColumn, order: Int32Array, to: ColumnBuffers): void {
  const isText = values.column.type === 'text';
  let end = 0;
  if (isText) to.cells[0] = 0;
  for (let at = 0; at < order.length; at++) {
    const row = order[at]!;
    if (values.set[row] === 1) to.validity[at >> 3]! |= 1 << (at & 7);
    if (isText) {
      const text = textAt(values, row);
      to.text.set(text, end);
      end += text.length;
      to.cells[at + 1] = end;
    } else {
      to.cells[2 * at] = values.words[2 * row]!;
      to.cells[2 * at + 1] = values.words[2 * row + 1]!;
    }
  }
}

/** Sort the table's rows into an Arrow stream in the arena. Runs are of timed rows, from the column `count`. */
export function sortTable(table: Table, ranks: SeriesRanks, arena: Arena): SortedTable {
  const { rows, schema } = table;
  const valuesOf = new Map(table.columns.map((values) => [values.column.name, values]));
  const layouts = schema.map((column) => {
    const values = valuesOf.get(column.name);
    if (values !== undefined)
      return { column, nullCount: countNulls(values, rows), textBytes: textBytes(values, rows) };
    if (column.type !== 'series') return { column, nullCount: 0 };
    if (column.required) return { column, nullCount: 0, dictionary: ranks.ids };
    return { column, nullCount: countNameless(table.seriesCodes, rows, ranks), dictionary: ranks.names };
  });
  const { columns, bytes } = openArrowStream(arena, layouts, rows);
  const order = sortedRows(table, ranks.rankOfCode);
  let index: Int32Array = new Int32Array(0);
  let timestamps: Int32Array | undefined;
  const filled = new Map<string, ColumnBuffers>();
  for (const [i, column] of schema.entries()) {
    const to = columns[i]!;
    const values = valuesOf.get(column.name);
    if (values !== undefined) {
      fillValues(values, order, to);
      filled.set(column.name, to);
    } else if (column.name === TIMESTAMP) {
      fillTimestamps(table, order, to.cells);
      timestamps = to.cells;
    } else if (column.required) {
      index = to.cells;
      for (let at = 0; at < rows; at++) index[at] = ranks.rankOfCode[table.seriesCodes[order[at]!]!]!;
    } else markNamed(to.validity, index, rows, ranks.named);
  }
  if (timestamps === undefined) return { stream: bytes, runs: NO_RUNS, values: [] };
  return {
    stream: bytes,
    runs: findRuns(index, timestamps, rows, filled.get('count')?.cells),
    values: windowValues(index, rows, filled),
  };
}
