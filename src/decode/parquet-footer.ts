/**
 * What the footer of a Parquet body says, checked before anything is decoded: columns and their types, rows, sizes, and
 * where the column chunks lie.
 */
import { cleanForeignText, DataError } from '../errors.ts';
import { badParquet, PARQUET_ADVICE, parquetTooLarge } from './parquet-faults.ts';
import { ThriftReader } from './thrift-reader.ts';

const MAGIC = 'PAR1';
const MAGIC_BYTES = 4;
const LENGTH_BYTES = 4;
/** Leading magic, four bytes of footer length, trailing magic. */
const LEAST_BYTES = 12;

/**
 * Rows of a body: a time slice aims at a million. As many as this are decoded in some seconds and in the same memory as
 * few, so it bounds time.
 */
export const MAX_PARQUET_ROWS = 16_777_216;
const MAX_FOOTER_BYTES = 8 << 20;
const MAX_COLUMNS = 1_000;
const MAX_ROW_GROUPS = 8_192;
/** Bytes that the columns that are read come to when decompressed, in a row group and in a body. */
export const MAX_UNCOMPRESSED_BYTES = 512 << 20;

const FOOTER = 'the footer';
/** Of `Type`, in order. */
const TYPE_NAMES = [
  'boolean',
  'int32',
  'int64',
  'int96',
  'float',
  'double',
  'byte array',
  'fixed byte array',
];
const INT64 = 2;
const DOUBLE = 5;
const BYTE_ARRAY = 6;
const REQUIRED = 0;
const OPTIONAL = 1;
/** `ConvertedType`, which logical types have replaced. */
const CONVERTED = { utf8: 0, enum: 4, timestampMillis: 9, timestampMicros: 10, int64: 18, json: 19 } as const;
/** Fields of the union `LogicalType`. */
const LOGICAL = { string: 1, enum: 4, timestamp: 8, integer: 10, json: 12 } as const;
const LOGICAL_NAMES = [
  ...['', 'STRING', 'MAP', 'LIST', 'ENUM', 'DECIMAL', 'DATE', 'TIME', 'TIMESTAMP', '', 'INTEGER', 'NULL'],
  ...['JSON', 'BSON', 'UUID', 'FLOAT16'],
];
/** Of `TimeUnit`: milliseconds, microseconds; nanoseconds are divided. */
const NANOSECONDS = 3;

/** How a column's cells are read. */
export type ColumnKind = 'timestamp' | 'long' | 'double' | 'text';

