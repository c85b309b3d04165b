/** Objects as rows of a file with nested columns: structs, lists and maps in the three-level form of the format. */
import type { SchemaElement } from 'hyparquet';
import type { LeafColumn } from './leaf-column.ts';
import type { PlainFile, SchemaNode } from './plain-file.ts';
import { schemaTree } from './plain-file.ts';

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
