/** Objects as rows of a file with nested columns: structs, lists and maps in the three-level form of the format. */
import type { SchemaElement } from 'hyparquet';
import type { LeafColumn } from './leaf-column.ts';
import type { PlainFile, SchemaNode } from './plain-file.ts';
import { schemaTree } from './plain-file.ts';

/**
 * Adds an object's members to the columns of their names; what is null or missing is null. Maps are objects, lists arrays, 64-bit
 * integers numbers. Throws RangeError for a member that is required and missing.
 */
export function rowAdder(
  file: PlainFile,
  schema: readonly SchemaElement[],
): (row: Readonly<Record<string, unknown>>) => void {
  let leaf = 0;
  const adders = schemaTree(schema).children.map((child) => adderOf(child, () => file.columns[leaf++]!));
  const names = schemaTree(schema).children.map(({ element }) => element.name);
  return (row) => {
    for (const [i, add] of adders.entries()) add(row[names[i]!], 0, 0);
  };
}

/** Adds a value whose parents are defined up to `definition`. */
type Add = (value: unknown, repetition: number, definition: number) => void;

function adderOf(node: SchemaNode, nextColumn: () => LeafColumn): Add {
  const { element, definition, children } = node;
  const column = element.type === undefined ? undefined : nextColumn();
  const members = children.map((child) => [child.element.name, adderOf(child, nextColumn)] as const);
  const addThere: Add = (value, repetition) => {
    if (column !== undefined) return addValue(column, value, repetition);
    const object = memberOf(element, value);
    for (const [name, add] of members) add(object[name], repetition, definition);
  };
  const addNull: Add = (_, repetition, at) => {
    if (column !== undefined) column.addNull(at, repetition);
    else for (const [, add] of members) add(undefined, repetition, at);
  };
  return (value, repetition, at) => {
    const items =
      element.repetition_type === 'REPEATED' ? (value as readonly unknown[] | undefined) : [value];
    const isNull = items === undefined || items.length === 0 || items[0] === undefined || items[0] === null;
    if (isNull && element.repetition_type === 'REQUIRED' && at === definition && column !== undefined)
      throw new RangeError(`got no ${element.name}, expected one in each row that has its group`);
    if (isNull) return addNull(value, repetition, at);
    for (const [i, item] of items.entries()) addThere(item, i === 0 ? repetition : node.repetition, at);
  };
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
