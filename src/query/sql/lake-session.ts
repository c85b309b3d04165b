/**
 * DuckDB with the views of a lake. A lake in a folder is read where it is; of one elsewhere, each query's objects are
 * fetched first: those that its conditions on vessel, date and timestamp leave. Nothing is written, nothing else is read.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { interruptOnAbort, type LockedDuckDb, openLockedDuckDb } from '../../core/duckdb/locked.ts';
import { sql } from '../../core/duckdb/sql-text.ts';
import { CancelledError, ConfigError, messageOf } from '../../core/errors.ts';
import { openTempFolder } from '../../core/process/temp-folder.ts';
import { objectPrefix } from '../../lake/keys.ts';
import type { ViewedLake } from '../views/dialect.ts';
import type { NamedSeries } from '../views/wide-columns.ts';
import { lakeFolder } from './lake-files.ts';
import { LakeViews, type LakeViewsOptions } from './lake-views.ts';
import { queryError } from './query-error.ts';
import { readStatement } from './read-only.ts';
import type { Rows } from './rows.ts';

const MEMORY_LIMIT = '1GB';
const MAX_SPILL = '16GB';
const MAX_THREADS = 4;

interface SessionOptions extends LakeViewsOptions {
  /** TEMP_DIR. */
  readonly tempDir: string;
}

export interface LakeSession {
  /** Without `schema`, which is the caller's. */
  readonly lake: ViewedLake;
  /** Rows of a query as they come; one query at a time. Throws ConfigError `sql` for what is no query that reads. */
  query(typed: string, signal: AbortSignal): Promise<Rows>;
  /** The same into a Parquet file in the session's own folder, whose path it gives. */
  writeParquet(typed: string, signal: AbortSignal): Promise<string>;
  /** The series of the newest snapshots. Throws ConfigError `no-metadata`. */
  series(signal: AbortSignal): Promise<NamedSeries[]>;
  close(): Promise<void>;
}

/** Throws ConfigError where TEMP_DIR cannot be used, and what the store throws. */
export async function openLakeSession(options: SessionOptions, signal: AbortSignal): Promise<LakeSession> {
  const { tempDir, store } = options;
  const folder = await openTempFolder(tempDir, 'sql').catch((error: unknown) => {
    throw new ConfigError('temp-dir', `TEMP_DIR: cannot make a folder in '${tempDir}': ${messageOf(error)}`);
  });
  const localDir = lakeFolder(store.url);
  let instance: LockedDuckDb | undefined;
  async function close() {
    instance?.closeSync();
    await folder.remove();
  }
  try {
    instance = await openLockedDuckDb({
      readableDirs: localDir === undefined ? [] : readableDirs(localDir, options),
      tempDir: folder.path,
      threads: String(Math.min(MAX_THREADS, availableParallelism())),
      memoryLimit: MEMORY_LIMIT,
      maxSpill: MAX_SPILL,
      keepsOrder: true,
      // It scans files a second time, by their places in the list, and without the conditions that leave some out.
      withoutOptimizers: 'late_materialization',
    });
    const connection = await instance.connect();
    const views = new LakeViews(connection, options, folder.path);
    const session = new Session(connection, views, folder.path, close);
    await session.open(signal);
    return session;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Folders of the jobs' objects: of the rest of a lake there is nothing to be seen. */
function readableDirs(lakeDir: string, { sources, emptySources }: SessionOptions): string[] {
  return [...sources, ...emptySources].map(({ job }) => join(lakeDir, objectPrefix(job)));
}

class Session implements LakeSession {
  private readonly connection: SqlConnection;
  private readonly views: LakeViews;
  private readonly dir: string;
  private readonly closeAll: () => Promise<void>;

  constructor(connection: SqlConnection, views: LakeViews, dir: string, close: () => Promise<void>) {
    this.connection = connection;
    this.views = views;
    this.dir = dir;
    this.closeAll = close;
  }

  get lake(): ViewedLake {
    return this.views.lake;
  }

  open(signal: AbortSignal): Promise<void> {
    return this.during(signal, () => this.views.open(signal));
  }

  query(typed: string, signal: AbortSignal): Promise<Rows> {
    return this.during(signal, async () => {
      const { columns, rows } = await this.views.read(typed, signal);
      return { columns, rows: this.guarded(rows, signal) };
    });
  }

  writeParquet(typed: string, signal: AbortSignal): Promise<string> {
    return this.during(signal, async () => {
      const statement = await readStatement(this.connection, typed);
      if (statement.explain !== undefined) throw new ConfigError('sql', 'found EXPLAIN, expected a query');
      await this.views.prepare(statement, signal);
      await this.connection.expectQuery(statement.query);
      const path = join(this.dir, 'result.parquet');
      // What was checked stands on lines of its own: a comment at its end hides nothing.
      await this.connection.run(sql`COPY (\n${statement.query}\n) TO $1 (FORMAT parquet, COMPRESSION zstd)`, [
        path,
      ]);
      return path;
    });
  }

  series(signal: AbortSignal): Promise<NamedSeries[]> {
    return this.during(signal, () => this.views.series(signal));
  }

  close(): Promise<void> {
    this.connection.closeSync();
    return this.closeAll();
  }

  /** What DuckDB does for a query ends with its signal. */
  private async during<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const stopInterrupting = interruptOnAbort(this.connection, signal);
    try {
      if (signal.aborted) throw new CancelledError('interrupted');
      return await work();
    } catch (error) {
      throw this.errorOf(error, signal);
    } finally {
      stopInterrupting();
    }
  }

  private async *guarded<T>(rows: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
    const stopInterrupting = interruptOnAbort(this.connection, signal);
    try {
      yield* rows;
    } catch (error) {
      throw this.errorOf(error, signal);
    } finally {
      stopInterrupting();
    }
  }

  private errorOf(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return new CancelledError('interrupted');
    return queryError(error, this.views.names);
  }
}
