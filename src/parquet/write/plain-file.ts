import type { RowGroup, SchemaElement } from 'hyparquet';
import { createByteSink } from './byte-sink.ts';
import { shiftChunk } from './column-chunk.ts';
import { type Leaf, LeafColumn } from './leaf-column.ts';
import { PARQUET_MAGIC, putFooter, rowGroupBytes } from './parquet-thrift.ts';

/** Parquet files that are none of a dataset's, of any schema. In memory are one row group, and some hundred bytes of each before. */

export type { SchemaElement };
export { PARQUET_MAGIC };

interface PlainFileOptions {
  readonly createdBy: string;
  /** Columns whose values repeat, by path with dots. */
  readonly dictionaries?: readonly string[];
}

export class PlainFile {
  readonly columns: readonly LeafColumn[];
  readonly #schema: readonly SchemaElement[];
  readonly #createdBy: string;
  readonly #groups: Uint8Array[] = [];
  #rows = 0n;
  #bytes = PARQUET_MAGIC.length;

  /** The file begins with `PARQUET_MAGIC`, which is the caller's to write. */
  constructor(schema: readonly SchemaElement[], { createdBy, dictionaries = [] }: PlainFileOptions) {
    this.#schema = schema;
    this.#createdBy = createdBy;
    this.columns = leavesOf(schema).map(
      (leaf) => new LeafColumn(leaf, { dictionary: dictionaries.includes(leaf.path.join('.')) }),
    );
  }

  /** The row group of what was added since the last, column by column; `fill` is called before each by who keeps one in memory. */
  *rowGroup(fill?: (column: LeafColumn) => void): Generator<Uint8Array> {
    const at = this.#bytes;
    const chunks: RowGroup['columns'] = [];
    let [rows, uncompressed] = [-1, 0n];
    for (const column of this.columns) {
      fill?.(column);
      if (rows === -1) rows = column.rows;
      if (column.rows !== rows || rows === 0)
        throw new RangeError(`got ${column.rows} rows of ${column.leaf.path}, expected ${rows || 'some'}`);
      const sink = createByteSink();
      const { chunk } = column.appendTo(sink);
      shiftChunk(chunk, BigInt(this.#bytes));
      uncompressed += chunk.meta_data.total_uncompressed_size;
      chunks.push(chunk);
      this.#bytes += sink.at;
      yield sink.bytes.subarray(0, sink.at);
    }
    this.#rows += BigInt(rows);
    this.#groups.push(
      rowGroupBytes({
        ...{ columns: chunks, total_byte_size: uncompressed, num_rows: BigInt(rows) },
        ...{ file_offset: BigInt(at), total_compressed_size: BigInt(this.#bytes - at) },
      }),
    );
  }

  end(keyValues: Readonly<Record<string, string>> = {}): Uint8Array {
    const sink = createByteSink();
    const pairs = Object.entries(keyValues).map(([key, value]) => ({ key, value }));
    putFooter(sink, {
      version: 1,
      schema: [...this.#schema],
      num_rows: this.#rows,
      row_groups: this.#groups,
      ...(pairs.length > 0 && { key_value_metadata: pairs }),
      created_by: this.#createdBy,
    });
    return sink.bytes.subarray(0, sink.at);
  }
}

interface SchemaNode {
  readonly element: SchemaElement;
  /** Definition level of something that is there, and repetition level of an item after the first. */
  readonly definition: number;
  readonly repetition: number;
  readonly children: readonly SchemaNode[];
}

function schemaTree(schema: readonly SchemaElement[]): SchemaNode {
  let at = 0;
  const read = (definition: number, repetition: number): SchemaNode => {
    const element = schema[at++]!;
    const { repetition_type: kind = 'REQUIRED', num_children: count = 0 } = element;
    const own = definition + (kind === 'REQUIRED' ? 0 : 1);
    const ownRepetition = repetition + (kind === 'REPEATED' ? 1 : 0);
    const children = Array.from({ length: count }, () => read(own, ownRepetition));
    return { element, definition: own, repetition: ownRepetition, children };
  };
  return read(0, 0);
}

function leavesOf(schema: readonly SchemaElement[]): Leaf[] {
  const walk = ({ element, children, ...levels }: SchemaNode, path: readonly string[]): Leaf[] =>
    element.type === undefined
      ? children.flatMap((child) => walk(child, [...path, child.element.name]))
      : [{ path, type: element.type, ...levels }];
  return walk(schemaTree(schema), []);
}

/** Objects as rows of a file with nested columns: structs, lists and maps in the three-level form of the format. */

/** Adds an object's members to the columns of their names. Throws RangeError for a member that is required and missing. */
export function rowAdder(
  file: PlainFile,
  schema: readonly SchemaElement[],
): (row: Readonly<Record<string, unknown>>) => void {
  let leaf = 0;
  const members = schemaTree(schema).children.map((child) => ({
    name: child.element.name,
    ...adderOf(child, () => file.columns[leaf++]!),
  }));
  return (row) => {
    for (const { name, add } of members) add(row[name], 0, 0);
  };
}

/** Adds a value whose parents are defined up to `definition`. */
type Add = (value: unknown, repetition: number, definition: number) => void;

interface Adder {
  readonly add: Add;
  /** The columns in it, for where it is null. */
  readonly columns: readonly LeafColumn[];
}

function adderOf(node: SchemaNode, nextColumn: () => LeafColumn): Adder {
  const { element, definition, children } = node;
  const { repetition_type: kind } = element;
  const column = element.type === undefined ? undefined : nextColumn();
  const members = children.map((child) => ({ name: child.element.name, ...adderOf(child, nextColumn) }));
  const columns = column === undefined ? members.flatMap((member) => member.columns) : [column];
  const addThere: Add = (value, repetition) => {
    if (column !== undefined) return addValue(column, value, repetition);
    const object = memberOf(element, value);
    for (const { name, add } of members) add(object[name], repetition, definition);
  };
  const addNull: Add = (_, repetition, at) => {
    if (kind === 'REQUIRED')
      throw new RangeError(`got no ${element.name}, expected one in each row that has its group`);
    for (const each of columns) each.addNull(at, repetition);
  };
  const add: Add = (value, repetition, at) => {
    if (value === undefined || value === null) return addNull(value, repetition, at);
    if (kind !== 'REPEATED') return addThere(value, repetition, at);
    const items = value as readonly unknown[];
    if (items.length === 0) return addNull(value, repetition, at);
    for (const [i, item] of items.entries()) addThere(item, i === 0 ? repetition : node.repetition, at);
  };
  return { add, columns };
}

/** Maps and lists have a group of one member between them and their items. */
function memberOf(
  { converted_type: kind }: SchemaElement,
  value: unknown,
): Readonly<Record<string, unknown>> {
  if (kind === 'LIST') return { list: (value as readonly unknown[]).map((element) => ({ element })) };
  if (kind !== 'MAP') return value as Record<string, unknown>;
  const entries = Object.entries(value as Record<string, unknown>);
  return { key_value: entries.map(([key, of]) => ({ key, value: of })) };
}

function addValue(column: LeafColumn, value: unknown, repetition: number): void {
  if (typeof value === 'string') column.addText(value, repetition);
  else column.addNumber(Number(value), repetition);
}
