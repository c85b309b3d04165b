/**
 * The service's Parquet body → column batches. parquet-wasm reads a window of rows at a time (by offset and limit,
 * which also bounds memory where one row group holds millions of rows), and the window leaves WASM memory as an
 * Arrow stream.
 */
import type { Table } from 'apache-arrow';
import type { ReaderOptions } from 'parquet-wasm';
import { cleanForeignText, DataError, messageOf, VesselExportError } from '../errors.ts';
import {
  appendJsonText,
  type ColumnBatch,
  createColumnBatch,
  DOUBLE,
  isWithinYears,
  JSON_TEXT,
  jsonTextBytes,
  LONG,
  microsToIso,
  type SeriesDictionary,
} from '../model/index.ts';
import { IdColumnCodes, PARQUET_COLUMNS, type ParquetColumns, parquetColumns } from './parquet-columns.ts';
import { DEFAULT_BATCH_ROWS } from './reading-decoder.ts';
import { JSON_TEXT_LIMIT_BYTES } from './reading-record.ts';

/** Rows that are in WASM memory at a time: some 60 MB of it. */
const WINDOW_ROWS = 131_072;
const MAGIC = 'PAR1';
/** Leading magic, four bytes of footer length, trailing magic. */
const LEAST_BYTES = 12;
const NEXT_STEP =
  'ask for the time slice again; if it stays, report it to the operator of the service or use transport: ndjson';

interface ParquetReadingsOptions {
  readonly batchRows?: number;
  readonly windowRows?: number;
}

type ParquetReader = (bytes: Uint8Array, options: ReaderOptions) => Table;

/**
 * Decode a whole Parquet body of readings. `onBatch` may be asynchronous and is awaited; the batch's arrays are used
 * again after it. Before an error leaves, it has had every row before the faulty one of the windows that could be
 * read. Memory: the body once more in WASM memory, one window of rows, one batch.
 *
 * Throws DataError: `body-truncated`, `bad-parquet` (damaged, or other columns than the contract's),
 * `missing-field`, `not-one-value`, `bad-timestamp`, `timestamp-too-fine`, `out-of-order`, `malformed-json`,
 * `invalid-utf8`.
 */
export async function decodeParquetReadings(
  bytes: Uint8Array,
  dictionary: SeriesDictionary,
  onBatch: (batch: ColumnBatch) => void | Promise<void>,
  options: ParquetReadingsOptions = {},
): Promise<void> {
  assertWhole(bytes);
  const { batchRows = DEFAULT_BATCH_ROWS, windowRows = WINDOW_ROWS } = options;
  const readTable = await loadReader();
  const rows = new ParquetRows(dictionary, batchRows);
  const emit = async () => {
    if (rows.batch.rows > 0) await onBatch(rows.batch);
    rows.clear();
  };
  for (let offset = 0; ; ) {
    const table = readTable(bytes, {
      offset,
      limit: windowRows,
      batchSize: windowRows,
      columns: [...PARQUET_COLUMNS],
    });
    for (const recordBatch of table.batches) {
      const columns = parquetColumns(recordBatch);
      let row = 0;
      while (row < columns.rows) {
        try {
          row = rows.append(columns, row, offset);
        } catch (error) {
          await emit();
          throw error;
        }
        if (rows.isFull) await emit();
      }
      offset += columns.rows;
    }
    if (table.numRows < windowRows) break;
  }
  await emit();
}

function assertWhole(bytes: Uint8Array): void {
  const ends = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const trailer = ends.toString('latin1', Math.max(0, bytes.length - MAGIC.length));
  if (bytes.length >= LEAST_BYTES && trailer === MAGIC) return;
  const found = `${bytes.length} bytes that end in '${cleanForeignText(trailer)}'`;
  throw new DataError(
    'body-truncated',
    `found ${found}, expected Parquet that ends in '${MAGIC}'; ${NEXT_STEP}`,
  );
}

/** Loads parquet-wasm and apache-arrow, 0.2 s and some 20 MB that other transports do without. */
async function loadReader(): Promise<ParquetReader> {
  const [{ readParquet }, { tableFromIPC }] = await Promise.all([
    import('parquet-wasm'),
    import('apache-arrow'),
  ]);
  return (bytes, options) => {
    try {
      // The stream takes the WASM table over and frees it; nothing of it stays behind to be freed.
      return tableFromIPC(readParquet(bytes, options).intoIPCStream());
    } catch (error) {
      const said = cleanForeignText(messageOf(error), [], 200);
      const code = /utf-?8/i.test(said) ? 'invalid-utf8' : 'bad-parquet';
      throw new DataError(code, `the Parquet body cannot be read: ${said}; ${NEXT_STEP}`, { cause: error });
    }
  };
}