/** A column to read, which must be there. */
export interface ColumnQuestion {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** The time unit of a column of times. */
export type TimeUnit = 'millis' | 'micros' | 'nanos';

/** A column as the schema has it. */
export interface ParquetColumn extends ColumnQuestion {
  readonly isOptional: boolean;
  /** Of times. */
  readonly unit: TimeUnit;
}

/** One column's part of a row group. */
export interface ColumnChunk {
  readonly codec: number;
  /** Its pages are `body[start, end)`. */
  readonly start: number;
  readonly end: number;
}

export interface ParquetRowGroup {
  readonly rows: number;
  /** In the order of the columns that were asked for. */
  readonly chunks: readonly ColumnChunk[];
}

export interface ParquetFooter {
  readonly columns: readonly ParquetColumn[];
  readonly groups: readonly ParquetRowGroup[];
  readonly rows: number;
}

interface SchemaElement {
  type: number | undefined;
  repetition: number | undefined;
  name: string;
  children: number;
  converted: number | undefined;
  logical: number | undefined;
  unit: number | undefined;
  isSigned: boolean;
  bitWidth: number;
}

interface FooterLimits {
  readonly maxRows: number;
}

/**
 * Read the footer, which must have the columns asked for, and check it. Throws DataError `body-truncated`, `bad-parquet`,
 * or `page-too-large` where more is claimed than is decoded at once.
 */
export function readParquetFooter(
  body: Uint8Array,
  questions: readonly ColumnQuestion[],
  { maxRows }: FooterLimits,
): ParquetFooter {
  const { start, end } = footerSpan(body);
  const reader = new ThriftReader(body, start, end, FOOTER);
  let leaves: ReadonlyMap<string, Leaf> | undefined;
  let leafCount = 0;
  let columns: ParquetColumn[] = [];
  let claimedRows = -1;
  const groups: ParquetRowGroup[] = [];
  const budget = { uncompressedBytes: 0, rows: 0, maxRows };
  reader.struct((id, type) => {
    if (id === 2) {
      const schema = readSchema(reader, type);
      ({ leaves, leafCount } = leavesOf(schema));
      columns = questions.map((question) => columnOf(question, leaves!));
    } else if (id === 3) {
      claimedRows = reader.number(type);
    } else if (id === 4) {
      const wanted = questions.map(({ name }) => leaves?.get(name));
      if (leaves === undefined) throw badParquet(FOOTER, 'row groups before the columns', 'columns first');
      const count = reader.list(type, (index) => {
        if (index >= MAX_ROW_GROUPS)
          throw parquetTooLarge(FOOTER, index + 1, MAX_ROW_GROUPS, 'row groups or more');
        groups.push(readRowGroup(reader, index, wanted as readonly Leaf[], leafCount, start, budget));
      });
      if (count !== groups.length) throw badParquet(FOOTER, 'two lists of row groups', 'one');
    } else if (id === 8) {
      throw badParquet(FOOTER, 'encrypted columns', 'plain ones');
    } else return false;
    return true;
  });
  if (leaves === undefined) throw badParquet(FOOTER, 'no columns', 'columns');
  if (claimedRows !== budget.rows)
    throw badParquet(FOOTER, `${claimedRows} rows, and ${budget.rows} in the row groups`, 'equal numbers');
  assertApart(groups);
  return { columns, groups, rows: budget.rows };
}

function footerSpan(body: Uint8Array): { start: number; end: number } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const trailer = bytes.toString('latin1', Math.max(0, bytes.length - MAGIC_BYTES));
  if (bytes.length < LEAST_BYTES || trailer !== MAGIC) {
    const found = `${bytes.length} bytes that end in '${cleanForeignText(trailer)}'`;
    throw new DataError(
      'body-truncated',
      `found ${found}, expected Parquet that ends in '${MAGIC}'; ${PARQUET_ADVICE}`,
    );
  }
  const leader = bytes.toString('latin1', 0, MAGIC_BYTES);
  if (leader !== MAGIC) throw badParquet('the beginning', `'${cleanForeignText(leader)}'`, `'${MAGIC}'`);
  const end = bytes.length - MAGIC_BYTES - LENGTH_BYTES;
  const length = bytes.readUInt32LE(end);
  const room = end - MAGIC_BYTES;
  if (length > room) throw badParquet(FOOTER, `a length of ${length} bytes`, `at most ${room}, as there are`);
  if (length > MAX_FOOTER_BYTES) throw parquetTooLarge(FOOTER, length, MAX_FOOTER_BYTES, 'bytes');
  return { start: end - length, end };
}

function readSchema(reader: ThriftReader, type: number): SchemaElement[] {
  const schema: SchemaElement[] = [];
  reader.list(type, (index) => {
    if (index > MAX_COLUMNS) throw parquetTooLarge(FOOTER, index, MAX_COLUMNS, 'columns or more');
    schema.push(readSchemaElement(reader));
  });
  return schema;
}

function readSchemaElement(reader: ThriftReader): SchemaElement {
  const element: SchemaElement = {
    ...{ type: undefined, repetition: undefined, name: '', children: 0 },
    ...{ converted: undefined, logical: undefined, unit: undefined, isSigned: true, bitWidth: 64 },
  };
  reader.struct((id, type) => {
    if (id === 1) element.type = reader.number(type);
    else if (id === 3) element.repetition = reader.number(type);
    else if (id === 4) element.name = reader.text(type);
    else if (id === 5) element.children = reader.number(type);
    else if (id === 6) element.converted = reader.number(type);
    else if (id === 10)
      reader.struct((union, unionType) => readLogicalType(reader, element, union, unionType));
    else return false;
    return true;
  });
  return element;
}

function readLogicalType(reader: ThriftReader, element: SchemaElement, union: number, type: number): boolean {
  element.logical = union;
  if (union !== LOGICAL.timestamp && union !== LOGICAL.integer) return false;
  if (type !== 12) return false;
  reader.struct((id, fieldType) => {
    if (union === LOGICAL.integer && id === 1) element.bitWidth = reader.number(fieldType);
    else if (union === LOGICAL.integer && id === 2) element.isSigned = reader.bool(fieldType);
    else if (union === LOGICAL.timestamp && id === 2) {
      reader.struct((unit) => {
        element.unit = unit;
        return false;
      });
    } else return false;
    return true;
  });
  return true;
}

/** A leaf of the schema by its number in a row group. */
interface Leaf {
  readonly index: number;
  readonly element: SchemaElement;
}

