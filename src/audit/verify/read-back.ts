/** Rows of a published object, read back by DuckDB, which had no part in writing them. It may touch the given folders only. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBValue } from '../../core/duckdb/connection.ts';
import type { LockedDuckDb } from '../../core/duckdb/locked.ts';
import { interruptOnAbort, openLockedDuckDb, parquetRows } from '../../core/duckdb/locked.ts';
import { type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { CancelledError, messageOf, RetriableError } from '../../core/errors.ts';
import type { DayCounts, TimeRange, VesselDay } from '../../core/model/index.ts';
import type { DayRows, EdgeValues, WindowRow } from './read-back-rows.ts';
import {
  edgesSql,
  measurementsSql,
  toCounts,
  toDayRows,
  toEdges,
  toWindows,
  windowCountsSql,
  windowsSql,
} from './read-back-rows.ts';

const MEMORY_LIMIT = '512MB';
/** Threads of one query: more cost a small object as much as its rows do, and are worth it for a large one. */
const THREADS = { small: '1', large: '2' } as const;
type Size = keyof typeof THREADS;
const MAX_SMALL_ROWS = 2_000_000;

export interface ReadObject {
  readonly path: string;
  readonly rows: number;
}

/** DuckDB cannot make rows of the object. */
export class RowsUnreadable extends Error {}

interface ReadBackOptions {
  readonly readableDirs: readonly string[];
  /** A folder of its own; who made it removes it. */
  readonly tempDir: string;
  readonly signal: AbortSignal;
}

export type ReadBack = ReturnType<typeof createReadBack>;

/** Nothing is loaded before the first call. Each throws RowsUnreadable, RetriableError (memory, disk), CancelledError. */
export function createReadBack(options: ReadBackOptions) {
  const opened = new Map<Size, Promise<LockedDuckDb>>();

  function instanceFor({ rows }: ReadObject): Promise<LockedDuckDb> {
    const size = rows > MAX_SMALL_ROWS ? 'large' : 'small';
    const instance = opened.get(size) ?? openInstance(options, size);
    opened.set(size, instance);
    return instance;
  }

  async function query(queryOf: (file: Sql) => Sql, object: ReadObject): Promise<DuckDBValue[][]> {
    const connection = await (await instanceFor(object)).connect();
    const stopInterrupting = interruptOnAbort(connection, options.signal);
    try {
      return await connection.rows(queryOf(parquetRows(object.path)));
    } catch (error) {
      throw options.signal.aborted ? new CancelledError('interrupted') : readError(error);
    } finally {
      stopInterrupting();
      connection.closeSync();
    }
  }

  return {
    async measurements(object: ReadObject, day: VesselDay): Promise<DayRows> {
      return toDayRows(day, await query(measurementsSql(day), object));
    },
    /** All values at the first and last instant of each series, which other readings may share. */
    async edges(object: ReadObject): Promise<ReadonlyMap<string, EdgeValues>> {
      return toEdges(await query(edgesSql, object));
    },
    /** Readings that the windows of a statistics object count, by series and hour in which the window begins. */
    async windowCounts(object: ReadObject, day: VesselDay): Promise<DayCounts> {
      return toCounts(day, await query(windowCountsSql(day), object));
    },
    async windows(object: ReadObject, range: TimeRange): Promise<WindowRow[]> {
      const columns = await query((file) => sql`DESCRIBE SELECT * FROM ${file}`, object);
      const names = columns.map(([name, type]) => ({ name: String(name), type: String(type) }));
      return toWindows(names, await query(windowsSql(names, range), object));
    },
    async metadata(object: ReadObject): Promise<{ rows: number; series: number }> {
      const counts = (file: Sql) => sql`SELECT count(*), count(DISTINCT time_series_id) FROM ${file}`;
      const [row] = await query(counts, object);
      return { rows: Number(row?.[0]), series: Number(row?.[1]) };
    },
    async close(): Promise<void> {
      for (const opening of opened.values()) (await opening.catch(() => undefined))?.closeSync();
    },
  };
}

async function openInstance({ readableDirs, tempDir }: ReadBackOptions, size: Size): Promise<LockedDuckDb> {
  const bounds = { threads: THREADS[size], memoryLimit: MEMORY_LIMIT, keepsOrder: false };
  // Each spills into a folder of its own.
  const ownDir = join(tempDir, size);
  await mkdir(ownDir, { recursive: true });
  return await openLockedDuckDb({ readableDirs: [tempDir, ...readableDirs], tempDir: ownDir, ...bounds });
}

/** Memory and disk say nothing of the object. */
function readError(error: unknown): Error {
  const message = messageOf(error).split('\n')[0]!;
  if (!/^(Out of Memory Error|IO Error)/.test(message)) return new RowsUnreadable(message);
  return new RetriableError('read-back-failed', `DuckDB could not read the object back: ${message}`);
}
