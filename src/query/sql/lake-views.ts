/** The lake's relations and views in a session's database: made at its opening, filled with what a statement needs. */
import { join } from 'node:path';
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { pathLiteral } from '../../core/duckdb/locked.ts';
import { type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { ConfigError } from '../../core/errors.ts';
import type { Source, View, ViewedLake } from '../views/dialect.ts';
import { duckdb, duckdbColumns, duckdbObjects, duckdbReceiptLines } from '../views/dialects/duckdb.ts';
import { viewedDomains } from '../views/series.ts';
import { viewStatements, viewsOf } from '../views/views.ts';
import { type WideOptions, wideView } from '../views/wide.ts';
import type { NamedSeries } from '../views/wide-columns.ts';
import { type ListedLake, lakeFolder, objectPattern } from './lake-sources.ts';
import { noRows, openPlannedFiles, type PlannedFiles } from './planned-files.ts';
import { type ReadStatement, readStatement } from './read-only.ts';
import { writeReceiptLines } from './receipt-lines.ts';
import { type Rows, streamRows } from './rows.ts';

export interface LakeViewsOptions extends ListedLake {
  /** Jobs with objects. */
  readonly sources: readonly Source[];
  /** Jobs without any yet: their relations have no rows. */
  readonly emptySources: readonly Source[];
  readonly receiptJobs: readonly string[];
  /** Most that is fetched of a lake elsewhere. */
  readonly maxFetchBytes: number;
  /** What `wide` is to be, of the series that there are; asked when it is first needed. */
  readonly wide: (series: readonly NamedSeries[]) => WideOptions;
}

/** Datasets that each view is made of. */
const DATASETS_OF: Readonly<Record<string, readonly string[]>> = {
  series: ['metadata'],
  readings: ['metadata', 'measurements'],
  windows: ['metadata', 'statistics'],
  wide: ['metadata', 'measurements'],
};

export class LakeViews {
  /** What there are objects of. Without `schema`, which is the caller's. */
  lake: ViewedLake;
  private readonly connection: SqlConnection;
  private readonly options: LakeViewsOptions;
  private readonly dir: string;
  private readonly localDir: string | undefined;
  /** Of every job that is asked, with objects or without. */
  private readonly sources: readonly Source[];
  private planned: PlannedFiles | undefined;
  private hasWide = false;

  /** On a database that may read the lake's folder and `dir`, a folder of its own. */
  constructor(connection: SqlConnection, options: LakeViewsOptions, dir: string) {
    this.connection = connection;
    this.options = options;
    this.dir = dir;
    const { store, layout, sources, emptySources, receiptJobs } = options;
    this.localDir = lakeFolder(store.url);
    this.sources = [...sources, ...emptySources];
    this.lake = { url: store.url, layout, sources, receiptJobs, domains: [], schema: undefined };
  }

  /** Make them, once. */
  async open(signal: AbortSignal): Promise<void> {
    const { connection, localDir, dir, sources } = this;
    const { receiptJobs, store, layout, log, maxFetchBytes } = this.options;
    if (localDir === undefined || layout === 'delta') {
      const where = { lake: { store, layout, log }, localDir, dir, maxFetchBytes };
      this.planned = await openPlannedFiles(connection, sources, where);
    }
    for (const source of sources) await this.show(source, this.initialRows(source));
    if (receiptJobs.length > 0) await this.showReceipts([], signal);
    this.lake = { ...this.lake, domains: viewedDomains(await this.domains(signal)) };
    for (const view of viewsOf(duckdb, this.whole, undefined)) await this.make(view);
  }

  /** What a query can ask. */
  get names(): string[] {
    const { receiptJobs } = this.options;
    return [
      ...viewsOf(duckdb, this.whole, undefined).map(({ name }) => name),
      ...(receiptJobs.length > 0 ? ['receipts'] : []),
      ...(this.has('measurements') && this.has('metadata') ? ['wide'] : []),
      ...this.sources.map(({ relation }) => relation),
    ];
  }

  /** Everything that a statement reads is there when this ends. */
  async prepare({ relations, shows, query }: ReadStatement, signal: AbortSignal): Promise<void> {
    const { receiptJobs, wide } = this.options;
    const asksWide = relations.has('wide') || (shows && this.has('metadata'));
    if (asksWide && !this.hasWide && this.sources.some(({ dataset }) => dataset === 'measurements')) {
      await this.make(wideView(duckdb, this.whole, wide(await this.series(signal))));
      this.hasWide = true;
    }
    if (receiptJobs.length > 0 && (relations.has('receipts') || relations.has('coverage')))
      await this.showReceipts(receiptJobs, signal);
    const { planned } = this;
    if (planned === undefined) return;
    const datasets = new Set([...relations].flatMap((name) => DATASETS_OF[name] ?? []));
    const needed = this.sources.filter(
      ({ dataset, relation }) => datasets.has(dataset) || relations.has(relation),
    );
    if (needed.length === 0) return;
    await planned.list(needed, signal);
    for (const source of needed) await this.show(source, planned.placeholders(source));
    await planned.fetch(await planned.plan(query), signal);
    for (const source of needed) await this.show(source, planned.fetched(source));
  }

  /** The series of the newest snapshots. Throws ConfigError `no-metadata`. */
  async series(signal: AbortSignal): Promise<NamedSeries[]> {
    if (!this.has('metadata'))
      throw new ConfigError(
        'no-metadata',
        "the view 'wide' needs to know the series: the lake has no objects of a job of dataset metadata, such as jobs/metadata.yaml; run it first",
      );
    const { rows } = await this.read(sql`SELECT vessel, time_series_id, tag, unit FROM series`, signal);
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

  /** The rows of a query that reads. */
  async read(typed: string, signal: AbortSignal): Promise<Rows> {
    const statement = await readStatement(this.connection, typed);
    await this.prepare(statement, signal);
    return await streamRows(this.connection, statement, signal);
  }

  /** The lake with the jobs that have no objects. */
  private get whole(): ViewedLake {
    return { ...this.lake, sources: this.sources };
  }

  /** Whether there are objects of it. */
  private has(dataset: string): boolean {
    return this.options.sources.some((source) => source.dataset === dataset);
  }

  /** All where they are files that a pattern finds; else none, until a query asks for them. */
  private initialRows(source: Source): Sql {
    if (this.planned !== undefined) return this.planned.fetched(source);
    // A pattern that finds no file is an error.
    return this.options.emptySources.includes(source)
      ? noRows(source)
      : duckdbObjects(objectPattern(this.localDir!, source.job), source.dataset);
  }

  private async domains(signal: AbortSignal): Promise<string[]> {
    const metadata = this.sources.find(({ dataset }) => dataset === 'metadata');
    if (metadata === undefined) return [];
    const from = duckdb.quote(metadata.relation);
    const { rows } = await this.read(
      sql`SELECT DISTINCT unnest(json_keys(domains_json)) FROM ${from}`,
      signal,
    );
    const found: string[] = [];
    for await (const [name] of rows) found.push(String(name));
    return found;
  }

  private show(source: Source, from: Sql): Promise<void> {
    const view = duckdb.quote(source.relation);
    return this.connection.run(sql`${duckdb.createView} ${view} AS\n${duckdbColumns(source, from)}`);
  }

  /** As they are now: those of these jobs that can be read. */
  private async showReceipts(jobs: readonly string[], signal: AbortSignal): Promise<void> {
    const path = await writeReceiptLines(join(this.dir, 'receipts.ndjson'), this.options, jobs, signal);
    await this.connection.run(
      sql`${duckdb.createView} receipts AS\n${duckdbReceiptLines(pathLiteral(path))}`,
    );
  }

  private async make(view: View): Promise<void> {
    for (const statement of viewStatements(duckdb, this.lake, view)) await this.connection.run(statement);
  }
}
