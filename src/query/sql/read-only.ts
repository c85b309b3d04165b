/**
 * What a statement may be: one that reads. DuckDB is locked to the lake's folders, but would write there; so its own parser says what a statement is made
 * of, and only queries of known parts, whose table functions touch no file, are run. Prepared, it says once more whether it reads (SqlConnection).
 */
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { checkedByParser, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { ConfigError, DataError, messageOf } from '../../core/errors.ts';
import { shortName } from '../../core/model/index.ts';

/** Table functions that make rows of nothing but their arguments, or say what there is. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['unnest', 'range', 'generate_series', 'repeat', 'repeat_row', 'json_each', 'json_tree', 'summary'],
  ...['duckdb_columns', 'duckdb_functions', 'duckdb_keywords', 'duckdb_tables', 'duckdb_types'],
  'duckdb_views',
  ...['pragma_table_info', 'pragma_version', 'icu_calendar_names', 'pg_timezone_names'],
  ...['histogram', 'histogram_values'],
]);
/** Parts of a query that are no expressions: nodes, relations, and what belongs to them. */
const PARTS =
  /^(SELECT|SET_OPERATION|RECURSIVE_CTE|CTE)_NODE$|^(EMPTY|BASE_TABLE|SUBQUERY|JOIN|TABLE_FUNCTION|EXPRESSION_LIST|PIVOT|SHOW_REF)$|^(ORDER_DEFAULT|ASCENDING|DESCENDING)$|_(MODIFIER|TYPE_INFO)$/;
/** Functions that do something. */
const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set(['write_log', 'nextval', 'setseed', 'sleep_ms']);

const EXPLAIN = /^\s*EXPLAIN(\s+ANALYZE)?\s+(?!\()/i;

export interface ReadStatement {
  /** Without the semicolon at its end. */
  readonly query: Sql;
  /** What stands before it, where it is to be explained. */
  readonly explain: Sql | undefined;
  /** Names of the relations that it reads, in lower case. */
  readonly relations: ReadonlySet<string>;
  /** Asks which relations there are. */
  readonly shows: boolean;
}

/** A statement of DuckDB's parser, checked. Throws ConfigError `sql` that says what is allowed. */
export async function readStatement(connection: SqlConnection, typed: string): Promise<ReadStatement> {
  if (typed.includes('\0')) throw refused('a NUL');
  const text = typed.trim().replace(/(\s*;\s*)+$/, '');
  const [before, analyze] = EXPLAIN.exec(text) ?? [];
  const query = text.slice(before?.length ?? 0);
  const explain = before === undefined ? undefined : sql`EXPLAIN${analyze ? sql` ANALYZE` : sql``}`;
  const tree = await serialized(connection, query);
  const relations = new Set<string>();
  let shows = false;
  for (const node of objectsIn(tree)) {
    if (node.type === 'BASE_TABLE') relations.add(String(node.table_name).toLowerCase());
    if (node.type === 'SHOW_REF') shows = true;
    if (typeof node.type === 'string' && node.class === undefined && !PARTS.test(node.type))
      throw refused(shortName(node.type));
    const called = functionOf(node);
    if (called === undefined) continue;
    const isTable = node.type === 'TABLE_FUNCTION';
    if (isTable ? !TABLE_FUNCTIONS.has(called) : REFUSED_FUNCTIONS.has(called))
      throw refused(`the function ${shortName(called)}`);
  }
  return { query: checkedByParser(query), explain, relations, shows };
}

type TreeNode = Readonly<Record<string, unknown>>;

async function serialized(connection: SqlConnection, query: string): Promise<unknown> {
  const tree = (await parsedTree(connection, query)) as TreeNode;
  if (tree.error === true) {
    const message = String(tree.error_message);
    if (tree.error_type === 'parser') throw new ConfigError('sql', `not SQL that DuckDB reads: ${message}`);
    throw refused('something else');
  }
  const statements = tree.statements as readonly unknown[];
  if (statements.length !== 1)
    throw refused(statements.length === 0 ? 'nothing' : `${statements.length} statements`);
  return statements[0];
}

export async function parsedTree(connection: SqlConnection, text: string): Promise<unknown> {
  const [row] = await connection.rows(sql`SELECT json_serialize_sql(CAST($1 AS VARCHAR))`, [text]);
  return parsed(String(row?.[0]));
}

/** DuckDB's own words. Throws DataError `unexpected-plan`. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new DataError('unexpected-plan', `DuckDB's answer is no JSON: ${messageOf(error)}`);
  }
}

function refused(found: string): ConfigError {
  return new ConfigError(
    'sql',
    `found ${found}, expected one query that reads the lake's views: SELECT, WITH, FROM, PIVOT … IN (…), DESCRIBE, SUMMARIZE, SHOW TABLES or EXPLAIN; files are written by --csv, --json and --parquet`,
  );
}

function functionOf(node: TreeNode): string | undefined {
  const holder = node.type === 'TABLE_FUNCTION' ? (node.function as TreeNode | undefined) : node;
  const name = holder?.function_name;
  return typeof name === 'string' ? name.toLowerCase() : undefined;
}

/** Every object of a value, the value itself first. */
export function* objectsIn(value: unknown): Generator<TreeNode> {
  const waiting = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== 'object' || one === null) continue;
    if (!Array.isArray(one)) yield one as TreeNode;
    waiting.push(...Object.values(one));
  }
}
