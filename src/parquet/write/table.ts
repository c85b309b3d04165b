import { type Column, TIMESTAMP } from './columns.ts';
import type { SeriesRanks } from './series-ranks.ts';
import type { OrderedColumn } from './series-values.ts';

/** Rows of the smaller datasets in order of arrival: a value or none per row and column, beside time and series. */
export interface Table {
  rows: number;
  /** All columns of the dataset, in its order. Without `timestamp` for metadata, whose rows have no time. */
  readonly schema: readonly Column[];
  readonly timestampMicros: Float64Array;
  readonly seriesCodes: Int32Array;
  /** All columns but `timestamp`, `time_series_id` and `id`. */
  readonly columns: readonly TableColumn[];
}

export interface TableColumn {
  readonly column: Column;
  /** 1 where the row has a value. */
  readonly set: Uint8Array;
  /** timestamp, long, double: two little-endian words a row. */
  readonly words: Int32Array;
  /** text: where each row's text ends in `bytes`. */
  readonly ends: Int32Array;
  bytes: Uint8Array;
}

export type TableValue = number | bigint | string | null;

const encoder = new TextEncoder();
const cell = new DataView(new ArrayBuffer(8));

export function createTable(schema: readonly Column[], capacity: number): Table {
  const own = schema.filter(({ name, type }) => type !== 'series' && name !== TIMESTAMP);
  return {
    rows: 0,
    schema,
    timestampMicros: new Float64Array(capacity),
    seriesCodes: new Int32Array(capacity),
    columns: own.map((column) => ({
      column,
      set: new Uint8Array(capacity),
      words: new Int32Array(column.type === 'text' ? 0 : capacity * 2),
      ends: new Int32Array(column.type === 'text' ? capacity : 0),
      bytes: new Uint8Array(0),
    })),
  };
}

/** Bytes of the texts of a column's first `rows` rows; 0 where the column is none of text. */
export function textBytes(column: TableColumn, rows: number): number {
  return rows === 0 ? 0 : (column.ends[rows - 1] ?? 0);
}

function appendText(column: TableColumn, row: number, text: Uint8Array): void {
  const from = textBytes(column, row);
  const to = from + text.length;
  if (to > column.bytes.length) {
    const larger = new Uint8Array(Math.max(to, column.bytes.length * 2, 1024));
    larger.set(column.bytes.subarray(0, from));
    column.bytes = larger;
  }
  column.bytes.set(text, from);
  column.ends[row] = to;
}

const NO_TEXT = new Uint8Array(0);

/** Put a value into the row after the column's last one. Long: exact to 64 bits. */
export function setValue(column: TableColumn, row: number, value: TableValue): void {
  column.set[row] = value === null ? 0 : 1;
  const { type } = column.column;
  if (type === 'text') {
    appendText(column, row, value === null ? NO_TEXT : encoder.encode(String(value)));
    return;
  }
  if (value === null) {
    column.words.fill(0, 2 * row, 2 * row + 2);
    return;
  }
  if (type === 'double') cell.setFloat64(0, Number(value), true);
  else cell.setBigInt64(0, BigInt(value), true);
  column.words[2 * row] = cell.getInt32(0, true);
  column.words[2 * row + 1] = cell.getInt32(4, true);
}

/** Copy rows `[fromRow, toRow)` behind the rows of `to`, which has room for them. */
export function copyTableRows(to: Table, from: Table, fromRow: number, toRow: number): void {
  const at = to.rows;
  to.timestampMicros.set(from.timestampMicros.subarray(fromRow, toRow), at);
  to.seriesCodes.set(from.seriesCodes.subarray(fromRow, toRow), at);
  for (const [i, source] of from.columns.entries()) {
    const target = to.columns[i]!;
    target.set.set(source.set.subarray(fromRow, toRow), at);
    if (source.column.type !== 'text') {
      target.words.set(source.words.subarray(2 * fromRow, 2 * toRow), 2 * at);
      continue;
    }
    for (let row = fromRow; row < toRow; row++) appendText(target, at + row - fromRow, textAt(source, row));
  }
  to.rows += toRow - fromRow;
}

export function textAt(column: TableColumn, row: number): Uint8Array {
  return column.bytes.subarray(textBytes(column, row), column.ends[row]);
}

export function tableNulls({ columns, rows }: Table): { columns: string[]; count: number }[] {
  return columns.map(({ column, set }) => ({
    columns: [column.name],
    count: set.subarray(0, rows).reduce((nulls, isSet) => nulls + 1 - isSet, 0),
  }));
}

/** Rows in order of series, time and their values, so that it depends on the multiset alone; `first`: the first row of each rank, and all. */
export function sortTable(table: Table, { rankOfCode }: SeriesRanks) {
  const { rows, seriesCodes, timestampMicros } = table;
  const order = sortedRows(table, rankOfCode);
  const ranks = rankOfCode.reduce((most, rank) => Math.max(most, rank + 1), 0);
  const first = new Int32Array(ranks + 1);
  for (let row = 0; row < rows; row++) first[rankOfCode[seriesCodes[row]!]! + 1]!++;
  for (let rank = 0; rank < ranks; rank++) first[rank + 1]! += first[rank]!;
  const isTimed = table.schema.some(({ name }) => name === TIMESTAMP);
  const micros = isTimed ? Float64Array.from(order, (row) => timestampMicros[row]!) : undefined;
  return { order, first, micros };
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
