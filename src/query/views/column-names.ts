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

interface Naming {
  readonly wanted?: (name: string) => string;
  /** The columns that a name makes; default: one, called like it. */
  readonly columnsOf?: (column: string, name: string) => readonly string[];
  readonly maxChars?: number;
}

/**
 * A column name for each of the distinct names, all in small letters, none made twice or `taken`. Names that want the same, or are too long, get an
 * ending made of the name itself, which stays the same whatever others there are.
 */
export function columnNames(
  names: readonly string[],
  taken: Iterable<string>,
  { wanted = columnName, columnsOf = (column) => [column], maxChars = MAX_CHARS }: Naming = {},
): ReadonlyMap<string, string> {
  const claims = Map.groupBy(
    names.flatMap((name) => columnsOf(wanted(name), name)),
    (column) => column,
  );
  const used = new Set(taken);
  const isClear = (name: string) => {
    const column = wanted(name);
    const isFree = columnsOf(column, name).every((own) => claims.get(own)!.length === 1 && !used.has(own));
    return isFree && column !== '' && column.length <= maxChars;
  };
  const found = new Map<string, string>();
  const take = (name: string, column: string): boolean => {
    const columns = columnsOf(column, name);
    if (columns.some((own) => used.has(own))) return false;
    for (const own of columns) used.add(own);
    found.set(name, column);
    return true;
  };
  const clear = new Set(names.filter(isClear));
  for (const name of clear) take(name, wanted(name));
  for (const name of names.filter((one) => !clear.has(one)).sort()) {
    const ending = createHash('sha256').update(name).digest('hex').slice(0, 6);
    const ended = `${wanted(name).slice(0, maxChars) || 'c'}_${ending}`;
    // Whoever makes names up can have endings alike.
    for (let n = 1; !take(name, n === 1 ? ended : `${ended}_${n}`); n++);
  }
  return found;
}
