import { DataError } from '../../core/errors.ts';
import type { ColumnBatch, SeriesDictionary } from '../../core/model/index.ts';
import { appendJsonTexts, createColumnBatch, JSON_TEXT, jsonTextBytes } from '../../core/model/index.ts';
import type { Encoder } from './encoder.ts';
import type { RowGroupBuilder, RowGroupSize, RowStore } from './row-group-builder.ts';
import { createRowGroupBuilder } from './row-group-builder.ts';
import { createRanking } from './series-ranks.ts';

interface MeasurementRowGroupOptions extends RowGroupSize {
  /** What the batches' codes refer to; may grow between batches. */
  readonly dictionary: SeriesDictionary;
  /** Name of a series in the selected domain. Asked once for each series, when a row group is sealed. */
  readonly idOf: (timeSeriesId: string) => string | null;
  readonly encoder: Encoder;
}

/** Builder of the measurements dataset. Appending throws DataError `json-text-too-large` too. */
export function createMeasurementRowGroups(
  options: MeasurementRowGroupOptions,
): RowGroupBuilder<ColumnBatch> {
  const ranking = createRanking(options.dictionary.ids, options.idOf);
  const store: RowStore<ColumnBatch, ColumnBatch> = {
    open: createColumnBatch,
    append: copyReadings,
    copy: copyReadings,
    rowsOfText,
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
  return createRowGroupBuilder(store, options, options.encoder);
}

/** Entries of the heap are numbered in row order, each row its own: the rows' texts are one run of bytes. */
function copyReadings(to: ColumnBatch, from: ColumnBatch, fromRow: number, toRow: number): void {
  const at = to.rows;
  to.timestampMicros.set(from.timestampMicros.subarray(fromRow, toRow), at);
  to.seriesCodes.set(from.seriesCodes.subarray(fromRow, toRow), at);
  to.kinds.set(from.kinds.subarray(fromRow, toRow), at);
  to.words.set(from.words.subarray(2 * fromRow, 2 * toRow), 2 * at);
  to.rows = at + toRow - fromRow;
  if (from.jsonText.count > 0) copyJsonTexts(to, from, at);
}

/** Only a single timestamp can come to as much: what the encoder's memory of 4 GiB holds with its copies. */
const MAX_TEXT_BYTES = 1024 * 1024 * 1024;

/** The texts of the rows from `at` on, whose cells are still those of `from`'s heap: a run of its entries. */
function copyJsonTexts(to: ColumnBatch, from: ColumnBatch, at: number): void {
  const { kinds, words, rows, jsonText } = to;
  const firstRow = kinds.subarray(at, rows).indexOf(JSON_TEXT);
  if (firstRow === -1) return;
  const first = words[2 * (at + firstRow)]!;
  const shift = jsonText.count - first;
  let next = first;
  for (let row = at + firstRow; row < rows; row++) {
    if (kinds[row] !== JSON_TEXT) continue;
    if (words[2 * row] !== next) throw new RangeError(`got entry ${words[2 * row]}, expected ${next}`);
    words[2 * row] = next++ + shift;
    words[2 * row + 1] = 0;
  }
  const textBytes = jsonTextBytes(from.jsonText, next) - jsonTextBytes(from.jsonText, first);
  if (jsonTextBytes(jsonText) + textBytes > MAX_TEXT_BYTES)
    throw new DataError(
      'json-text-too-large',
      `got more than ${MAX_TEXT_BYTES} bytes of JSON values at one timestamp, in ${to.rows} rows, expected less, for a row group never ends within a timestamp; select fewer series for this job`,
    );
  appendJsonTexts(jsonText, from.jsonText, first, next);
}

function rowsOfText({ rows, kinds, words, jsonText }: ColumnBatch, bytes: number): number {
  if (jsonTextBytes(jsonText) < bytes) return Number.POSITIVE_INFINITY;
  // Entries are in row order, and those of the rows alone.
  let row = 0;
  while (row < rows && (kinds[row] !== JSON_TEXT || jsonText.ends[words[2 * row]!]! < bytes)) row++;
  return row + 1;
}

/** Keep the first `count` rows, and the heap up to the last text among them. */
function truncateReadings(rows: ColumnBatch, count: number): void {
  rows.rows = count;
  if (rows.jsonText.count === 0) return;
  let row = count - 1;
  while (row >= 0 && rows.kinds[row] !== JSON_TEXT) row--;
  rows.jsonText.count = row < 0 ? 0 : rows.words[2 * row]! + 1;
}
