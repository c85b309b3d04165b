/**
 * What a statement may be: one that reads. DuckDB itself is locked to the lake's folders, but it would write there; so
 * its own parser says what a statement is, and only queries whose table functions touch no file are run.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlText } from '../duckdb/locked.ts';
import { ConfigError, DataError, messageOf } from '../errors.ts';
import { shortName } from '../model/index.ts';

/** Table functions that make rows of nothing but their arguments, or say what there is. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['unnest', 'range', 'generate_series', 'repeat', 'repeat_row', 'json_each', 'json_tree', 'summary'],
  ...[
    'duckdb_columns',
    'duckdb_functions',
    'duckdb_keywords',
    'duckdb_tables',
    'duckdb_types',
    'duckdb_views',
  ],
  ...['pragma_table_info', 'pragma_version', 'icu_calendar_names', 'pg_timezone_names'],
  ...['histogram', 'histogram_values'],
]);
/** Functions that do something. */
const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set(['write_log', 'nextval', 'setseed', 'sleep_ms']);

const EXPLAIN = /^\s*EXPLAIN(\s+ANALYZE)?\s+(?!\()/i;

export interface ReadStatement {
  /** Without the semicolon at its end. */
  readonly text: string;
  /** What is explained, or the same. */
  readonly query: string;
  /** Names of the relations that it reads, in lower case. */
  readonly relations: ReadonlySet<string>;
  /** Asks which relations there are. */
  readonly shows: boolean;
}

/** A statement of DuckDB's parser, checked. Throws ConfigError `sql` that says what is allowed. */
export async function readStatement(connection: DuckDBConnection, sql: string): Promise<ReadStatement> {
  const text = sql.trim().replace(/(\s*;\s*)+$/, '');
  const query = text.replace(EXPLAIN, '');
  const tree = await serialized(connection, query);
  const relations = new Set<string>();
  let shows = false;
  for (const node of objectsIn(tree)) {
    if (node.type === 'BASE_TABLE') relations.add(String(node.table_name).toLowerCase());
    if (node.type === 'SHOW_REF') shows = true;
    const called = functionOf(node);
    if (called === undefined) continue;
    const isTable = node.type === 'TABLE_FUNCTION';
    if (isTable ? !TABLE_FUNCTIONS.has(called) : REFUSED_FUNCTIONS.has(called))
      throw refused(`the function ${shortName(called)}`);
  }
  return { text, query, relations, shows };
}

type TreeNode = Readonly<Record<string, unknown>>;

async function serialized(connection: DuckDBConnection, query: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(`SELECT json_serialize_sql(${sqlText(query)})`);
  const tree = parsed(String(reader.getRows()[0]?.[0])) as TreeNode;
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
