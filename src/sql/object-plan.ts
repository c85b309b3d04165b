/**
 * Which objects a query may need, before any is fetched. DuckDB plans it over empty files in the places of the objects,
 * one folder a job: its plan says which conditions on `vessel` and `date` each scan has, and how many files they leave.
 * Conditions on `timestamp` mean dates too, for an object holds those of its date. What is not understood, or does not
 * add up, leaves all objects: never one less than the query may need.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlText } from '../duckdb/locked.ts';
import { objectsIn, parsed } from './read-only.ts';

/** A scan of a job's files in the plan. */
interface Scan {
  readonly fileFilters: readonly string[];
  /** `3/6`, where there are conditions on files. */
  readonly scanning: string | undefined;
  /** Conditions on rows: all of them hold. */
  readonly rowFilters: readonly string[];
}

/** The table of all objects that may be scanned: `job`, `vessel`, `date` and `place`, a number. */
export const OBJECTS_TABLE = 'lake_objects';

/** Places of the objects that `query` may need. */
export async function planObjects(connection: DuckDBConnection, query: string): Promise<Set<number>> {
  const reader = await connection.runAndReadAll(`EXPLAIN (FORMAT json) ${query}`);
  const rows = reader.getRows();
  const scans = scansIn(parsed(String(rows[0]?.[1])));
  const needed = new Set<number>();
  for (const scan of scans) for (const place of await placesOf(connection, scan)) needed.add(place);
  return needed;
}

async function placesOf(connection: DuckDBConnection, scan: Scan): Promise<number[]> {
  const job = /\(job = ('(?:[^']|'')*')\)/.exec(scan.fileFilters.join(' '))?.[1];
  const all = `SELECT place FROM ${OBJECTS_TABLE}${job === undefined ? '' : ` WHERE job = ${job}`}`;
  const places = async (sql: string) =>
    (await connection.runAndReadAll(sql)).getRows().map(([place]) => Number(place));
  if (job === undefined) return await places(all);
  const conditions = scan.fileFilters.map((filter) => ` AND (${filter})`).join('');
  const left = await places(all + conditions).catch(() => undefined);
  if (left === undefined || left.length !== Number(scan.scanning?.split('/')[0])) return await places(all);
  const times = await timeConditions(connection, scan.rowFilters);
  return times.length === 0
    ? left
    : await places(all + conditions + times.map((one) => ` AND ${one}`).join(''));
}

type Node = Readonly<Record<string, unknown>>;

function scansIn(plan: unknown): Scan[] {
  const scans: Scan[] = [];
  const walk = (node: Node, above: readonly string[]) => {
    const info = (node.extra_info ?? {}) as Node;
    const children = (node.children ?? []) as readonly Node[];
    if (/PARQUET/.test(`${node.name} ${String(info.Function)}`))
      scans.push({
        fileFilters: texts(info['File Filters']).flatMap(inParentheses),
        scanning: typeof info['Scanning Files'] === 'string' ? info['Scanning Files'] : undefined,
        rowFilters: [...above, ...texts(info.Filters)],
      });
    // Only what stands right above a scan speaks of its columns.
    const own = node.name === 'FILTER' ? [...above, ...texts(info.Expression)] : [];
    for (const child of children) walk(child, own);
  };
  for (const node of plan as readonly Node[]) walk(node, []);
  return scans;
}

/** `(a = 1)suffix(b, 'x)')` → its two conditions: DuckDB writes them one after the other, and all of them hold. */
function inParentheses(text: string): string[] {
  const groups: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]/g)) {
    if (token === '(') depth++;
    if (token !== ')' || --depth > 0) continue;
    groups.push(text.slice(from, index + 1));
    from = index + 1;
  }
  // What is not made so is one condition, or none that can be asked.
  return groups.join('') === text ? groups : [text];
}

function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === 'string');
}

const COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  COMPARE_GREATERTHAN: ['>='],
  COMPARE_GREATERTHANOREQUALTO: ['>='],
  COMPARE_LESSTHAN: ['<='],
  COMPARE_LESSTHANOREQUALTO: ['<='],
  COMPARE_EQUAL: ['>=', '<='],
};

/** What conditions on `timestamp` mean for `date`. */
async function timeConditions(connection: DuckDBConnection, filters: readonly string[]): Promise<string[]> {
  const conditions: string[] = [];
  for (const filter of filters) {
    if (!filter.includes('timestamp')) continue;
    const reader = await connection
      .runAndReadAll(`SELECT json_serialize_sql(${sqlText(`SELECT ${filter}`)})`)
      .catch(() => undefined);
    const tree = parsed(String(reader?.getRows()[0]?.[0] ?? 'null')) as Node | null;
    const node = [...objectsIn(tree)].find((one) => Array.isArray(one.select_list));
    const [expression, ...others] = (node?.select_list ?? []) as readonly Node[];
    if (expression === undefined || others.length > 0) continue;
    conditions.push(...conjuncts(expression).flatMap(dateCondition));
  }
  return conditions;
}

function conjuncts(expression: Node): Node[] {
  if (expression.type !== 'CONJUNCTION_AND') return [expression];
  return (expression.children as readonly Node[]).flatMap(conjuncts);
}

/** `timestamp >= '…'::TIMESTAMPTZ` and its like; anything else means nothing. */
function dateCondition({ type, left, right }: Node): string[] {
  const column = left as Node | undefined;
  const names = column?.type === 'COLUMN_REF' ? (column.column_names as readonly string[]) : [];
  const cast = right as Node | undefined;
  const constant = cast?.child as Node | undefined;
  const value = constant?.value as Node | undefined;
  const isInstant = (cast?.cast_type as Node | undefined)?.id === 'TIMESTAMP WITH TIME ZONE';
  if (names.length !== 1 || names[0] !== 'timestamp' || cast?.type !== 'OPERATOR_CAST' || !isInstant)
    return [];
  if (constant?.type !== 'VALUE_CONSTANT' || typeof value?.value !== 'string') return [];
  const day = `CAST(CAST(${sqlText(value.value)} AS TIMESTAMPTZ) AS DATE)`;
  return (COMPARISONS[String(type)] ?? []).map((sign) => `date ${sign} ${day}`);
}
