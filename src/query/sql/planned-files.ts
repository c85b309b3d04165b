/**
 * Files of a lake that DuckDB cannot find by a pattern, because they are elsewhere or because a table's log says which
 * they are: empty ones while a query is planned, then those that it needs, fetched where they are not here.
 */
import { link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { asPattern } from '../../core/duckdb/locked.ts';
import { joinSql, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import type { Source } from '../views/dialect.ts';
import { duckdb, duckdbObjects } from '../views/dialects/duckdb.ts';
import { createEmptyFiles } from './empty-files.ts';
import { createFetchedObjects, type LakeObject } from './fetched-objects.ts';
import { type ListedLake, listLakeObjects } from './lake-files.ts';
import { OBJECTS_TABLE, planObjects } from './object-plan.ts';

/**
 * A folder of a job that nobody asks: without it, DuckDB would see that all files are of the job that is asked, and its plan
 * would not say which job a scan is of.
 */
const DECOY_JOB = 'job=.none';

export interface PlannedFiles {
  /** What stands for a job's objects while a query is planned. */
  placeholders(source: Source): Sql;
  /** The jobs' objects as they are listed now, with an empty file in the place of each. */
  list(sources: readonly Source[], signal: AbortSignal): Promise<void>;
  /** Those of the listed objects that a query over the placeholders may need. */
  plan(query: Sql): Promise<LakeObject[]>;
  /** Fetch objects, all that a query needs at once: what is not among them may go. */
  fetch(objects: readonly LakeObject[], signal: AbortSignal): Promise<void>;
  /** A job's objects of those that were fetched last. */
  fetched(source: Source): Sql;
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
  connection: SqlConnection,
  sources: readonly Source[],
  { lake, localDir, dir, maxFetchBytes }: PlannedOptions,
): Promise<PlannedFiles> {
  const fetched = createFetchedObjects(lake.store, { dir: join(dir, 'objects'), maxBytes: maxFetchBytes });
  const decoyDir = join(dir, 'decoy');
  const templateOf = ({ job }: Source) => join(dir, `${job}.parquet`);
  const templates = new Map(sources.map((source) => [source.job, templateOf(source)]));
  const emptyFiles = createEmptyFiles(join(dir, 'places'), templates);
  let planDir: string;
  let listed: LakeObject[] = [];
  let files: { readonly job: string; readonly path: string }[] = [];
  await connection.run(
    sql`CREATE TABLE ${OBJECTS_TABLE} (job VARCHAR, vessel VARCHAR, date DATE, place BIGINT)`,
  );
  for (const source of sources) {
    await writeTemplate(connection, source, templateOf(source));
    const folder = join(decoyDir, DECOY_JOB, `of-${source.job}`, 'vessel=none', 'date=1970-01-01');
    await mkdir(folder, { recursive: true });
    await link(templateOf(source), join(folder, 'empty.parquet'));
  }

  return {
    placeholders: (source) => {
      const { job } = source;
      // A pattern that finds no file is an error.
      if (!listed.some(({ day }) => day.job === job)) return noRows(source);
      const paths = [
        duckdb.literal(`${asPattern(planDir)}/job=${job}/*/*/*.parquet`),
        duckdb.literal(`${asPattern(decoyDir)}/${DECOY_JOB}/of-${job}/*/*/*.parquet`),
      ];
      return sql`(SELECT * FROM read_parquet([${joinSql(paths, sql`, `)}], hive_partitioning = true, hive_types = {'job': VARCHAR, 'vessel': VARCHAR, 'date': DATE}) WHERE job = ${duckdb.literal(job)})`;
    },
    async list(wanted, signal) {
      const lists = await Promise.all(wanted.map(({ job }) => listLakeObjects(lake, job, signal)));
      listed = lists.flat();
      const days = listed.map(({ day }) => day);
      planDir = await emptyFiles.place(days, signal);
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
  };
}

/** A relation with the columns of a job and no row. */
export function noRows({ columns }: Source): Sql {
  const typed = [
    sql`NULL::VARCHAR AS vessel`,
    sql`NULL::DATE AS date`,
    ...columns.map(({ name, type }) => sql`NULL::${duckdb.types[type]} AS ${duckdb.quote(name)}`),
  ];
  return sql`(SELECT ${joinSql(typed, sql`, `)} WHERE false)`;
}

/** A Parquet file with the columns of a job and no row. */
async function writeTemplate(connection: SqlConnection, source: Source, path: string): Promise<void> {
  const columns = joinSql(
    source.columns.map(({ name }) => duckdb.quote(name)),
    sql`, `,
  );
  await connection.run(sql`COPY (SELECT ${columns} FROM ${noRows(source)}) TO $1 (FORMAT parquet)`, [path]);
}

async function fillTable(
  connection: SqlConnection,
  dir: string,
  objects: readonly LakeObject[],
): Promise<void> {
  const path = join(dir, 'objects.csv');
  const lines = objects.map(({ day: { job, vessel, date } }, place) => `${job},${vessel},${date},${place}\n`);
  await writeFile(path, lines.join(''));
  await connection.run(sql`DELETE FROM ${OBJECTS_TABLE}`);
  if (objects.length > 0)
    await connection.run(sql`COPY ${OBJECTS_TABLE} FROM $1 (FORMAT csv, HEADER false)`, [asPattern(path)]);
}
