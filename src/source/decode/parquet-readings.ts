/** The service's Parquet body → column batches: the footer is checked first, then the columns are read page by page. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ColumnBatch, SeriesDictionary } from '../../core/model/index.ts';
import {
  appendJsonText,
  createColumnBatch,
  DOUBLE,
  isWithinYears,
  JSON_TEXT,
  jsonTextBytes,
  LONG,
  microsToIso,
} from '../../core/model/index.ts';
import { type ColumnPage, ColumnReader, createPageBudget } from '../../parquet/read/column-reader.ts';
import { parquetTooLarge as tooLarge } from '../../parquet/read/parquet-faults.ts';
import {
  MAX_PARQUET_ROWS,
  MAX_UNCOMPRESSED_BYTES,
  readParquetFooter,
} from '../../parquet/read/parquet-footer.ts';
import type { ColumnQuestion, TimeUnit } from '../../parquet/read/parquet-schema.ts';
import { checkedJson, codesOfIds, type NumberOfText, RowFault } from './parquet-texts.ts';
import { DEFAULT_BATCH_ROWS, JSON_TEXT_LIMIT_BYTES } from './reading-record.ts';

const COLUMNS = [
  { name: 'timestamp', kind: 'timestamp' },
  { name: 'id', kind: 'text' },
  { name: 'long_value', kind: 'long' },
  { name: 'double_value', kind: 'double' },
  { name: 'json_value', kind: 'text' },
] as const satisfies readonly ColumnQuestion[];

/** Others have a turn after so many batches: a quarter of a million rows. */
const BATCHES_PER_TURN = 16;
const WORD = 0x1_0000_0000;
/** Rows, and JSON text, of one timestamp: a row group never ends within one, so they would be gathered without end. */
const MAX_INSTANT_ROWS = 131_072;
const MAX_INSTANT_TEXT_BYTES = 32 << 20;
const [JSON_COLUMN, TEXT] = ["column 'json_value'", 'bytes of text'];

interface ParquetReadingsOptions {
  readonly batchRows?: number;
  /** More rows than this are a fault; never more than MAX_PARQUET_ROWS. */
  readonly maxRows?: number;
}

/**
 * Decode a whole Parquet body of readings. `onBatch` is awaited; the batch's arrays are used again after it. Before an error leaves, it has had
 * every row before the faulty one. Memory, beside the body: 32 MiB of pages, the values of one page a column, and one batch.
 *
 * Throws DataError: `body-truncated`, `body-damaged`, `bad-parquet`, `page-too-large` (more than is decoded at once), `missing-field`,
 * `not-one-value`, `bad-id`, `bad-timestamp`, `timestamp-too-fine`, `out-of-order`, `malformed-json`, `invalid-utf8`.
 */
export async function decodeParquetReadings(
  bytes: Uint8Array,
  dictionary: SeriesDictionary,
  onBatch: (batch: ColumnBatch) => void | Promise<void>,
  options: ParquetReadingsOptions = {},
): Promise<void> {
  const { batchRows = DEFAULT_BATCH_ROWS, maxRows = MAX_PARQUET_ROWS } = options;
  const footer = readParquetFooter(bytes, COLUMNS, Math.min(maxRows, MAX_PARQUET_ROWS));
  const budget = createPageBudget();
  const readers = footer.columns.map((column) => new ColumnReader(bytes, column, budget));
  const rows = new ParquetRows(readers as unknown as FiveColumns, dictionary, batchRows);
  let batches = 0;
  const emit = async () => {
    try {
      if (rows.batch.rows > 0) await onBatch(rows.batch);
    } finally {
      rows.clear();
    }
    if (++batches % BATCHES_PER_TURN === 0) await nextTurn();
  };
  try {
    for (const [number, group] of footer.groups.entries()) {
      for (const [index, reader] of readers.entries())
        reader.openChunk(group.chunks[index]!, group.rows, number);
      for (let left = group.rows; left > 0; ) {
        const step = Math.min(...readers.map((reader) => reader.openPage()));
        left -= step;
        for (let taken = 0; taken < step; ) {
          taken += rows.append(step - taken);
          if (rows.isFull) await emit();
        }
      }
    }
  } finally {
    await emit();
  }
}

type FiveColumns = readonly [ColumnReader, ColumnReader, ColumnReader, ColumnReader, ColumnReader];

class ParquetRows {
  readonly batch: ColumnBatch;
  readonly #batchRows: number;
  readonly #columns: FiveColumns;
  readonly #unit: TimeUnit;
  readonly #codes: NumberOfText;
  readonly #json = checkedJson();
  #rows = 0;
  #lastMicros = -1;
  /** JSON text of all rows: a dictionary may repeat a long one in every row. */
  #jsonBytes = 0;
  /** The same of the last timestamp, and its rows. */
  #instantJsonBytes = 0;
  #instantRows = 0;

