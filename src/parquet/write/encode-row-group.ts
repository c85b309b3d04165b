import { FatalError, messageOf } from '../../core/errors.ts';
import { DOUBLE, JSON_TEXT, jsonTextAt, LONG, NO_RUNS } from '../../core/model/index.ts';
import { beginFile, endFile, type PlacedChunk } from './column-chunk.ts';
import { type Column, MEASUREMENT_COLUMNS, TIMESTAMP } from './columns.ts';
import type { EncodeAnswer, EncodeJob, MeasurementJob, TableJob } from './encode-job.ts';
import { createSortScratch, sortMeasurements } from './measurement-sort.ts';
import { type ColumnValues, doubleValues, longValues, microsValues, textValues } from './page-values.ts';
import { createKindRuns, type KindRuns, pagesBySeries, pagesOf, startRun } from './pages.ts';
import { appendSeriesChunk, type TextRun } from './series-chunk.ts';
import type { SeriesRanks } from './series-ranks.ts';
import { findRuns } from './series-runs.ts';
import { type OrderedColumn, readingValues, windowValues } from './series-values.ts';
import { inOrder, sortTable, type TableColumn } from './table.ts';
import { appendValueChunk, createEncodeScratch } from './value-chunk.ts';

/** Memory for one row group at a time, used again for the next. */
export interface Arena {
  readonly sort: ReturnType<typeof createSortScratch>;
  readonly encode: ReturnType<typeof createEncodeScratch>;
}

export function createArena(): Arena {
  return { sort: createSortScratch(), encode: createEncodeScratch() };
}

/** Sort and encode one row group in the calling thread: some 0.1 s per million rows. Throws FatalError `encode-failed`. */
export function encodeRowGroup(job: EncodeJob, arena: Arena): EncodeAnswer {
  try {
    return job.kind === 'measurements' ? encodeMeasurements(job, arena) : encodeTable(job, arena);
  } catch (error) {
    const found = `A row group of ${job.gathered.rows} rows could not be encoded: ${messageOf(error)}`;
    throw new FatalError('encode-failed', `${found}; nothing was uploaded from it`, { cause: error });
  }
}

const KIND_OF: Readonly<Record<string, number>> = {
  long_value: LONG,
  double_value: DOUBLE,
  json_value: JSON_TEXT,
};

function encodeMeasurements(job: MeasurementJob, { sort, encode }: Arena): EncodeAnswer {
  const { gathered, ranks } = job;
  const sorted = sortMeasurements(gathered, ranks.rankOfCode, sort);
  const { rows, micros, cells, first, kinds } = sorted;
  const { jsonText } = gathered;
  const texts = { ...jsonText, entries: cells, stride: 2 };
  const valuesOf: Readonly<Record<string, () => ColumnValues>> = {
    long_value: () => longValues(cells),
    double_value: () => doubleValues(cells),
    json_value: () => textValues(texts),
  };
  beginFile(encode.file);
  const chunks = MEASUREMENT_COLUMNS.map((column): PlacedChunk => {
    const { name } = column;
    if (name === TIMESTAMP)
      return appendValueChunk(encode, column, pagesBySeries(first), microsValues(micros));
    if (column.type === 'series')
      return appendSeriesChunk(encode.file, column, textRuns(column, ranks, first));
    return appendValueChunk(encode, column, pagesBySeries(first, kinds, KIND_OF[name]), valuesOf[name]!());
  });
  const jsonAt = (row: number) => Buffer.from(jsonTextAt(jsonText, cells[2 * row]!)).toString();
  return {
    file: endFile(encode.file, rows, MEASUREMENT_COLUMNS, chunks),
    runs: findRuns(first, micros),
    values: readingValues(sorted, jsonAt),
    gathered,
  };
}

/** The kind of rows with a value, in a column of a table. */
const SET = 1;

function encodeTable(job: TableJob, { encode }: Arena): EncodeAnswer {
  const { gathered, ranks } = job;
  const { rows, schema } = gathered;
  const { order, first, micros } = sortTable(gathered, ranks);
  const columnOf = new Map(gathered.columns.map((column) => [column.column.name, column]));
  const ordered = new Map<string, OrderedColumn>();
  beginFile(encode.file);
  const chunks = schema.map((column): PlacedChunk => {
    if (column.type === 'series')
      return appendSeriesChunk(encode.file, column, textRuns(column, ranks, first));
    const source = columnOf.get(column.name);
    if (source === undefined) return appendValueChunk(encode, column, pagesOf(rows), microsValues(micros!));
    const own = inOrder(source, order);
    ordered.set(column.name, own);
    const pages = pagesOf(rows, setRuns(own.set), SET);
    return appendValueChunk(encode, column, pages, tableValues(source, own, order));
  });
  return {
    file: endFile(encode.file, rows, schema, chunks),
    runs: micros === undefined ? NO_RUNS : findRuns(first, micros, ordered.get('count')?.cells),
    values: micros === undefined ? [] : windowValues(first, ordered),
    gathered,
  };
}

function tableValues({ column, bytes, ends }: TableColumn, { cells }: OrderedColumn, order: Int32Array) {
  if (column.type === 'text') return textValues({ bytes, ends, entries: order, stride: 1 });
  return column.type === 'double' ? doubleValues(cells) : longValues(cells);
}

function setRuns(set: Uint8Array): KindRuns {
  const runs = createKindRuns();
  for (let row = 0; row < set.length; row++) startRun(runs, row, set[row]!);
  runs.rows = set.length;
  return runs;
}

/** The runs of a series column: ids, which every series has, or names. `first`: the first row of each rank. */
function textRuns(column: Column, ranks: SeriesRanks, first: Int32Array): TextRun[] {
  const { bytes, ends } = column.required ? ranks.ids : ranks.names;
  const runs: TextRun[] = [];
  for (let rank = 0; rank + 1 < first.length; rank++) {
    const rows = first[rank + 1]! - first[rank]!;
    if (rows === 0) continue;
    if (rank >= ends.length)
      throw new RangeError(`got rows of series ${rank}, expected fewer than ${ends.length} series`);
    const hasText = column.required || ranks.named[rank] === 1;
    runs.push({ text: hasText ? bytes.subarray(ends[rank - 1] ?? 0, ends[rank]) : null, rows });
  }
  return runs;
}
