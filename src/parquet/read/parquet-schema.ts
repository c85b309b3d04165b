/** The columns of a Parquet body, and whether they are those of the contract. */
import { DataError } from '../../core/errors.ts';
import { badParquet, parquetTooLarge } from './parquet-faults.ts';
import type { ThriftReader } from './thrift-reader.ts';

/** Where it stands, for messages. */
export const FOOTER = 'the footer';
const MAX_COLUMNS = 1_000;
/** Of `Type`, in order. */
export const TYPE_NAMES = [
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
type ColumnKind = 'timestamp' | 'long' | 'double' | 'text';

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

/** Read the list of columns and groups. */
export function readSchema(reader: ThriftReader, type: number): SchemaElement[] {
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
export interface Leaf {
  readonly index: number;
  readonly element: SchemaElement;
}

/** The columns at the top by name; those inside of groups are counted only. */
export function leavesOf(schema: readonly SchemaElement[]): { leaves: Map<string, Leaf>; leafCount: number } {
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

export function columnOf(question: ColumnQuestion, leaves: ReadonlyMap<string, Leaf>): ParquetColumn {
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