  constructor(columns: FiveColumns, dictionary: SeriesDictionary, batchRows: number) {
    this.batch = createColumnBatch(batchRows);
    this.#batchRows = batchRows;
    this.#columns = columns;
    this.#unit = columns[0].column.unit;
    this.#codes = codesOfIds(dictionary);
  }

  get isFull(): boolean {
    const { rows, jsonText } = this.batch;
    return rows === this.#batchRows || jsonTextBytes(jsonText) > JSON_TEXT_LIMIT_BYTES;
  }

  clear(): void {
    this.batch.rows = 0;
    this.batch.jsonText.count = 0;
  }

  /** Append the next rows of the columns, whose pages are open, until the batch is full; how many of `most`. */
  append(most: number): number {
    let appended = 0;
    try {
      for (; appended < most && !this.isFull; appended++) this.#appendRow();
    } catch (error) {
      throw error instanceof RowFault ? error.atRow(this.#rows + appended) : error;
    }
    this.#rows += appended;
    return appended;
  }

  #appendRow(): void {
    const { batch } = this;
    const [times, ids, longs, doubles, texts] = this.#columns;
    const [hasTime, hasId] = [isNext(times), isNext(ids)];
    const [hasLong, hasDouble, hasText] = [isNext(longs), isNext(doubles), isNext(texts)];
    if (hasTime === 0 || hasId === 0) throw new RowFault('missing-field', 'null as timestamp or id', 'both');
    const time = 2 * times.value++;
    const micros = this.#checkedMicros(times.page.words[time]!, times.page.words[time + 1]!);
    const set = hasLong + hasDouble + hasText;
    if (set !== 1) throw new RowFault('not-one-value', `${set} value columns set`, 'exactly one');
    this.#countInstant(micros);
    const at = batch.rows;
    if (hasText === 1) this.#storeJson(at, texts.page, texts.value++);
    else {
      const column = hasLong === 1 ? longs : doubles;
      const from = 2 * column.value++;
      batch.kinds[at] = hasLong === 1 ? LONG : DOUBLE;
      batch.words[2 * at] = column.page.words[from]!;
      batch.words[2 * at + 1] = column.page.words[from + 1]!;
    }
    batch.timestampMicros[at] = micros;
    batch.seriesCodes[at] = this.#codes.of(ids.page, ids.value++);
    this.#lastMicros = micros;
    batch.rows++;
  }

  #checkedMicros(low: number, high: number): number {
    const micros = microsOf(low, high, this.#unit);
    if (Number.isNaN(micros))
      throw new RowFault('timestamp-too-fine', 'nanoseconds', 'a timestamp of whole microseconds');
    if (!isWithinYears(micros))
      throw new RowFault('bad-timestamp', `${micros} µs since the epoch`, 'a time between 1970 and 2199');
    if (micros < this.#lastMicros) {
      const found = `timestamp ${microsToIso(micros)} after ${microsToIso(this.#lastMicros)}`;
      throw new RowFault('out-of-order', found, 'timestamps in ascending order');
    }
    return micros;
  }

  #countInstant(micros: number): void {
    if (micros !== this.#lastMicros) this.#instantRows = this.#instantJsonBytes = 0;
    if (++this.#instantRows > MAX_INSTANT_ROWS)
      throw tooLarge(microsToIso(micros), this.#instantRows, MAX_INSTANT_ROWS, 'rows of that timestamp');
  }

  #storeJson(at: number, page: ColumnPage, value: number): void {
    const { batch } = this;
    this.#json.of(page, value);
    const { bytes, starts, ends } = page.texts;
    const place = page.entries?.[value] ?? value;
    const [start, end] = [starts[place]!, ends[place]!];
    this.#jsonBytes += end - start;
    this.#instantJsonBytes += end - start;
    if (this.#instantJsonBytes > MAX_INSTANT_TEXT_BYTES)
      throw tooLarge(JSON_COLUMN, this.#instantJsonBytes, MAX_INSTANT_TEXT_BYTES, `${TEXT} of one timestamp`);
    if (this.#jsonBytes > MAX_UNCOMPRESSED_BYTES)
      throw tooLarge(JSON_COLUMN, this.#jsonBytes, MAX_UNCOMPRESSED_BYTES, TEXT);
    batch.kinds[at] = JSON_TEXT;
    batch.longs[at] = BigInt(batch.jsonText.count);
    appendJsonText(batch.jsonText, bytes, start, end);
  }
}

/** Micros of a 64-bit number of units; NaN when it has digits finer than that. */
function microsOf(low: number, high: number, unit: TimeUnit): number {
  if (unit === 'nanos') {
    const nanos = BigInt(high) * BigInt(WORD) + BigInt(low >>> 0);
    return nanos % 1000n === 0n ? Number(nanos / 1000n) : Number.NaN;
  }
  return (high * WORD + (low >>> 0)) * (unit === 'millis' ? 1_000 : 1);
}

/** 1 where the column's next row has a value, which is left to be taken. */
function isNext(column: ColumnReader): number {
  return column.page.present[column.row++]!;
}
