/**
 * DuckDB with the views of a lake. A lake in a folder is read where it is; of one elsewhere, each query's objects are
 * fetched first: those that its conditions on vessel, date and timestamp leave. Nothing is written, nothing else is read.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { interruptOnAbort, openLockedDuckDb, sqlText } from '../duckdb/locked.ts';
import { CancelledError, ConfigError, messageOf } from '../errors.ts';
import type { Layout, Log } from '../model/index.ts';
import { openTempFolder } from '../process/temp-folder.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Source, View, ViewedLake } from '../views/dialect.ts';
import { duckdb, duckdbColumns, duckdbObjects, duckdbReceipts } from '../views/dialects/duckdb.ts';
import { viewedDomains } from '../views/series.ts';
import { VIEWS, viewStatements, viewsOf } from '../views/views.ts';
import type { WideOptions } from '../views/wide.ts';
import { wideView } from '../views/wide.ts';
import type { NamedSeries } from '../views/wide-columns.ts';
import { lakeFolder, objectPattern, receiptPattern } from './lake-files.ts';
import type { PlannedFiles } from './planned-files.ts';
import { openPlannedFiles } from './planned-files.ts';
import { queryError } from './query-error.ts';
import type { ReadStatement } from './read-only.ts';
import { readStatement } from './read-only.ts';
import type { Rows } from './rows.ts';
import { streamRows } from './rows.ts';

const MEMORY_LIMIT = '1GB';
const MAX_SPILL = '16GB';
const MAX_THREADS = 4;

interface SessionOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly log: Log;
  readonly sources: readonly Source[];
  readonly receiptJobs: readonly string[];
  /** TEMP_DIR. */
  readonly tempDir: string;
  /** Most that is fetched of a lake elsewhere. */
  readonly maxFetchBytes: number;
  /** What `wide` is to be, of the series that there are; asked when it is first needed. */
  readonly wide: (series: readonly NamedSeries[]) => WideOptions;
}

