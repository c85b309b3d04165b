/** Rows of a query as they come, as values that can be printed exactly; and DuckDB's errors in our words. */
import type { DuckDBValue, SqlConnection } from '../../core/duckdb/connection.ts';
import {
  CancelledError,
  ConfigError,
  DataError,
  FatalError,
  messageOf,
  VesselExportError,
} from '../../core/errors.ts';
import { microsToIso } from '../../core/model/index.ts';
import type { ReadStatement } from './read-only.ts';

/** What JSON has; other values are their text. Whole numbers beyond 2^53 are texts, so that no digit is lost. */
export type Cell = string | number | boolean | null;

export interface Rows {
  readonly columns: readonly string[];
  /** May be left early. */
  readonly rows: AsyncIterable<readonly Cell[]>;
}

/** Throws DuckDB's error, and CancelledError once `signal` is aborted. */
export async function streamRows(
  connection: SqlConnection,
  { query, explain }: Pick<ReadStatement, 'query' | 'explain'>,
  signal: AbortSignal,
): Promise<Rows> {
  const result = await connection.streamTyped(query, explain);
  async function* rows() {
    for (;;) {
      if (signal.aborted) throw new CancelledError('interrupted');
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      for (const row of chunk.getRows()) yield row.map(cellOf);
    }
  }
  return { columns: result.deduplicatedColumnNames(), rows: rows() };
}

function cellOf(value: DuckDBValue): Cell {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  // An instant: its text would be in this machine's time zone.
  if (value.constructor.name === 'DuckDBTimestampTZValue' && 'micros' in value) return instant(value.micros);
  return String(value);
}

/** Beyond the years of the model, only the number is exact. */
function instant(micros: unknown): string {
  const number = Number(micros);
  return Math.abs(number) < 8.64e18 && number >= 0 && number < 7.3e15 ? microsToIso(number) : `${micros} µs`;
}

/** `views`: what could have been asked. */
export function queryError(error: unknown, views: readonly string[]): unknown {
  if (error instanceof VesselExportError) return error;
  // The place of the fault stands below, with a sign under it.
  const message = messageOf(error);
  const [kind] = /^[A-Z][A-Za-z ]+ Error/.exec(message) ?? [];
  if (kind === 'Out of Memory Error')
    return new FatalError('out-of-memory', `${message}; select fewer days, series or columns`);
  if (kind === 'Catalog Error' && /Table with name/.test(message))
    return new ConfigError('sql', `${message}\nThere are: ${views.join(', ')}.`);
  if (kind === 'Permission Error')
    return new ConfigError('sql', `${message}\nA query reads the lake's views and nothing else.`);
  if (kind === 'IO Error' || kind === 'HTTP Error') return new DataError('unreadable-object', message);
  if (kind !== undefined) return new ConfigError('sql', message);
  return error;
}
