/** Which jobs of a lake are asked, what their relations are called, and where their files are. */
import { fileURLToPath } from 'node:url';
import { asPattern } from '../../core/duckdb/locked.ts';
import { usageError } from '../../core/errors.ts';
import type { Dataset, Job, Layout, Log } from '../../core/model/index.ts';
import { keyPrefix, objectPrefix, parseObjectKey } from '../../lake/keys.ts';
import { readTableFiles } from '../../lake/publish/table-files.ts';
import { MEASUREMENT_COLUMNS, METADATA_COLUMNS, statisticsColumns } from '../../parquet/write/columns.ts';
import type { ObjectStore } from '../../store/store.ts';
import { columnName, columnNames } from '../views/column-names.ts';
import type { Source } from '../views/dialect.ts';
import { VIEWS } from '../views/views.ts';
import type { LakeObject } from './fetched-objects.ts';
import { OBJECTS_TABLE } from './object-plan.ts';

const DATASETS: readonly Dataset[] = ['metadata', 'measurements', 'statistics'];

/** What of a lake can be asked: jobs with objects, jobs that were never published, and jobs with receipts. */
export type LakeSources = Awaited<ReturnType<typeof findSources>>;

/** One job per dataset: the named one (`named` is part of `jobs`), the only one, the only one with objects, or its namesake. Throws ConfigError `usage` where none decides. */
export async function findSources(
  store: Pick<ObjectStore, 'list'>,
  jobs: readonly Job[],
  named: readonly Job[],
) {
  const found = await Promise.all(jobs.map(({ name }) => hasAny(store, objectPrefix(name), '.parquet')));
  const full = new Set(jobs.filter((_, index) => found[index]));
  const chosen = DATASETS.flatMap((dataset) => choose(dataset, jobs, named, full));
  const receipts = await Promise.all(
    jobs.map(({ name }) => hasAny(store, keyPrefix('receipt', name), '.json')),
  );
  const relations = relationNames(chosen.map(({ name }) => name));
  const sources = chosen.map((job) => sourceOf(job, relations.get(job.name)!));
  return {
    sources: sources.filter((_, index) => full.has(chosen[index]!)),
    emptySources: sources.filter((_, index) => !full.has(chosen[index]!)),
    receiptJobs: jobs.filter((_, index) => receipts[index]).map(({ name }) => name),
  };
}

function choose(
  dataset: Dataset,
  jobs: readonly Job[],
  named: readonly Job[],
  full: ReadonlySet<Job>,
): Job[] {
  const own = named.filter((job) => job.dataset === dataset);
  const all = own.length > 0 ? own : jobs.filter((job) => job.dataset === dataset);
  // A job that the lake has never seen does not stand in for one that it has.
  const withObjects = all.filter((job) => full.has(job));
  const candidates = withObjects.length > 0 ? withObjects : all;
  if (candidates.length < 2) return candidates;
  const namesake = candidates.find(({ name }) => name === dataset);
  if (own.length === 0 && namesake !== undefined) return [namesake];
  const names = candidates.map(({ name }) => name).join(', ');
  throw usageError(
    `--job: several jobs are of dataset ${dataset}: ${names}; name the one to query: --job ${candidates[0]!.name}`,
  );
}

/** A job may be called like a view, or nearly like another one. */
function relationNames(jobs: readonly string[]): ReadonlyMap<string, string> {
  const isView = (name: string) => Object.hasOwn(VIEWS, name);
  const wanted = (job: string) => (isView(columnName(job)) ? `${columnName(job)}_job` : columnName(job));
  return columnNames(jobs, [...Object.keys(VIEWS), 'receipt_files', OBJECTS_TABLE], {
    wanted,
    maxChars: 100,
  });
}

function sourceOf(job: Job, relation: string): Source {
  const columns = {
    measurements: () => MEASUREMENT_COLUMNS,
    metadata: () => METADATA_COLUMNS,
    statistics: () => statisticsColumns(job.aggregations ?? []),
  }[job.dataset]();
  return { job: job.name, dataset: job.dataset, relation, columns };
}

async function hasAny(store: Pick<ObjectStore, 'list'>, prefix: string, ending: string): Promise<boolean> {
  for await (const { key } of store.list(prefix)) if (key.endsWith(ending)) return true;
  return false;
}

/** Folder of a lake that lies in one; undefined for a lake elsewhere. */
export function lakeFolder(url: string): string | undefined {
  return url.startsWith('file:') ? fileURLToPath(url) : undefined;
}

/** A pattern of the paths of a job's objects in a lake's folder. */
export function objectPattern(folder: string, job: string): string {
  return `${asPattern(folder)}/${job}/*/*/*.parquet`;
}

export interface ListedLake {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly log: Log;
}

/** The objects of a job: as the store lists them, or as its table's log has them. */
export async function listLakeObjects(
  { store, layout, log }: ListedLake,
  job: string,
  signal: AbortSignal,
): Promise<LakeObject[]> {
  // What a version of the table has, all of it or nothing. A name is never used again: it is its own tag.
  if (layout === 'delta')
    return (await readTableFiles(store, job, log)).map((file) => ({ ...file, tag: file.key }));
  const objects: LakeObject[] = [];
  for await (const { key, sizeBytes, tag } of store.list(objectPrefix(job))) {
    signal.throwIfAborted();
    const day = parseObjectKey(key);
    if (day !== undefined) objects.push({ day, key, sizeBytes, tag });
  }
  return objects;
}
