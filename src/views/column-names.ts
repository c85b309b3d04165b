/** Names of columns that every warehouse takes, made of names that people gave. */
import { createHash } from 'node:crypto';

/** Below what any of the warehouses allows, with room for an ending. */
const MAX_CHARS = 54;

/** `ME Fuel Oil Consumption` → `me_fuel_oil_consumption`; '' where nothing of the name is left. */
export function columnName(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = ascii.replace(/[^a-z0-9]+/g, '_').replace(/^_+|_+$/g, '');
  return /^\d/.test(words) ? `c_${words}` : words;
}

/**
 * A column name for each of the distinct names. Where several would be called alike, or like one that is `taken`, or
 * a name is too long, an ending made of the name itself tells them apart: it stays the same whatever others there are.
 */
export function columnNames(names: readonly string[], taken: readonly string[]): ReadonlyMap<string, string> {
  const wanted = names.map((name) => [name, columnName(name)] as const);
  const times = Map.groupBy(wanted, ([, column]) => column);
  const fixed = new Set(taken);
  return new Map(
    wanted.map(([name, column]) => {
      const isClear = times.get(column)!.length === 1 && column !== '' && !fixed.has(column);
      if (isClear && column.length <= MAX_CHARS) return [name, column];
      const ending = createHash('sha256').update(name).digest('hex').slice(0, 6);
      return [name, `${column.slice(0, MAX_CHARS) || 'c'}_${ending}`];
    }),
  );
}
