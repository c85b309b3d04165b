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
import { type LakeSources, type ListedLake, lakeFolder, objectPattern } from './lake-sources.ts';
import { noRows, openPlannedFiles, type PlannedFiles } from './planned-files.ts';
import { type ReadStatement, readStatement } from './read-only.ts';
import { writeReceiptLines } from './receipt-lines.ts';
import { type Rows, streamRows } from './rows.ts';

export interface LakeViewsOptions extends ListedLake, LakeSources {
  /** Most that is fetched of a lake elsewhere. */
  readonly maxFetchBytes: number;
  /** What `wide` is to be, of the series that there are; asked when it is first needed. */
  readonly wide: (series: readonly NamedSeries[]) => WideOptions;
}

const DATASETS_OF: Readonly<Record<string, readonly string[]>> = {
  series: ['metadata'],
  readings: ['metadata', 'measurements'],
  windows: ['metadata', 'statistics'],
  wide: ['metadata', 'measurements'],
};

export type LakeViews = ReturnType<typeof createLakeViews>;

/** On a database that may read the lake's folder and `dir`, a folder of its own. */
export function createLakeViews(connection: SqlConnection, options: LakeViewsOptions, dir: string) {
  const { store, layout, log, emptySources, receiptJobs, maxFetchBytes } = options;
  const localDir = lakeFolder(store.url);
  /** Of every job that is asked, with objects or without. */
  const sources = [...options.sources, ...emptySources];
  const url = store.url;
  let lake: ViewedLake = {
    ...{ url, layout, sources: options.sources, receiptJobs, domains: [], schema: undefined },
  };
  let planned: PlannedFiles | undefined;
  let hasWide = false;

  /** The lake with the jobs that have no objects. */
  const whole = (): ViewedLake => ({ ...lake, sources });
  const has = (dataset: string) => options.sources.some((source) => source.dataset === dataset);

  async function open(signal: AbortSignal): Promise<void> {
    if (localDir === undefined || layout === 'delta') {
      const where = { lake: { store, layout, log }, localDir, dir, maxFetchBytes };
      planned = await openPlannedFiles(connection, sources, where);
    }
    for (const source of sources) await show(source, initialRows(source));
    if (receiptJobs.length > 0) await showReceipts([], signal);
    lake = { ...lake, domains: viewedDomains(await domains(signal)) };
    for (const view of viewsOf(duckdb, whole(), undefined)) await make(view);
  }

  /** What a query can ask. */
  function names(): string[] {
    return [
      ...viewsOf(duckdb, whole(), undefined).map(({ name }) => name),
      ...(receiptJobs.length > 0 ? ['receipts'] : []),
      ...(has('measurements') && has('metadata') ? ['wide'] : []),
      ...sources.map(({ relation }) => relation),
    ];
  }

  /** Everything that a statement reads is there when this ends. */
  async function prepare({ relations, shows, query }: ReadStatement, signal: AbortSignal): Promise<void> {
    const asksWide = relations.has('wide') || (shows && has('metadata'));
    if (asksWide && !hasWide && sources.some(({ dataset }) => dataset === 'measurements')) {
      await make(wideView(duckdb, whole(), options.wide(await series(signal))));
      hasWide = true;
    }
    if (receiptJobs.length > 0 && (relations.has('receipts') || relations.has('coverage')))
      await showReceipts(receiptJobs, signal);
    if (planned === undefined) return;
    const datasets = new Set([...relations].flatMap((name) => DATASETS_OF[name] ?? []));
    const needed = sources.filter(
      ({ dataset, relation }) => datasets.has(dataset) || relations.has(relation),
    );
    if (needed.length === 0) return;
    await planned.list(needed, signal);
    for (const source of needed) await show(source, planned.placeholders(source));
    await planned.fetch(await planned.plan(query), signal);
    for (const source of needed) await show(source, planned.fetched(source));
  }

  /** The series of the newest snapshots. Throws ConfigError `no-metadata`. */
  async function series(signal: AbortSignal): Promise<NamedSeries[]> {
    if (!has('metadata'))
      throw new ConfigError(
        'no-metadata',
        "the view 'wide' needs to know the series: the lake has no objects of a job of dataset metadata, such as jobs/metadata.yaml; run it first",
      );
    const { rows } = await read(sql`SELECT vessel, time_series_id, tag, unit FROM series`, signal);
    const found: NamedSeries[] = [];
    for await (const [vessel, id, tag, unit] of rows)
      found.push({
        ...{ vessel: String(vessel), timeSeriesId: String(id), tag: String(tag) },
        unit: unit === null || unit === undefined ? null : String(unit),
      });
    return found;
  }

  async function read(typed: string, signal: AbortSignal): Promise<Rows> {
    const statement = await readStatement(connection, typed);
    await prepare(statement, signal);
    return await streamRows(connection, statement, signal);
  }

  /** All where they are files that a pattern finds; else none, until a query asks for them. */
  function initialRows(source: Source): Sql {
    if (planned !== undefined) return planned.fetched(source);
    // A pattern that finds no file is an error.
    return emptySources.includes(source)
      ? noRows(source)
      : duckdbObjects(objectPattern(localDir!, source.job), source.dataset);
  }

  async function domains(signal: AbortSignal): Promise<string[]> {
    const metadata = sources.find(({ dataset }) => dataset === 'metadata');
    if (metadata === undefined) return [];
    const from = duckdb.quote(metadata.relation);
    const { rows } = await read(sql`SELECT DISTINCT unnest(json_keys(domains_json)) FROM ${from}`, signal);
    return await Array.fromAsync(rows, ([name]) => String(name));
  }

  function show(source: Source, from: Sql): Promise<void> {
    const view = duckdb.quote(source.relation);
    return connection.run(sql`${duckdb.createView} ${view} AS\n${duckdbColumns(source, from)}`);
  }

  /** As they are now: those of these jobs that can be read. */
  async function showReceipts(jobs: readonly string[], signal: AbortSignal): Promise<void> {
    const path = await writeReceiptLines(join(dir, 'receipts.ndjson'), { store, log }, jobs, signal);
    await connection.run(sql`${duckdb.createView} receipts AS\n${duckdbReceiptLines(pathLiteral(path))}`);
  }

  async function make(view: View): Promise<void> {
    for (const statement of viewStatements(duckdb, lake, view)) await connection.run(statement);
  }

  return {
    /** What there are objects of. Without `schema`, which is the caller's. */
    lake: () => lake,
    ...{ open, names, prepare, series, read },
  };
}
