/**
 * DuckDB with the views of a lake. A lake in a folder is read where it is; of one elsewhere, each query's objects are
 * fetched first: those that its conditions on vessel, date and timestamp leave. Nothing is written, nothing else is read.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { interruptOnAbort, openLockedDuckDb, sqlText } from '../duckdb/locked.ts';
import { CancelledError, ConfigError, messageOf } from '../errors.ts';
import { readLayout } from '../lake/layout.ts';
import { openTempFolder } from '../process/temp-folder.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Source, View, ViewedLake } from '../views/dialect.ts';
import { duckdb, duckdbColumns, duckdbObjects, duckdbReceipts } from '../views/dialects/duckdb.ts';
import { viewedDomains } from '../views/series.ts';
import { VIEWS, viewStatements, viewsOf } from '../views/views.ts';
import type { WideOptions } from '../views/wide.ts';
import { wideView } from '../views/wide.ts';
import type { NamedSeries } from '../views/wide-columns.ts';
import { lakeFolder, listLakeObjects, objectPattern, receiptPattern } from './lake-files.ts';
import { queryError } from './query-error.ts';
import type { ReadStatement } from './read-only.ts';
import { readStatement } from './read-only.ts';
import type { RemoteFiles } from './remote-files.ts';
import { noRows, openRemoteFiles } from './remote-files.ts';
import type { Rows } from './rows.ts';
import { streamRows } from './rows.ts';

const MEMORY_LIMIT = '1GB';
const MAX_SPILL = '16GB';
const MAX_THREADS = 4;

interface SessionOptions {
  readonly store: ObjectStore;
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
  private remote: RemoteFiles | undefined;
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
    const { store, sources, receiptJobs } = options;
    this.lake = { url: store.url, layout: 'plain', sources, receiptJobs, domains: [], schema: undefined };
  }

  async open(localDir: string | undefined, signal: AbortSignal): Promise<void> {
    const { sources, receiptJobs, store, maxFetchBytes } = this.options;
    const layout = await readLayout(store);
    this.lake = { ...this.lake, layout };
    if (localDir === undefined) {
      this.remote = await openRemoteFiles(this.connection, sources, {
        ...{ store, layout, dir: this.dir, maxFetchBytes },
      });
      // Until a query asks for them.
      for (const source of sources) await this.show(source, await this.remote.fetch(source, [], signal));
      if (receiptJobs.length > 0) await this.showReceipts([await this.remote.receipts([], signal)]);
    } else {
      for (const source of sources)
        await this.show(source, await this.localObjects(localDir, source, signal));
      if (receiptJobs.length > 0)
        await this.showReceipts(receiptJobs.map((job) => receiptPattern(localDir, job)));
    }
    this.lake = { ...this.lake, domains: viewedDomains(await this.domains(signal)) };
    for (const view of viewsOf(duckdb, this.lake, undefined)) await this.make(view);
  }

  private async localObjects(localDir: string, source: Source, signal: AbortSignal): Promise<string> {
    if (this.lake.layout === 'plain')
      return duckdbObjects(objectPattern(localDir, source.job), source.dataset);
    const files = await listLakeObjects(this.options.store, 'delta', source.job, signal);
    if (files.length === 0) return noRows(source);
    return duckdbObjects(
      files.map(({ key }) => join(localDir, key)),
      source.dataset,
    );
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
    const { remote } = this;
    if (remote === undefined) return;
    if (receiptJobs.length > 0 && (relations.has('receipts') || relations.has('coverage')))
      await this.showReceipts([await remote.receipts(receiptJobs, signal)]);
    const datasets = new Set([...relations].flatMap((name) => DATASETS_OF[name] ?? []));
    const needed = sources.filter(
      ({ dataset, relation }) => datasets.has(dataset) || relations.has(relation),
    );
    if (needed.length === 0) return;
    await remote.list(needed, signal);
    for (const source of needed) await this.show(source, remote.placeholders(source));
    const objects = await remote.plan(query);
    for (const source of needed) await this.show(source, await remote.fetch(source, objects, signal));
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
