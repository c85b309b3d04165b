/**
 * Which objects a query may need, before any is fetched. DuckDB plans it over empty files in their places: its plan says which conditions on `vessel` and
 * `date` each scan has, and how many files they leave. Conditions on `timestamp` mean dates too. What is not understood, or does not add up, leaves all
 * objects: never one less than the query may need.
 */
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { duckdbText, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { objectsIn, parsed, parsedTree, readStatement } from './read-only.ts';

interface Scan {
  readonly fileFilters: readonly string[];
  /** `3/6`, where there are conditions on files. */
  readonly scanning: string | undefined;
  /** Conditions on rows: all of them hold. */
  readonly rowFilters: readonly string[];
}

/** The table of all objects that may be scanned: `job`, `vessel`, `date` and `place`, a number. */
export const OBJECTS_TABLE = sql`lake_objects`;

/** Places of the objects that `query` may need. */
export async function planObjects(connection: SqlConnection, query: Sql): Promise<Set<number>> {
  await connection.expectQuery(query);
  const [row] = await connection.rows(sql`EXPLAIN (FORMAT json) ${query}`);
  const scans = scansIn(parsed(String(row?.[1])));
  const needed = new Set<number>();
  for (const scan of scans) for (const place of await placesOf(connection, scan)) needed.add(place);
  return needed;
}

async function placesOf(connection: SqlConnection, scan: Scan): Promise<number[]> {
  const job = /\(job = ('(?:[^']|'')*')\)/.exec(scan.fileFilters.join(' '))?.[1];
  // Conditions are DuckDB's words for what somebody typed: they are checked as that was.
  const places = async (conditions: readonly string[]) => {
    const where = conditions.length === 0 ? '' : ` WHERE (${conditions.join(') AND (')})`;
    const { query } = await readStatement(connection, `SELECT place FROM ${OBJECTS_TABLE}${where}`);
    return (await connection.rows(query)).map(([place]) => Number(place));
  };
  if (job === undefined) return await places([]);
  const ofJob = `job = ${job}`;
  const conditions = [ofJob, ...scan.fileFilters];
  const left = await places(conditions).catch(() => undefined);
  if (left === undefined || left.length !== Number(scan.scanning?.split('/')[0]))
    return await places([ofJob]);
  const times = await timeConditions(connection, scan.rowFilters);
  return times.length === 0 ? left : await places([...conditions, ...times]);
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

const [FROM, UNTIL] = [sql`>=`, sql`<=`];
const COMPARISONS: Readonly<Record<string, readonly Sql[]>> = {
  COMPARE_GREATERTHAN: [FROM],
  COMPARE_GREATERTHANOREQUALTO: [FROM],
  COMPARE_LESSTHAN: [UNTIL],
  COMPARE_LESSTHANOREQUALTO: [UNTIL],
  COMPARE_EQUAL: [FROM, UNTIL],
};

/** What conditions on `timestamp` mean for `date`. */
async function timeConditions(connection: SqlConnection, filters: readonly string[]): Promise<Sql[]> {
  const conditions: Sql[] = [];
  for (const filter of filters) {
    if (!filter.includes('timestamp')) continue;
    const tree = await parsedTree(connection, `SELECT ${filter}`).catch(() => null);
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
function dateCondition({ type, left, right }: Node): Sql[] {
  const { type: kind, column_names: names = [] } = (left ?? {}) as Node & { column_names?: string[] };
  const { type: cast, cast_type, child } = (right ?? {}) as Readonly<Record<string, Node | undefined>>;
  const { value } = (child?.value ?? {}) as Node;
  const isColumn = kind === 'COLUMN_REF' && names.length === 1 && names[0] === 'timestamp';
  const isInstant = String(cast) === 'OPERATOR_CAST' && cast_type?.id === 'TIMESTAMP WITH TIME ZONE';
  if (!isColumn || !isInstant || child?.type !== 'VALUE_CONSTANT' || typeof value !== 'string') return [];
  const day = sql`CAST(CAST(${duckdbText.literal(value)} AS TIMESTAMPTZ) AS DATE)`;
  return (COMPARISONS[String(type)] ?? []).map((sign) => sql`date ${sign} ${day}`);
}
