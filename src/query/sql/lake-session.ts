/** DuckDB with the views of a lake: in a folder as it is; elsewhere the objects that a query's conditions leave are fetched. Nothing else is read. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { interruptOnAbort, type LockedDuckDb, openLockedDuckDb } from '../../core/duckdb/locked.ts';
import { sql } from '../../core/duckdb/sql-text.ts';
import { CancelledError, ConfigError, messageOf } from '../../core/errors.ts';
import { openTempFolder } from '../../core/process/temp-folder.ts';
import { objectPrefix } from '../../lake/keys.ts';
import { lakeFolder } from './lake-sources.ts';
import { createLakeViews, type LakeViews, type LakeViewsOptions } from './lake-views.ts';
import { readStatement } from './read-only.ts';
import { queryError, type Rows } from './rows.ts';

const MEMORY_LIMIT = '1GB';
const MAX_SPILL = '16GB';
const MAX_THREADS = 4;

interface SessionOptions extends LakeViewsOptions {
  readonly tempDir: string;
}

export type LakeSession = ReturnType<typeof sessionOn>;

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
    const views = createLakeViews(connection, options, folder.path);
    const session = sessionOn(connection, views, folder.path, close);
    await session.open(signal);
    return session;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Folders of the jobs' objects: the rest of a lake is not to be seen. */
function readableDirs(lakeDir: string, { sources, emptySources }: SessionOptions): string[] {
  return [...sources, ...emptySources].map(({ job }) => join(lakeDir, objectPrefix(job)));
}

function sessionOn(connection: SqlConnection, views: LakeViews, dir: string, close: () => Promise<void>) {
  const errorOf = (error: unknown, signal: AbortSignal) =>
    signal.aborted ? new CancelledError('interrupted') : queryError(error, views.names());

  /** What DuckDB does for a query ends with its signal. */
  async function during<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const stopInterrupting = interruptOnAbort(connection, signal);
    try {
      if (signal.aborted) throw new CancelledError('interrupted');
      return await work();
    } catch (error) {
      throw errorOf(error, signal);
    } finally {
      stopInterrupting();
    }
  }

  async function* guarded<T>(rows: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
    const stopInterrupting = interruptOnAbort(connection, signal);
    try {
      yield* rows;
    } catch (error) {
      throw errorOf(error, signal);
    } finally {
      stopInterrupting();
    }
  }

  return {
    /** Without `schema`, which is the caller's. */
    get lake() {
      return views.lake();
    },
    open: (signal: AbortSignal) => during(signal, () => views.open(signal)),
    /** Rows of a query as they come; one query at a time. Throws ConfigError `sql` for what is no query that reads. */
    query: (typed: string, signal: AbortSignal): Promise<Rows> =>
      during(signal, async () => {
        const { columns, rows } = await views.read(typed, signal);
        return { columns, rows: guarded(rows, signal) };
      }),
    /** The same into a Parquet file in the session's own folder, whose path it gives. */
    writeParquet: (typed: string, signal: AbortSignal) =>
      during(signal, async () => {
        const statement = await readStatement(connection, typed);
        if (statement.explain !== undefined) throw new ConfigError('sql', 'found EXPLAIN, expected a query');
        await views.prepare(statement, signal);
        await connection.expectQuery(statement.query);
        const path = join(dir, 'result.parquet');
        // What was checked stands on lines of its own: a comment at its end hides nothing.
        await connection.run(sql`COPY (\n${statement.query}\n) TO $1 (FORMAT parquet, COMPRESSION zstd)`, [
          path,
        ]);
        return path;
      }),
    /** The series of the newest snapshots. Throws ConfigError `no-metadata`. */
    series: (signal: AbortSignal) => during(signal, () => views.series(signal)),
    close(): Promise<void> {
      connection.closeSync();
      return close();
    },
  };
}
