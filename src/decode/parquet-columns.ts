/** Columns of one Arrow record batch as plain arrays, each checked for its type. */
import type { Data, RecordBatch } from 'apache-arrow';
import { DataError } from '../errors.ts';
import type { SeriesDictionary } from '../model/index.ts';
import { SpellingTable } from './spelling-table.ts';

/** `Type` and `TimeUnit` of the Arrow format, which are fixed by its specification. */
const ARROW = { int: 2, float: 3, utf8: 5, timestamp: 10, dictionary: -1, largeUtf8: 20 } as const;
const DOUBLE_PRECISION = 2;
const MICROS_PER_UNIT = [1_000_000, 1_000, 1] as const;
const NANOSECOND = 3;

/** The columns of the contract's Parquet row. */
export const PARQUET_COLUMNS = ['timestamp', 'id', 'long_value', 'double_value', 'json_value'] as const;
type ColumnName = (typeof PARQUET_COLUMNS)[number];

export interface ParquetColumns {
  readonly rows: number;
  readonly timestamps: TimestampColumn;
  readonly ids: TextColumn;
  readonly longs: ValueColumn<BigInt64Array>;
  readonly doubles: ValueColumn<Float64Array>;
  readonly jsonTexts: TextColumn;
}

/** What distinguishes the Arrow types in use, besides their id. */
interface TypeDetails {
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly unit?: number;
}

interface Column {
  isNull(row: number): boolean;
}
interface ValueColumn<Values> extends Column {
  readonly values: Values;
}
interface TimestampColumn extends Column {
  /** Micros of a row; NaN when it has digits finer than that. */
  microsAt(row: number): number;
}
/** Texts of a column, or of its dictionary: `bytes[offset(i), offset(i + 1))` with `i = entryOf(row)`. */
interface TextColumn extends Column {
  readonly bytes: Uint8Array;
  readonly entries: number;
  entryOf(row: number): number;
  offset(entry: number): number;
}

/** The five columns. Throws DataError `bad-parquet` for one that is missing or of another type. */
export function parquetColumns(batch: RecordBatch): ParquetColumns {
  return {
    rows: batch.numRows,
    timestamps: timestampColumn(columnData(batch, 'timestamp')),
    ids: textColumn(columnData(batch, 'id'), 'id'),
    longs: longColumn(columnData(batch, 'long_value')),
    doubles: doubleColumn(columnData(batch, 'double_value')),
    jsonTexts: textColumn(columnData(batch, 'json_value'), 'json_value'),
  };
}

function columnData(batch: RecordBatch, name: ColumnName): Data {
  const data = batch.getChild(name)?.data[0];
  if (data === undefined) throw badColumn(name, 'no such column', 'the column');
  return data;
}

function badColumn(name: ColumnName, found: string, expected: string): DataError {
  return new DataError(
    'bad-parquet',
    `Parquet column '${name}': found ${found}, expected ${expected}; report it to the operator of the service, or use transport: ndjson`,
  );
}

function nullTest(data: Data): (row: number) => boolean {
  const { nullBitmap, offset } = data;
  if (data.nullCount === 0 || nullBitmap === undefined || nullBitmap.length === 0) return () => false;
  return (row) => ((nullBitmap[(offset + row) >> 3]! >> ((offset + row) & 7)) & 1) === 0;
}

function timestampColumn(data: Data): TimestampColumn {
  const { typeId, type } = data;
  const { unit } = type as TypeDetails;
  const isInt64 = isSignedInt64(data);
  if (!isInt64 && typeId !== ARROW.timestamp)
    throw badColumn('timestamp', `type ${type}`, 'int64 epoch milliseconds or a TIMESTAMP');
  const values: BigInt64Array = data.values;
  const isNull = nullTest(data);
  if (typeId === ARROW.timestamp && unit === NANOSECOND) {
    const microsAt = (row: number) => {
      const nanos = values[row]!;
      return nanos % 1000n === 0n ? Number(nanos / 1000n) : Number.NaN;
    };
    return { isNull, microsAt };
  }
  const microsPerUnit: number = isInt64 ? 1_000 : MICROS_PER_UNIT[unit as 0 | 1 | 2];
  return { isNull, microsAt: (row) => Number(values[row]!) * microsPerUnit };
}

function isSignedInt64(data: Data): boolean {
  const { bitWidth, isSigned } = data.type as TypeDetails;
  return data.typeId === ARROW.int && bitWidth === 64 && isSigned === true;
}

function longColumn(data: Data): ValueColumn<BigInt64Array> {
  if (!isSignedInt64(data)) throw badColumn('long_value', `type ${data.type}`, 'int64');
  return { values: data.values, isNull: nullTest(data) };
}

function doubleColumn(data: Data): ValueColumn<Float64Array> {
  const { precision } = data.type as TypeDetails;
  if (data.typeId !== ARROW.float || precision !== DOUBLE_PRECISION)
    throw badColumn('double_value', `type ${data.type}`, 'float64');
  return { values: data.values, isNull: nullTest(data) };
}

function textColumn(data: Data, name: ColumnName): TextColumn {
  const isNull = nullTest(data);
  if (data.typeId !== ARROW.dictionary) return { ...plainTexts(data, name), isNull, entryOf: (row) => row };
  const texts = data.dictionary?.data ?? [];
  const indexes: ArrayLike<number> = data.values;
  if (texts.length !== 1) throw badColumn(name, `a dictionary in ${texts.length} pieces`, 'one dictionary');
  return { ...plainTexts(texts[0]!, name), isNull, entryOf: (row) => Number(indexes[row]) };
}

function plainTexts(data: Data, name: ColumnName): Pick<TextColumn, 'bytes' | 'entries' | 'offset'> {
  if (data.typeId !== ARROW.utf8 && data.typeId !== ARROW.largeUtf8)
    throw badColumn(name, `type ${data.type}`, 'string');
  const offsets: ArrayLike<number | bigint> = data.valueOffsets;
  return { bytes: data.values, entries: data.length, offset: (entry) => Number(offsets[entry]) };
}

/** Codes of the ids in text columns, without a string for each row. */
export class IdColumnCodes {
  readonly #dictionary: SeriesDictionary;
  readonly #spellings = new SpellingTable();
  #column: TextColumn | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(dictionary: SeriesDictionary) {
    this.#dictionary = dictionary;
  }

  /** Code of a row's id, which must not be null. */
  codeOf(column: TextColumn, row: number): number {
    const { bytes } = column;
    if (this.#column !== column) {
      this.#column = column;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    const entry = column.entryOf(row);
    const start = column.offset(entry);
    const end = column.offset(entry + 1);
    const hash = hashOf(bytes, start, end);
    const known = this.#spellings.find(this.#view, start, end - start, hash);
    if (known >= 0) return known;
    const raw = bytes.subarray(start, end);
    const code = this.#dictionary.codeOf(Buffer.from(raw).toString('utf8'));
    this.#spellings.add(raw, hash, code);
    return code;
  }
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let p = start; p < end; p++) hash = Math.imul(hash ^ bytes[p]!, 0x01000193);
  return hash ^ (hash >>> 15);
}
