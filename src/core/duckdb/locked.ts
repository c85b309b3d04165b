/** The one way to open a DuckDB: it touches the given folders only, loads no extension, counts in UTC, and nobody can change that. */
import { join } from 'node:path';
import { SqlConnection } from './connection.ts';
import { duckdbText, joinSql, type Sql, sql } from './sql-text.ts';

interface LockedOptions {
  readonly readableDirs: readonly string[];
  readonly tempDir: string;
  readonly threads: string;
  readonly memoryLimit: string;
  /** Most that is spilled to `tempDir`; absent: what the disk holds. */
  readonly maxSpill?: string;
  readonly keepsOrder: boolean;
  readonly withoutOptimizers?: string;
}

export type LockedDuckDb = Awaited<ReturnType<typeof openLockedDuckDb>>;

/** A new database in memory, locked down. Throws DuckDB's error. */
export async function openLockedDuckDb(options: LockedOptions) {
  const { DuckDBInstance, StatementType } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: options.threads,
    memory_limit: options.memoryLimit,
    temp_directory: join(options.tempDir, 'spill'),
    ...(options.maxSpill !== undefined && { max_temp_directory_size: options.maxSpill }),
    preserve_insertion_order: String(options.keepsOrder),
    autoload_known_extensions: 'false',
    autoinstall_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  const connect = async () => new SqlConnection(await instance.connect(), StatementType.SELECT);
  const connection = await connect();
  try {
    // Whether a file may be read is asked of the text of a pattern first, and then of what it matches.
    const folders = [options.tempDir, ...options.readableDirs].flatMap((path) => [path, asPattern(path)]);
    const allowed = joinSql([...new Set(folders)].map(duckdbText.literal));
    await connection.run(sql`SET allowed_directories = [${allowed}]`);
    await connection.run(sql`SET enable_external_access = false`);
    if (options.withoutOptimizers !== undefined)
      await connection.run(sql`SET disabled_optimizers = ${duckdbText.literal(options.withoutOptimizers)}`);
    await connection.run(sql`SET TimeZone = 'UTC'`).catch(() => undefined);
    await connection.run(sql`SET lock_configuration = true`);
  } finally {
    connection.closeSync();
  }
  return { connect, closeSync: () => instance.closeSync() };
}

/** An interrupt that comes before its query has begun is lost: it is said again and again. */
const INTERRUPT_EVERY_MS = 20;

/** Stop what a connection does once `signal` is aborted. Returns what ends that. */
export function interruptOnAbort(
  connection: Pick<SqlConnection, 'interrupt'>,
  signal: AbortSignal | undefined,
): () => void {
  let again: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    again = setTimeout(interrupt, INTERRUPT_EVERY_MS);
  };
  if (signal?.aborted) interrupt();
  signal?.addEventListener('abort', interrupt, { once: true });
  return () => {
    signal?.removeEventListener('abort', interrupt);
    clearTimeout(again);
  };
}

/** A path as (the beginning of) a pattern: what stands for itself is put in brackets. */
export function asPattern(path: string): string {
  return path.replace(/[[*?]/g, '[$&]');
}

/** A file's rows; its folders are not looked at. */
export function parquetRows(path: string): Sql {
  return sql`read_parquet(${pathLiteral(path)}, hive_partitioning = false)`;
}

/** A path as an SQL literal where DuckDB expects a pattern. */
export function pathLiteral(path: string): Sql {
  return duckdbText.literal(asPattern(path));
}
