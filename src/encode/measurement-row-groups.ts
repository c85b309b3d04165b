import { DataError } from '../errors.ts';
import type { ColumnBatch, SeriesDictionary } from '../model/index.ts';
import { createColumnBatch, JSON_TEXT } from '../model/index.ts';
import type { Encoder } from './encoder.ts';
import type { RowGroupBuilder, RowStore } from './row-group-builder.ts';
import { createRowGroupBuilder } from './row-group-builder.ts';
import { createRanking } from './series-ranks.ts';

export interface MeasurementRowGroupOptions {
  readonly rowGroupRows: number;
  /** What the batches' codes refer to; may grow between batches. */
  readonly dictionary: SeriesDictionary;
  /** Name of a series in the selected domain. Asked once for each series, when a row group is sealed. */
  readonly idOf: (timeSeriesId: string) => string | null;
  readonly encoder: Encoder;
}

/**
 * Builder of the measurements dataset; it takes column batches and keeps rows as one. Appending throws DataError
 * `json-text-too-large` for more JSON text than one row group may hold.
 */
export function createMeasurementRowGroups(
  options: MeasurementRowGroupOptions,
): RowGroupBuilder<ColumnBatch> {
  const ranking = createRanking(options.dictionary.ids, options.idOf);
  const store: RowStore<ColumnBatch, ColumnBatch> = {
    open: createColumnBatch,
    append: copyReadings,
    copy: copyReadings,
    truncate: truncateReadings,
    job(gathered) {
      const ranked = ranking();
      return { job: { kind: 'measurements', gathered, ranks: ranked.ranks }, ranked };
    },
    facts: ({ rows, timestampMicros }) => ({
      rows,
      minMicros: timestampMicros[0],
      maxMicros: timestampMicros[rows - 1],
      // One value a row: two of the three columns are null in each.
      nulls: [{ columns: ['long_value', 'double_value', 'json_value'], count: 2 * rows }],
      readings: rows,
    }),
  };
  return createRowGroupBuilder(store, options.rowGroupRows, options.encoder);
}

/** Entries of the heap are numbered in row order, each row its own: the rows' texts are one run of bytes. */
function copyReadings(to: ColumnBatch, from: ColumnBatch, fromRow: number, toRow: number): void {
  const at = to.rows;
  to.timestampMicros.set(from.timestampMicros.subarray(fromRow, toRow), at);
  to.seriesCodes.set(from.seriesCodes.subarray(fromRow, toRow), at);
  to.kinds.set(from.kinds.subarray(fromRow, toRow), at);
  to.words.set(from.words.subarray(2 * fromRow, 2 * toRow), 2 * at);
  to.rows = at + toRow - fromRow;
  if (from.jsonText.count === 0) return;
  for (let row = at; row < to.rows; row++) {
    if (to.kinds[row] !== JSON_TEXT) continue;
    to.words[2 * row] = addJsonText(to, from, to.words[2 * row]!);
    to.words[2 * row + 1] = 0;
  }
}

/** A row group's texts are held four times while it is encoded. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024;

/** Copy an entry of `from`'s heap; its number in `to`'s. */
function addJsonText(to: ColumnBatch, from: ColumnBatch, entry: number): number {
  const heap = to.jsonText;
  const textFrom = entry === 0 ? 0 : from.jsonText.ends[entry - 1]!;
  const textTo = from.jsonText.ends[entry]!;
  const start = heap.count === 0 ? 0 : heap.ends[heap.count - 1]!;
  const end = start + textTo - textFrom;
  if (end > MAX_TEXT_BYTES)
    throw new DataError(
      'json-text-too-large',
      `got more than ${MAX_TEXT_BYTES} bytes of JSON values in one row group of ${to.rows} rows, expected less, for a row group is held in memory; select fewer series for this job`,
    );
  if (end > heap.bytes.length) {
    const larger = new Uint8Array(Math.max(end, heap.bytes.length * 2, 4096));
    larger.set(heap.bytes.subarray(0, start));
    heap.bytes = larger;
  }
  if (heap.count === heap.ends.length) {
    const larger = new Int32Array(Math.max(256, heap.count * 2));
    larger.set(heap.ends);
    heap.ends = larger;
  }
  const { bytes } = from.jsonText;
  for (let i = textFrom, at = start; i < textTo; i++, at++) heap.bytes[at] = bytes[i]!;
  heap.ends[heap.count] = end;
  return heap.count++;
}

/** Keep the first `count` rows, and the heap up to the last text among them. */
function truncateReadings(rows: ColumnBatch, count: number): void {
  rows.rows = count;
  if (rows.jsonText.count === 0) return;
  let row = count - 1;
  while (row >= 0 && rows.kinds[row] !== JSON_TEXT) row--;
  rows.jsonText.count = row < 0 ? 0 : rows.words[2 * row]! + 1;
}
