/**
 * Files of a lake that DuckDB cannot find by a pattern, because they are elsewhere or because a table's log says which
 * they are: empty ones while a query is planned, then those that it needs, fetched where they are not here.
 */
import { link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { forEachAtOnce } from '../concurrency.ts';
import { sqlPath, sqlText } from '../duckdb/locked.ts';
import { jsonBytes } from '../lake/json.ts';
import { listReceipts, readReceipt } from '../lake/ledger.ts';
import type { Source } from '../views/dialect.ts';
import { duckdb, duckdbObjects } from '../views/dialects/duckdb.ts';
import type { LakeObject } from './fetched-objects.ts';
import { createFetchedObjects } from './fetched-objects.ts';
import type { ListedLake } from './lake-files.ts';
import { listLakeObjects } from './lake-files.ts';
import { OBJECTS_TABLE, planObjects } from './object-plan.ts';

/**
 * A folder of a job that nobody asks: without it, DuckDB would see that all files are of the job that is asked, and its plan
 * would not say which job a scan is of.
 */
const DECOY_JOB = 'job=.none';
const LINKS_AT_ONCE = 16;
const RECEIPTS_AT_ONCE = 32;

export interface PlannedFiles {
  /** What stands for a job's objects while a query is planned. */
  placeholders(source: Source): string;
  /** The jobs' objects as they are listed now, with an empty file in the place of each. */
  list(sources: readonly Source[], signal: AbortSignal): Promise<void>;
  /** Those of the listed objects that a query over the placeholders may need. */
  plan(query: string): Promise<LakeObject[]>;
  /** Fetch objects, all that a query needs at once: what is not among them may go. */
  fetch(objects: readonly LakeObject[], signal: AbortSignal): Promise<void>;
  /** A job's objects of those that were fetched last. */
  fetched(source: Source): string;
  /** A file with the receipts of these jobs, one a line. */
  receipts(jobs: readonly string[], signal: AbortSignal): Promise<string>;
}

interface PlannedOptions {
  readonly lake: ListedLake;
  /** Folder of a lake that lies in one. */
  readonly localDir: string | undefined;
  /** A folder of its own. */
  readonly dir: string;
  readonly maxFetchBytes: number;
}

/** On a database that may read below `dir`. */
export async function openPlannedFiles(
  connection: DuckDBConnection,
  sources: readonly Source[],
  { lake, localDir, dir, maxFetchBytes }: PlannedOptions,
): Promise<PlannedFiles> {
  const fetched = createFetchedObjects(lake.store, { dir: join(dir, 'objects'), maxBytes: maxFetchBytes });
  const planDir = join(dir, 'plan');
  const templateOf = ({ job }: Source) => join(dir, `${job}.parquet`);
  let listed: LakeObject[] = [];
  let files: { readonly job: string; readonly path: string }[] = [];
  await connection.run(
    `CREATE TABLE ${OBJECTS_TABLE} (job VARCHAR, vessel VARCHAR, date DATE, place BIGINT)`,
  );
  for (const source of sources) {
    await writeTemplate(connection, source, templateOf(source));
    const folder = join(planDir, DECOY_JOB, `of-${source.job}`, 'vessel=none', 'date=1970-01-01');
    await mkdir(folder, { recursive: true });
    await link(templateOf(source), join(folder, 'empty.parquet'));
  }

  return {
    placeholders: ({ job }) => {
      const patterns = [`job=${job}/*/*/*.parquet`, `${DECOY_JOB}/of-${job}/*/*/*.parquet`];
      const paths = patterns.map((pattern) => sqlText(`${planDir.replace(/[[*?]/g, '[$&]')}/${pattern}`));
      return `(SELECT * FROM read_parquet([${paths.join(', ')}], hive_partitioning = true, hive_types = {'job': VARCHAR, 'vessel': VARCHAR, 'date': DATE}) WHERE job = ${sqlText(job)})`;
    },
    async list(wanted, signal) {
      const lists = await Promise.all(wanted.map(({ job }) => listLakeObjects(lake, job, signal)));
      listed = lists.flat();
      for (const [index, source] of wanted.entries())
        await placeEmptyFiles(planDir, templateOf(source), source, lists[index]!, signal);
      await fillTable(connection, dir, listed);
    },
    async plan(query) {
      const places = await planObjects(connection, query);
      return listed.filter((_, place) => places.has(place));
    },
    async fetch(objects, signal) {
      const paths =
        localDir === undefined
          ? await fetched.fetch(objects, signal)
          : objects.map(({ key }) => join(localDir, key));
      files = objects.map(({ day: { job } }, index) => ({ job, path: paths[index]! }));
    },
    fetched(source) {
      const own = files.filter(({ job }) => job === source.job).map(({ path }) => path);
      // Of no object at all, the columns.
      return own.length === 0 ? noRows(source) : duckdbObjects(own, source.dataset);
    },
    async receipts(jobs, signal) {
      const path = join(dir, 'receipts.ndjson');
      const lines: Uint8Array[] = [];
      for (const job of jobs) {
        const days = [];
        for await (const { day } of listReceipts(lake.store, job)) days.push(day);
        await forEachAtOnce(days, RECEIPTS_AT_ONCE, async (day) => {
          signal.throwIfAborted();
          const receipt = await readReceipt(lake.store, day);
          if (receipt !== undefined) lines.push(jsonBytes(receipt));
        });
      }
      await writeFile(path, Buffer.concat(lines));
      return path;
    },
  };
}

function noRows({ columns }: Source): string {
  const typed = [
    'NULL::VARCHAR AS vessel',
    'NULL::DATE AS date',
    ...columns.map(({ name, type }) => `NULL::${duckdb.types[type]} AS ${duckdb.quote(name)}`),
  ];
  return `(SELECT ${typed.join(', ')} WHERE false)`;
}

/** A Parquet file with the columns of a job and no row. */
async function writeTemplate(connection: DuckDBConnection, source: Source, path: string): Promise<void> {
  const columns = source.columns.map(({ name }) => duckdb.quote(name)).join(', ');
  await connection.run(
    `COPY (SELECT ${columns} FROM ${noRows(source)}) TO ${sqlText(path)} (FORMAT parquet)`,
  );
}

/** One in the place of each object; those of objects that are gone do no harm. */
async function placeEmptyFiles(
  planDir: string,
  template: string,
  { job }: Source,
  objects: readonly LakeObject[],
  signal: AbortSignal,
): Promise<void> {
  await forEachAtOnce(objects, LINKS_AT_ONCE, async ({ day: { vessel, date } }) => {
    signal.throwIfAborted();
    const folder = join(planDir, `job=${job}`, `vessel=${vessel}`, `date=${date}`);
    await mkdir(folder, { recursive: true });
    await link(template, join(folder, 'empty.parquet')).catch(unlessThere);
  });
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

async function fillTable(
  connection: DuckDBConnection,
  dir: string,
  objects: readonly LakeObject[],
): Promise<void> {
  const path = join(dir, 'objects.csv');
  const lines = objects.map(({ day: { job, vessel, date } }, place) => `${job},${vessel},${date},${place}\n`);
  await writeFile(path, lines.join(''));
  await connection.run(`DELETE FROM ${OBJECTS_TABLE}`);
  if (objects.length > 0)
    await connection.run(`COPY ${OBJECTS_TABLE} FROM ${sqlPath(path)} (FORMAT csv, HEADER false)`);
}