/** Fills a batch from Arrow columns. */
class ParquetRows {
  readonly batch: ColumnBatch;
  readonly #batchRows: number;
  readonly #codes: IdColumnCodes;
  #lastMicros = -1;

  constructor(dictionary: SeriesDictionary, batchRows: number) {
    this.batch = createColumnBatch(batchRows);
    this.#batchRows = batchRows;
    this.#codes = new IdColumnCodes(dictionary);
  }

  get isFull(): boolean {
    const { rows, jsonText } = this.batch;
    return rows === this.#batchRows || jsonTextBytes(jsonText) > JSON_TEXT_LIMIT_BYTES;
  }

  clear(): void {
    this.batch.rows = 0;
    this.batch.jsonText.count = 0;
  }

  /** Append rows from `fromRow` on until the batch is full; the first row not taken. `offset` is row 0's in the body. */
  append(columns: ParquetColumns, fromRow: number, offset: number): number {
    let row = fromRow;
    for (; row < columns.rows && !this.isFull; row++) {
      try {
        this.#appendRow(columns, row);
      } catch (error) {
        throw error instanceof RowFault ? error.atRow(offset + row) : error;
      }
    }
    return row;
  }

  #appendRow(columns: ParquetColumns, row: number): void {
    const { batch } = this;
    if (columns.timestamps.isNull(row) || columns.ids.isNull(row))
      throw new RowFault('missing-field', 'null as timestamp or id', 'both');
    const micros = this.#checkedMicros(columns.timestamps.microsAt(row));
    const at = batch.rows;
    storeValue(batch, at, columns, row);
    batch.timestampMicros[at] = micros;
    batch.seriesCodes[at] = this.#codes.codeOf(columns.ids, row);
    this.#lastMicros = micros;
    batch.rows++;
  }

  #checkedMicros(micros: number): number {
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
}

/** A fault of one row, before its place is known. */
class RowFault extends VesselExportError {
  readonly #found: string;
  readonly #expected: string;
  constructor(code: string, found: string, expected: string) {
    super(code, found);
    this.#found = found;
    this.#expected = expected;
  }
  atRow(row: number): DataError {
    const where = `row ${row + 1} of the Parquet body`;
    return new DataError(
      this.code,
      `${where}: found ${this.#found}, expected ${this.#expected}; ${NEXT_STEP}`,
    );
  }
}

/** Exactly one of the three value columns is set. */
function storeValue(batch: ColumnBatch, at: number, columns: ParquetColumns, row: number): void {
  const hasLong = !columns.longs.isNull(row);
  const hasDouble = !columns.doubles.isNull(row);
  const hasJson = !columns.jsonTexts.isNull(row);
  const set = Number(hasLong) + Number(hasDouble) + Number(hasJson);
  if (set !== 1) throw new RowFault('not-one-value', `${set} value columns set`, 'exactly one');
  if (hasLong) {
    batch.kinds[at] = LONG;
    batch.longs[at] = columns.longs.values[row]!;
  } else if (hasDouble) {
    batch.kinds[at] = DOUBLE;
    batch.doubles[at] = columns.doubles.values[row]!;
  } else {
    storeJsonText(batch, at, columns, row);
  }
}

function storeJsonText(batch: ColumnBatch, at: number, columns: ParquetColumns, row: number): void {
  const { jsonTexts } = columns;
  const entry = jsonTexts.entryOf(row);
  const start = jsonTexts.offset(entry);
  const end = jsonTexts.offset(entry + 1);
  const text = Buffer.from(jsonTexts.bytes.buffer, jsonTexts.bytes.byteOffset + start, end - start).toString(
    'utf8',
  );
  try {
    JSON.parse(text);
  } catch {
    throw new RowFault('malformed-json', `json_value '${cleanForeignText(text, [], 60)}'`, 'JSON');
  }
  batch.kinds[at] = JSON_TEXT;
  batch.longs[at] = BigInt(batch.jsonText.count);
  appendJsonText(batch.jsonText, jsonTexts.bytes, start, end);
}