export interface LakeSession {
  /** Without `schema`, which is the caller's. */
  readonly lake: ViewedLake;
  /** Rows of a query as they come; one query at a time. Throws ConfigError `sql` for what is no query that reads. */
  query(sql: string, signal: AbortSignal): Promise<Rows>;
  /** The same into a Parquet file in the session's own folder, whose path it gives. */
  writeParquet(sql: string, signal: AbortSignal): Promise<string>;
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
  let instance: DuckDBInstance | undefined;
  async function close() {
    instance?.closeSync();
    await folder.remove();
  }
  try {
    instance = await openLockedDuckDb({
      readableDirs: localDir === undefined ? [] : [localDir],
      tempDir: folder.path,
      threads: String(Math.min(MAX_THREADS, availableParallelism())),
      memoryLimit: MEMORY_LIMIT,
      maxSpill: MAX_SPILL,
      keepsOrder: true,
      // It scans files a second time, by their places in the list, and without the conditions that leave some out.
      withoutOptimizers: 'late_materialization',
    });
    const session = new Session(await instance.connect(), options, folder.path, close);
    await session.open(localDir, signal);
    return session;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Datasets that each view is made of. */
const DATASETS_OF: Readonly<Record<string, readonly string[]>> = {
  series: ['metadata'],
  readings: ['metadata', 'measurements'],
  windows: ['metadata', 'statistics'],
  wide: ['metadata', 'measurements'],
};

class Session implements LakeSession {
  lake: ViewedLake;
  private readonly connection: DuckDBConnection;
  private readonly options: SessionOptions;
  private readonly dir: string;
  private readonly closeAll: () => Promise<void>;
  private planned: PlannedFiles | undefined;
  private hasWide = false;

  constructor(
    connection: DuckDBConnection,
    options: SessionOptions,
    dir: string,
    close: () => Promise<void>,
  ) {
    this.connection = connection;
    this.options = options;
    this.dir = dir;
    this.closeAll = close;
    const { store, layout, sources, receiptJobs } = options;
    this.lake = { url: store.url, layout, sources, receiptJobs, domains: [], schema: undefined };
  }

  async open(localDir: string | undefined, signal: AbortSignal): Promise<void> {
    const { sources, receiptJobs, store, layout, log, maxFetchBytes } = this.options;
    if (localDir !== undefined && layout === 'plain') {
      for (const source of sources)
        await this.show(source, duckdbObjects(objectPattern(localDir, source.job), source.dataset));
    } else {
      const lake = { store, layout, log };
      const where = { lake, localDir, dir: this.dir, maxFetchBytes };
      this.planned = await openPlannedFiles(this.connection, sources, where);
      // Until a query asks for them.
      for (const source of sources) await this.show(source, this.planned.fetched(source));
    }
    if (receiptJobs.length > 0)
      await this.showReceipts(
        localDir === undefined
          ? [await this.planned!.receipts([], signal)]
          : receiptJobs.map((job) => receiptPattern(localDir, job)),
      );
    this.lake = { ...this.lake, domains: viewedDomains(await this.domains(signal)) };
    for (const view of viewsOf(duckdb, this.lake, undefined)) await this.make(view);
  }

  query(sql: string, signal: AbortSignal): Promise<Rows> {
    return this.during(signal, async () => {
      const statement = await readStatement(this.connection, sql);
      await this.prepare(statement, signal);
      const { columns, rows } = await streamRows(this.connection, statement.text, signal);
      return { columns, rows: this.guarded(rows, signal) };
    });
  }

  writeParquet(sql: string, signal: AbortSignal): Promise<string> {
    return this.during(signal, async () => {
      const statement = await readStatement(this.connection, sql);
      await this.prepare(statement, signal);
      const path = join(this.dir, 'result.parquet');
      // What was checked stands on lines of its own: a comment at its end hides nothing.
      await this.connection.run(
        `COPY (\n${statement.text}\n) TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd)`,
      );
      return path;
    });
  }

  async series(signal: AbortSignal): Promise<NamedSeries[]> {
    if (!this.options.sources.some(({ dataset }) => dataset === 'metadata'))
      throw new ConfigError(
        'no-metadata',
        "the view 'wide' needs to know the series: the lake has no objects of a job of dataset metadata, such as jobs/metadata.yaml; run it first",
      );
    const { rows } = await this.query('SELECT vessel, time_series_id, tag, unit FROM series', signal);
    const found: NamedSeries[] = [];
    for await (const [vessel, id, tag, unit] of rows)
      found.push({
        vessel: String(vessel),
        timeSeriesId: String(id),
        tag: String(tag),
        unit: unit === null || unit === undefined ? null : String(unit),
      });
    return found;
  }

  close(): Promise<void> {
    this.connection.closeSync();
    return this.closeAll();
  }

  /** Everything that a statement reads is there when this ends. */
  private async prepare({ relations, shows, query }: ReadStatement, signal: AbortSignal): Promise<void> {
    const { sources, receiptJobs } = this.options;
    const hasReadings = sources.some(({ dataset }) => dataset === 'measurements');
    const hasSeries = sources.some(({ dataset }) => dataset === 'metadata');
    const asksWide = relations.has('wide') || (shows && hasSeries);
    if (asksWide && hasReadings && !this.hasWide) {
      await this.make(wideView(duckdb, this.lake, this.options.wide(await this.series(signal))));
      this.hasWide = true;
    }
    const { planned } = this;
    if (planned === undefined) return;
    const isElsewhere = lakeFolder(this.options.store.url) === undefined;
    if (isElsewhere && receiptJobs.length > 0 && (relations.has('receipts') || relations.has('coverage')))
      await this.showReceipts([await planned.receipts(receiptJobs, signal)]);
    const datasets = new Set([...relations].flatMap((name) => DATASETS_OF[name] ?? []));
    const needed = sources.filter(
      ({ dataset, relation }) => datasets.has(dataset) || relations.has(relation),
    );
    if (needed.length === 0) return;
    await planned.list(needed, signal);
    for (const source of needed) await this.show(source, planned.placeholders(source));
    await planned.fetch(await planned.plan(query), signal);
    for (const source of needed) await this.show(source, planned.fetched(source));
  }

  private async domains(signal: AbortSignal): Promise<string[]> {
    const metadata = this.options.sources.find(({ dataset }) => dataset === 'metadata');
    if (metadata === undefined) return [];
    const from = duckdb.quote(metadata.relation);
    const { rows } = await this.query(`SELECT DISTINCT unnest(json_keys(domains_json)) FROM ${from}`, signal);
    const found: string[] = [];
    for await (const [name] of rows) found.push(String(name));
    return found;
  }

  private show(source: Source, from: string): Promise<unknown> {
    const view = duckdb.quote(source.relation);
    return this.connection.run(`${duckdb.createView} ${view} AS\n${duckdbColumns(source.columns, from)}`);
  }

  private showReceipts(patterns: readonly string[]): Promise<unknown> {
    return this.connection.run(`${duckdb.createView} receipts AS\n${duckdbReceipts(patterns)}`);
  }

  private async make(view: View): Promise<void> {
    for (const statement of viewStatements(duckdb, this.lake, view)) await this.connection.run(statement);
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
    return queryError(error, [
      ...Object.keys(VIEWS),
      ...this.options.sources.map(({ relation }) => relation),
    ]);
  }
}