/** The columns at the top by name; those inside of groups are counted only. */
function leavesOf(schema: readonly SchemaElement[]): { leaves: Map<string, Leaf>; leafCount: number } {
  const leaves = new Map<string, Leaf>();
  const repeated = new Set<string>();
  /** Children that the open groups still lack. */
  const open = [schema[0]?.children ?? 0];
  let leafCount = 0;
  for (const element of schema.slice(1)) {
    while (open.at(-1) === 0) open.pop();
    if (open.length === 0) throw badParquet(FOOTER, 'columns outside of the root', 'all inside');
    open[open.length - 1]!--;
    const isTop = open.length === 1;
    if (element.type === undefined) {
      if (!(element.children > 0)) throw badParquet(FOOTER, 'a group without columns', 'a column at least');
      open.push(element.children);
      continue;
    }
    const index = leafCount++;
    if (!isTop) continue;
    if (leaves.has(element.name)) repeated.add(element.name);
    leaves.set(element.name, { index, element });
  }
  if (open.some((children) => children !== 0))
    throw badParquet(FOOTER, 'fewer columns than the groups claim', 'all of them');
  for (const name of repeated) leaves.get(name)!.element.repetition = undefined;
  return { leaves, leafCount };
}

function columnOf(question: ColumnQuestion, leaves: ReadonlyMap<string, Leaf>): ParquetColumn {
  const element = leaves.get(question.name)?.element;
  if (element === undefined) throw badColumn(question, 'no such column', 'the column');
  if (element.repetition !== REQUIRED && element.repetition !== OPTIONAL)
    throw badColumn(question, 'a repeated column, or two of that name', 'one value a row');
  const { expected, isFit } = FIT[question.kind];
  if (!isFit(element)) throw badColumn(question, `type ${describeType(element)}`, expected);
  const unit =
    element.unit === NANOSECONDS
      ? 'nanos'
      : element.unit === 2 || element.converted === CONVERTED.timestampMicros
        ? 'micros'
        : 'millis';
  return { ...question, isOptional: element.repetition === OPTIONAL, unit };
}

function isLong({ type, logical, converted, isSigned, bitWidth }: SchemaElement): boolean {
  if (type !== INT64) return false;
  if (logical !== undefined) return logical === LOGICAL.integer && isSigned && bitWidth === 64;
  return converted === undefined || converted === CONVERTED.int64;
}

const FIT: Readonly<Record<ColumnKind, { expected: string; isFit: (element: SchemaElement) => boolean }>> = {
  timestamp: {
    expected: 'int64 epoch milliseconds or a TIMESTAMP',
    isFit: (element) =>
      isLong(element) ||
      (element.type === INT64 &&
        (element.logical === undefined
          ? element.converted === CONVERTED.timestampMillis || element.converted === CONVERTED.timestampMicros
          : element.logical === LOGICAL.timestamp)),
  },
  long: { expected: 'int64', isFit: isLong },
  double: { expected: 'float64', isFit: ({ type, logical }) => type === DOUBLE && logical === undefined },
  text: {
    expected: 'string',
    isFit: ({ type, logical, converted }) =>
      type === BYTE_ARRAY &&
      (logical === undefined
        ? converted === undefined ||
          [CONVERTED.utf8, CONVERTED.enum, CONVERTED.json].some((text) => text === converted)
        : [LOGICAL.string, LOGICAL.enum, LOGICAL.json].some((text) => text === logical)),
  },
};

function describeType({ type, logical, converted, isSigned }: SchemaElement): string {
  const physical = TYPE_NAMES[type ?? -1] ?? String(type);
  const named = logical === undefined ? '' : (LOGICAL_NAMES[logical] ?? `logical type ${logical}`);
  const annotation = named || (converted === undefined ? '' : `converted type ${converted}`);
  const sign = isSigned ? '' : ' unsigned';
  return annotation === '' ? physical : `${physical} (${annotation}${sign})`;
}

function badColumn({ name }: ColumnQuestion, found: string, expected: string): DataError {
  return new DataError(
    'bad-parquet',
    `Parquet column '${name}': found ${found}, expected ${expected}; report it to the operator of the service, or use transport: ndjson`,
  );
}

interface Budget {
  uncompressedBytes: number;
  rows: number;
  readonly maxRows: number;
}

/** What one column chunk says of itself. */
interface ChunkClaims {
  type: number;
  codec: number;
  values: number;
  uncompressedBytes: number;
  compressedBytes: number;
  dataAt: number;
  dictionaryAt: number;
  elsewhere: boolean;
}

