/**
 * DuckDB, opened when it is first needed: it reads an exported lake, touches nothing but its folder and a scratch folder, and loads no extension. One
 * thread, so that the order of rows is one.
 *
 * A query holds one of the four threads of Node's pool, where tokens are checked and bodies compressed too: so few run at once, the others wait in line,
 * and one ends soon after its signal, for the process cannot exit before it.
 */
import { tmpdir } from 'node:os';
import { createWaitingLine } from '../../core/concurrency.ts';
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { interruptOnAbort, type LockedDuckDb, openLockedDuckDb } from '../../core/duckdb/locked.ts';
import { openTempFolder, type TempFolder } from '../../core/process/temp-folder.ts';

/** Above the memory that Node takes: two sorted slices of readings need a fifth of it. */
const MEMORY_LIMIT = '256MB';
const MAX_SPILL = '4GB';
const QUERIES_AT_ONCE = 2;

export type Engine = ReturnType<typeof createEngine>;
export type EngineConnection = Awaited<ReturnType<Engine['connect']>>;

/** An engine that may read below `readableDir`. Nothing is loaded before the first `connect`. */
export function createEngine(readableDir: string | undefined) {
  let opening: Promise<{ instance: LockedDuckDb; scratch: TempFolder }> | undefined;
  let closed = false;
  let free = QUERIES_AT_ONCE;
  const line = createWaitingLine();

  async function inTurn<Answer>(
    connection: SqlConnection,
    signal: AbortSignal | undefined,
    run: (connection: SqlConnection) => Promise<Answer>,
  ): Promise<Answer> {
    signal?.throwIfAborted();
    if (free > 0) free--;
    else await line.join(signal);
    const stopInterrupting = interruptOnAbort(connection, signal);
    try {
      signal?.throwIfAborted();
      return await run(connection);
    } finally {
      stopInterrupting();
      if (!line.letOneGo()) free++;
      signal?.throwIfAborted();
    }
  }

  /** A connection for the time of some work; its queries end with `signal`. */
  async function connect(signal?: AbortSignal) {
    if (closed) throw new Error('the engine is closed');
    signal?.throwIfAborted();
    opening ??= openInstance(readableDir);
    const { instance } = await opening;
    const connection = await instance.connect();
    return {
      /** Run queries in their turn. Throws the signal's reason: an interrupted one may look ended. Must not wait for a client, as others wait. */
      query: <Answer>(run: (own: SqlConnection) => Promise<Answer>) => inTurn(connection, signal, run),
      async [Symbol.asyncDispose](): Promise<void> {
        connection.closeSync();
      },
    };
  }

  async function close(): Promise<void> {
    closed = true;
    if (opening === undefined) return;
    const { instance, scratch } = await opening;
    instance.closeSync();
    await scratch.remove();
  }

  return { connect, close };
}

async function openInstance(readableDir: string | undefined) {
  const scratch = await openTempFolder(tmpdir(), 'service');
  const instance = await openLockedDuckDb({
    readableDirs: readableDir === undefined ? [] : [readableDir],
    tempDir: scratch.path,
    threads: '1',
    memoryLimit: MEMORY_LIMIT,
    maxSpill: MAX_SPILL,
    keepsOrder: true,
  });
  return { instance, scratch };
}
