/** The columns of a Parquet body, and whether they are those of the contract. */
import { ConvertedTypes, FieldRepetitionTypes, ParquetTypes } from 'hyparquet/src/constants.js';
import { DataError } from '../../core/errors.ts';
import { badParquet, parquetTooLarge } from './parquet-faults.ts';
import type { ThriftReader } from './thrift-reader.ts';

export const FOOTER = 'the footer';
const MAX_COLUMNS = 1_000;
/** Of the union `LogicalType`, by field. */
const LOGICAL_NAMES = [
  ...['', 'STRING', 'MAP', 'LIST', 'ENUM', 'DECIMAL', 'DATE', 'TIME', 'TIMESTAMP', '', 'INTEGER', 'NULL'],
  ...['JSON', 'BSON', 'UUID', 'FLOAT16'],
];
const [TIMESTAMP, INTEGER] = ['TIMESTAMP', 'INTEGER'].map((name) => LOGICAL_NAMES.indexOf(name));
/** Of the union `TimeUnit`, by field. */
const TIME_UNITS = ['millis', 'millis', 'micros', 'nanos'] as const;

type ColumnKind = 'timestamp' | 'long' | 'double' | 'text';

export interface ColumnQuestion {
  readonly name: string;
  readonly kind: ColumnKind;
}

export type TimeUnit = (typeof TIME_UNITS)[number];

export interface ParquetColumn extends ColumnQuestion {
  readonly isOptional: boolean;
  readonly unit: TimeUnit;
}

/** A column or a group; what it does not say is -1, and what is read of its logical type follows from the field. */
const NO_ELEMENT = {
  ...{ type: -1, repetition: -1, name: '', children: 0, converted: -1 },
  ...{ logical: -1, unit: -1, isSigned: true, bitWidth: 64 },
};
type SchemaElement = typeof NO_ELEMENT;

export function readSchema(reader: ThriftReader, type: number): SchemaElement[] {
  const schema: SchemaElement[] = [];
  reader.list(type, (index) => {
    if (index > MAX_COLUMNS) throw parquetTooLarge(FOOTER, index, MAX_COLUMNS, 'columns or more');
    schema.push(readSchemaElement(reader));
  });
  return schema;
}

function readSchemaElement(reader: ThriftReader): SchemaElement {
  const element = { ...NO_ELEMENT };
  reader.numbers(element, { 1: 'type', 3: 'repetition', 5: 'children', 6: 'converted' }, (id, type) => {
    if (id === 4) element.name = reader.text(type);
    else if (id === 10)
      reader.struct((union, unionType) => readLogicalType(reader, element, union, unionType));
    else return false;
    return true;
  });
  return element;
}

function readLogicalType(reader: ThriftReader, element: SchemaElement, union: number, type: number): boolean {
  element.logical = union;
  if ((union !== TIMESTAMP && union !== INTEGER) || type !== 12) return false;
  reader.struct((id, fieldType) => {
    if (union === INTEGER && id === 1) element.bitWidth = reader.number(fieldType);
    else if (union === INTEGER && id === 2) element.isSigned = reader.bool(fieldType);
    else if (union === TIMESTAMP && id === 2)
      reader.struct((unit) => {
        element.unit = unit;
        return false;
      });
    else return false;
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
    if (element.type === -1) {
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
  for (const name of repeated) leaves.get(name)!.element.repetition = -1;
  return { leaves, leafCount };
}

export function columnOf(question: ColumnQuestion, leaves: ReadonlyMap<string, Leaf>): ParquetColumn {
  const element = leaves.get(question.name)?.element;
  if (element === undefined) throw badColumn(question, 'no such column', 'the column');
  const repetition = FieldRepetitionTypes[element.repetition];
  if (repetition !== 'REQUIRED' && repetition !== 'OPTIONAL')
    throw badColumn(question, 'a repeated column, or two of that name', 'one value a row');
  const { expected, isFit } = FIT[question.kind];
  const named = namesOf(element);
  if (!isFit(named)) throw badColumn(question, `type ${describeType(named)}`, expected);
  const unit = TIME_UNITS[element.unit] ?? (named.annotation === 'TIMESTAMP_MICROS' ? 'micros' : 'millis');
  return { ...question, isOptional: repetition === 'OPTIONAL', unit };
}

interface NamedType {
  readonly type: string;
  /** The logical type, or where there is none the converted one, which it has replaced. */
  readonly annotation: string | undefined;
  /** Of integers: 64 bits with a sign. */
  readonly isSigned64: boolean;
  readonly isSigned: boolean;
}

function namesOf({ type, logical, converted, isSigned, bitWidth }: SchemaElement): NamedType {
  const annotation =
    logical === -1
      ? (ConvertedTypes[converted] ?? (converted === -1 ? undefined : `converted type ${converted}`))
      : LOGICAL_NAMES[logical] || `logical type ${logical}`;
  return {
    type: ParquetTypes[type] ?? String(type),
    annotation,
    isSigned,
    isSigned64: isSigned && bitWidth === 64,
  };
}

function isOneOf({ annotation = '' }: NamedType, ...names: readonly string[]): boolean {
  return names.includes(annotation);
}

function isLong(named: NamedType): boolean {
  return named.type === 'INT64' && named.isSigned64 && isOneOf(named, '', 'INTEGER', 'INT_64');
}

const FIT: Readonly<Record<ColumnKind, { expected: string; isFit: (named: NamedType) => boolean }>> = {
  timestamp: {
    expected: 'int64 epoch milliseconds or a TIMESTAMP',
    isFit: (named) =>
      isLong(named) ||
      (named.type === 'INT64' && isOneOf(named, 'TIMESTAMP', 'TIMESTAMP_MILLIS', 'TIMESTAMP_MICROS')),
  },
  long: { expected: 'int64', isFit: isLong },
  double: {
    expected: 'float64',
    isFit: (named) => named.type === 'DOUBLE' && named.annotation === undefined,
  },
  text: {
    expected: 'string',
    isFit: (named) => named.type === 'BYTE_ARRAY' && isOneOf(named, '', 'UTF8', 'STRING', 'ENUM', 'JSON'),
  },
};

function describeType({ type, annotation, isSigned }: NamedType): string {
  return annotation === undefined ? type : `${type} (${annotation}${isSigned ? '' : ' unsigned'})`;
}

function badColumn({ name }: ColumnQuestion, found: string, expected: string): DataError {
  return new DataError(
    'bad-parquet',
    `Parquet column '${name}': found ${found}, expected ${expected}; report it to the operator of the service, or use transport: ndjson`,
  );
}