function readRowGroup(
  reader: ThriftReader,
  index: number,
  wanted: readonly Leaf[],
  leafCount: number,
  bodyEnd: number,
  budget: Budget,
): ParquetRowGroup {
  const where = `row group ${index + 1}`;
  const claims = new Array<ChunkClaims | undefined>(wanted.length);
  let rows = -1;
  let chunkCount = 0;
  reader.struct((id, type) => {
    if (id === 3) rows = reader.number(type);
    else if (id === 1) {
      chunkCount = reader.list(type, (leaf) => {
        const place = wanted.findIndex((each) => each.index === leaf);
        if (place < 0) reader.skip(12);
        else claims[place] = readChunk(reader);
      });
    } else return false;
    return true;
  });
  if (chunkCount !== leafCount)
    throw badParquet(where, `${chunkCount} columns`, `${leafCount}, as in the schema`);
  if (!(rows >= 0)) throw badParquet(where, `${rows} rows`, 'a number of rows');
  budget.rows += rows;
  if (budget.rows > budget.maxRows)
    throw parquetTooLarge(`rows up to ${where}`, budget.rows, budget.maxRows, 'rows');
  const chunks = claims.map((claim, place) =>
    checkedChunk(claim, wanted[place]!, rows, bodyEnd, where, budget),
  );
  return { rows, chunks };
}

function readChunk(reader: ThriftReader): ChunkClaims {
  const claims: ChunkClaims = {
    ...{ type: -1, codec: -1, values: -1, uncompressedBytes: -1, compressedBytes: -1 },
    ...{ dataAt: -1, dictionaryAt: 0, elsewhere: false },
  };
  reader.struct((id) => {
    // A path to another file, or encrypted metadata.
    if (id === 1 || id === 8) claims.elsewhere = true;
    if (id !== 3) return false;
    reader.struct((field, fieldType) => {
      if (field === 1) claims.type = reader.number(fieldType);
      else if (field === 4) claims.codec = reader.number(fieldType);
      else if (field === 5) claims.values = reader.number(fieldType);
      else if (field === 6) claims.uncompressedBytes = reader.number(fieldType);
      else if (field === 7) claims.compressedBytes = reader.number(fieldType);
      else if (field === 9) claims.dataAt = reader.number(fieldType);
      else if (field === 11) claims.dictionaryAt = reader.number(fieldType);
      else return false;
      return true;
    });
    return true;
  });
  return claims;
}

function checkedChunk(
  claims: ChunkClaims | undefined,
  { element }: Leaf,
  rows: number,
  bodyEnd: number,
  group: string,
  budget: Budget,
): ColumnChunk {
  const where = `column '${element.name}' in ${group}`;
  if (claims === undefined || claims.elsewhere)
    throw badParquet(where, 'no metadata, or another file', 'both here');
  const { type, codec, values, uncompressedBytes, compressedBytes, dataAt, dictionaryAt } = claims;
  if (type !== element.type)
    throw badParquet(where, `type ${TYPE_NAMES[type] ?? type}`, 'that of the schema');
  if (values !== rows) throw badParquet(where, `${values} values`, `${rows}, one a row`);
  if (!(uncompressedBytes >= 0)) throw badParquet(where, `${uncompressedBytes} bytes uncompressed`, 'a size');
  budget.uncompressedBytes += uncompressedBytes;
  if (budget.uncompressedBytes > MAX_UNCOMPRESSED_BYTES)
    throw parquetTooLarge(
      where,
      budget.uncompressedBytes,
      MAX_UNCOMPRESSED_BYTES,
      'bytes uncompressed up to there',
    );
  const start = dictionaryAt > 0 ? Math.min(dictionaryAt, dataAt) : dataAt;
  const end = start + compressedBytes;
  if (!(start >= MAGIC_BYTES && compressedBytes >= 0 && end <= bodyEnd))
    throw badParquet(where, `bytes ${start} to ${end}`, `a place between ${MAGIC_BYTES} and ${bodyEnd}`);
  return { codec, start, end };
}

/** Chunks that share bytes would be decoded again and again. */
function assertApart(groups: readonly ParquetRowGroup[]): void {
  const chunks = groups.flatMap((group) => group.chunks).sort((a, b) => a.start - b.start);
  let end = 0;
  for (const chunk of chunks) {
    if (chunk.start < end && chunk.end > chunk.start)
      throw badParquet(FOOTER, `column chunks that overlap at byte ${chunk.start}`, 'each in its own place');
    end = Math.max(end, chunk.end);
  }
}
