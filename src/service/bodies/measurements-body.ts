/** Measurements as JSON text, or as a Parquet file, row group by row group: one of these is in memory, and some hundred bytes of each that was sent. */
import type { ColumnBatch, TimeRange } from '../../core/model/index.ts';
import { JSON_TEXT, jsonTextAt, LONG, MICROS_PER_MILLI } from '../../core/model/index.ts';
import { PARQUET_MAGIC, PlainFile, type SchemaElement } from '../../parquet/write/plain-file.ts';
import type { DataSource } from '../data/source.ts';
import { createTimeText, readingText } from '../query/formats.ts';
import type { SelectedSeries } from '../query/selection.ts';
import { STEPS_PER_LOOK, type Work } from '../turns.ts';

/** Readings in one piece of text: some 200 kB. */
const ROWS_PER_PIECE = 2_048;

/** Objects `{"id":…,"timestamp":…,"value":…}`: lines of NDJSON, or the elements of an array. */
export async function* measurementsBody(
  source: DataSource,
  selected: readonly SelectedSeries[],
  range: TimeRange,
  format: 'json' | 'ndjson',
  work: Work,
): AsyncGenerator<string> {
  const heads = selected.map(({ id }) => `{"id":${JSON.stringify(id)},"timestamp":"`);
  const records = selected.map(({ record }) => record);
  const timeText = createTimeText();
  const [end, separator] = format === 'ndjson' ? ['}\n', ''] : ['}', ','];
  let before = '';
  if (format === 'json') yield '[';
  for await (const { batch } of source.read(records, range, { values: true, interleaved: true }, work))
    for (let from = 0; from < batch.rows; from += ROWS_PER_PIECE) {
      if (work.isDue()) await work.pause();
      const to = Math.min(batch.rows, from + ROWS_PER_PIECE);
      let text = '';
      for (let row = from; row < to; row++) {
        const time = timeText(batch.timestampMicros[row]!);
        text += `${before}${heads[batch.seriesCodes[row]!]}${time}","value":${readingText(batch, row)}${end}`;
        before = separator;
      }
      yield text;
    }
  if (format === 'json') yield ']';
}

/** Rows of a row group: a client has its first bytes after so many readings, and memory is bounded by them. */
export const ROW_GROUP_ROWS = 65_536;
/** A row group ends early when its JSON texts have so many bytes, which take some 5 ms to compress. */
const MAX_JSON_BYTES = 2 * 1024 * 1024;

/** A column of the contract; every one is optional, as most writers make them. */
const column = (name: string, type: NonNullable<SchemaElement['type']>): SchemaElement => ({
  ...{ type, repetition_type: 'OPTIONAL', name },
  ...(type === 'BYTE_ARRAY' && { converted_type: 'UTF8' }),
});
const SCHEMA: readonly SchemaElement[] = [
  { name: 'root', num_children: 5 },
  column('timestamp', 'INT64'),
  column('id', 'BYTE_ARRAY'),
  column('long_value', 'INT64'),
  column('double_value', 'DOUBLE'),
  column('json_value', 'BYTE_ARRAY'),
];

/** Body of a Parquet answer, in pieces. Times are milliseconds, rounded down. */
export async function* parquetBody(
  source: DataSource,
  series: readonly SelectedSeries[],
  range: TimeRange,
  work: Work,
): AsyncGenerator<Uint8Array> {
  const file = new PlainFile(SCHEMA, { createdBy: 'vessel-export service', dictionaries: ['id'] });
  const [times, , , , texts] = file.columns;
  const ids = series.map(({ id }) => id);
  const records = series.map(({ record }) => record);
  yield PARQUET_MAGIC;
  for await (const { batch } of source.read(records, range, { values: true, interleaved: true }, work))
    for (let row = 0; row < batch.rows; row++) {
      if (row % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
      addReading(file, batch, row, ids);
      if (times!.rows === ROW_GROUP_ROWS || texts!.bytes >= MAX_JSON_BYTES) yield* rowGroup(file, work);
    }
  if (times!.rows > 0) yield* rowGroup(file, work);
  yield file.end();
}

async function* rowGroup(file: PlainFile, work: Work): AsyncGenerator<Uint8Array> {
  for (const piece of file.rowGroup()) {
    yield piece;
    if (work.isDue()) await work.pause();
  }
}

function addReading(
  { columns }: PlainFile,
  { timestampMicros, seriesCodes, kinds, words, jsonText }: ColumnBatch,
  row: number,
  ids: readonly string[],
): void {
  const [times, names, longs, doubles, texts] = columns;
  times!.addNumber(Math.floor(timestampMicros[row]! / MICROS_PER_MILLI));
  names!.addText(ids[seriesCodes[row]!]!);
  const kind = kinds[row]!;
  const own = kind === JSON_TEXT ? texts! : kind === LONG ? longs! : doubles!;
  for (const each of [longs!, doubles!, texts!]) if (each !== own) each.addNull();
  if (kind === JSON_TEXT) own.addBytes(jsonTextAt(jsonText, words[2 * row]!));
  else own.addWords(words[2 * row]!, words[2 * row + 1]!);
}
