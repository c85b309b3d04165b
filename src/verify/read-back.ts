/**
 * Rows of a published object, read back by DuckDB: an engine that had no part in writing them. It may touch the
 * given folders and nothing else, spills into its own, and is loaded when it is first needed.
 */
import type { DuckDBConnection, DuckDBInstance, DuckDBValue } from '@duckdb/node-api';
import { interruptOnAbort, openLockedDuckDb, sqlPath } from '../duckdb/locked.ts';
import { CancelledError, messageOf, RetriableError } from '../errors.ts';
import type { DayCounts, TimeRange, VesselDay } from '../model/index.ts';
import type { DayRows, WindowRow } from './read-back-rows.ts';
import {
  EDGES_SQL,
  rowCountsSql,
  toCounts,
  toDayRows,
  toWindows,
  VALUES_SQL,
  windowCountsSql,
  windowsSql,
} from './read-back-rows.ts';

const MEMORY_LIMIT = '512MB';
const THREADS = '2';

/** Throws, per call: RowsUnreadable, RetriableError (memory, disk), CancelledError. */
export interface ReadBack {
  measurements(path: string, day: VesselDay): Promise<DayRows>;
  /** Readings that the windows of a statistics object count, by series and hour in which the window begins. */
  windowCounts(path: string, day: VesselDay): Promise<DayCounts>;
  /** Windows that begin in a range. */
  windows(path: string, range: TimeRange): Promise<WindowRow[]>;
  metadata(path: string): Promise<{ rows: number; series: number }>;
  close(): Promise<void>;
}

/** DuckDB cannot make rows of the object. */
export class RowsUnreadable extends Error {}

interface ReadBackOptions {
  /** Folders with objects. */
  readonly readableDirs: readonly string[];
  /** A folder of its own; who made it removes it. */
  readonly tempDir: string;
  readonly signal: AbortSignal;
}

/** Nothing is loaded before the first call. */
export function createReadBack(options: ReadBackOptions): ReadBack {
  let opening: Promise<DuckDBInstance> | undefined;

  async function query(sql: string, path: string): Promise<DuckDBValue[][]> {
    opening ??= openInstance(options);
    const connection = await (await opening).connect();
    const stopInterrupting = interruptOnAbort(connection, options.signal);
    try {
      return await allRows(connection, sql.replaceAll('{file}', fileSql(path)));
    } catch (error) {
      throw options.signal.aborted ? new CancelledError('interrupted') : readError(error);
    } finally {
      stopInterrupting();
      connection.closeSync();
    }
  }

  return {
    async measurements(path, day) {
      const counted = await query(rowCountsSql(day), path);
      return toDayRows(day, counted, await query(VALUES_SQL, path), await query(EDGES_SQL, path));
    },
    async windowCounts(path, day) {
      return toCounts(day, await query(windowCountsSql(day), path));
    },
    async windows(path, range) {
      const columns = await query(`DESCRIBE SELECT * FROM {file}`, path);
      const names = columns.map(([name, type]) => ({ name: String(name), type: String(type) }));
      return toWindows(names, await query(windowsSql(names, range), path));
    },
    async metadata(path) {
      const [row] = await query(`SELECT count(*), count(DISTINCT time_series_id) FROM {file}`, path);
      return { rows: Number(row?.[0]), series: Number(row?.[1]) };
    },
    async close() {
      (await opening?.catch(() => undefined))?.closeSync();
    },
  };
}

function openInstance({ readableDirs, tempDir }: ReadBackOptions): Promise<DuckDBInstance> {
  const bounds = { threads: THREADS, memoryLimit: MEMORY_LIMIT, keepsOrder: false };
  return openLockedDuckDb({ readableDirs, tempDir, ...bounds });
}

async function allRows(connection: DuckDBConnection, sql: string): Promise<DuckDBValue[][]> {
  return (await connection.runAndReadAll(sql)).getRows();
}

/** Memory and disk say nothing of the object. */
function readError(error: unknown): Error {
  const message = messageOf(error).split('\n')[0]!;
  if (!/^(Out of Memory Error|IO Error)/.test(message)) return new RowsUnreadable(message);
  return new RetriableError('read-back-failed', `DuckDB could not read the object back: ${message}`);
}

function fileSql(path: string): string {
  return `read_parquet(${sqlPath(path)}, hive_partitioning = false)`;
}
