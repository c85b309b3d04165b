/**
 * DuckDB, opened when it is first needed: it reads an exported lake and writes Parquet. It may touch the lake's
 * folder and a scratch folder of its own, and nothing else; extensions cannot be loaded. One thread, so that
 * the order of rows is one.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { TempFolder } from '../../temp-folder.ts';
import { openTempFolder } from '../../temp-folder.ts';

const MEMORY_LIMIT = '512MB';

export interface Engine {
  /** A connection for the time of `work`. */
  connect(): Promise<EngineConnection>;
  close(): Promise<void>;
}

interface EngineConnection extends AsyncDisposable {
  readonly connection: DuckDBConnection;
  /** Folder in which the connection may write. */
  readonly scratchDir: string;
}

/** An engine that may read below `readableDir`. Nothing is loaded before the first `connect`. */
export function createEngine(readableDir: string | undefined): Engine {
  let opening: Promise<{ instance: DuckDBInstance; scratch: TempFolder }> | undefined;
  const open = new Set<DuckDBConnection>();
  let closed = false;

  async function connect(): Promise<EngineConnection> {
    if (closed) throw new Error('the engine is closed');
    opening ??= openInstance(readableDir);
    const { instance, scratch } = await opening;
    const connection = await instance.connect();
    open.add(connection);
    return {
      connection,
      scratchDir: scratch.path,
      async [Symbol.asyncDispose]() {
        open.delete(connection);
        connection.closeSync();
      },
    };
  }

  async function close(): Promise<void> {
    closed = true;
    if (opening === undefined) return;
    const { instance, scratch } = await opening;
    for (const connection of open) connection.interrupt();
    instance.closeSync();
    await scratch.remove();
  }

  return { connect, close };
}

async function openInstance(readableDir: string | undefined) {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const scratch = await openTempFolder(tmpdir(), 'service');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: MEMORY_LIMIT,
    temp_directory: join(scratch.path, 'spill'),
    preserve_insertion_order: 'true',
    autoload_known_extensions: 'false',
    autoinstall_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  const connection = await instance.connect();
  const allowed = [scratch.path, ...(readableDir === undefined ? [] : [readableDir])];
  await connection.run(`SET allowed_directories = [${allowed.map(sqlText).join(', ')}]`);
  await connection.run('SET enable_external_access = false');
  await connection.run(`SET TimeZone = 'UTC'`).catch(() => undefined);
  await connection.run('SET lock_configuration = true');
  connection.closeSync();
  return { instance, scratch };
}

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
