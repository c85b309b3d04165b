/** Files that no pattern finds, for they are elsewhere or a table's log names them: empty ones while a query is planned, then those that it needs. */
import { copyFile, link, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { SqlConnection } from '../../core/duckdb/connection.ts';
import { asPattern } from '../../core/duckdb/locked.ts';
import { joinSql, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import type { VesselDay } from '../../core/model/index.ts';
import type { Source } from '../views/dialect.ts';
import { duckdb, duckdbObjects } from '../views/dialects/duckdb.ts';
import { createFetchedObjects, type LakeObject } from './fetched-objects.ts';
import { type ListedLake, listLakeObjects } from './lake-sources.ts';
import { OBJECTS_TABLE, planObjects } from './object-plan.ts';

/** A job that nobody asks: without it, DuckDB would see that all files are of one job, and its plan would not say which job a scan is of. */
const DECOY_JOB = 'job=.none';

interface PlannedOptions {
  readonly lake: ListedLake;
  /** Folder of a lake that lies in one. */
  readonly localDir: string | undefined;
  readonly dir: string;
  readonly maxFetchBytes: number;
}

/** On a database that may read below `dir`. */
export async function openPlannedFiles(
  connection: SqlConnection,
  sources: readonly Source[],
  { lake, localDir, dir, maxFetchBytes }: PlannedOptions,
) {
  const fetchObjects = createFetchedObjects(lake.store, join(dir, 'objects'), maxFetchBytes);
  const decoyDir = join(dir, 'decoy');
  const templateOf = ({ job }: Source) => join(dir, `${job}.parquet`);
  const templates = new Map(sources.map((source) => [source.job, templateOf(source)]));
  const placeEmptyFiles = createEmptyFiles(join(dir, 'places'), templates);
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
    /** What stands for a job's objects while a query is planned. */
    placeholders: (source: Source): Sql => {
      const { job } = source;
      // A pattern that finds no file is an error.
      if (!listed.some(({ day }) => day.job === job)) return noRows(source);
      const paths = [
        duckdb.literal(`${asPattern(planDir)}/job=${job}/*/*/*.parquet`),
        duckdb.literal(`${asPattern(decoyDir)}/${DECOY_JOB}/of-${job}/*/*/*.parquet`),
      ];
      return sql`(SELECT * FROM read_parquet([${joinSql(paths)}], hive_partitioning = true, hive_types = {'job': VARCHAR, 'vessel': VARCHAR, 'date': DATE}) WHERE job = ${duckdb.literal(job)})`;
    },
    /** The jobs' objects as they are listed now, with an empty file in the place of each. */
    async list(wanted: readonly Source[], signal: AbortSignal) {
      const lists = await Promise.all(wanted.map(({ job }) => listLakeObjects(lake, job, signal)));
      listed = lists.flat();
      const days = listed.map(({ day }) => day);
      planDir = await placeEmptyFiles(days, signal);
      await fillTable(connection, dir, listed);
    },
    /** Those of the listed objects that a query over the placeholders may need. */
    async plan(query: Sql) {
      const places = await planObjects(connection, query);
      return listed.filter((_, place) => places.has(place));
    },
    /** Fetch objects, all that a query needs at once: what is not among them may go. */
    async fetch(objects: readonly LakeObject[], signal: AbortSignal) {
      const paths =
        localDir === undefined
          ? await fetchObjects(objects, signal)
          : objects.map(({ key }) => join(localDir, key));
      files = objects.map(({ day: { job } }, index) => ({ job, path: paths[index]! }));
    },
    /** A job's objects of those that were fetched last. */
    fetched(source: Source): Sql {
      const own = files.filter(({ job }) => job === source.job).map(({ path }) => path);
      // Of no object at all, the columns.
      return own.length === 0 ? noRows(source) : duckdbObjects(own, source.dataset);
    },
  };
}

export type PlannedFiles = Awaited<ReturnType<typeof openPlannedFiles>>;

export function noRows({ columns }: Source): Sql {
  const typed = [
    sql`NULL::VARCHAR AS vessel`,
    sql`NULL::DATE AS date`,
    ...columns.map(({ name, type }) => sql`NULL::${duckdb.types[type]} AS ${duckdb.quote(name)}`),
  ];
  return sql`(SELECT ${joinSql(typed)} WHERE false)`;
}

async function writeTemplate(connection: SqlConnection, source: Source, path: string): Promise<void> {
  const columns = joinSql(source.columns.map(({ name }) => duckdb.quote(name)));
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

const LINKS_AT_ONCE = 16;

/**
 * Empty files for a query to be planned over. Tens of thousands of folders would take seconds, and most vessels have the same dates: so dates are links to
 * one folder with one empty file, and vessels links to the folder of their dates. `templates`: by job, an empty file.
 */
export function createEmptyFiles(dir: string, templates: ReadonlyMap<string, string>) {
  let made = 0;
  let placed: { readonly what: string; readonly folder: string } | undefined;
  /** Put `<folder>/job=…/vessel=…/date=…/empty.parquet` in the place of each vessel-day, and nothing else; what is there already is kept. */
  return async (days: readonly VesselDay[], signal: AbortSignal) => {
    const vessels = datesOfVessels(days);
    const what = JSON.stringify(vessels);
    if (placed?.what === what) return join(placed.folder, 'plan');
    if (placed !== undefined) await rm(placed.folder, { recursive: true, force: true });
    placed = undefined;
    const folder = join(dir, String(made++));
    await linkAll(folder, vessels, templates, signal);
    placed = { what, folder };
    return join(folder, 'plan');
  };
}

/** `dates`: in order, with commas. */
function datesOfVessels(days: readonly VesselDay[]) {
  return [...Map.groupBy(days, ({ job }) => job)].flatMap(([job, ofJob]) =>
    [...Map.groupBy(ofJob, ({ vessel }) => vessel)].map(([vessel, own]) => {
      const dates = [...new Set(own.map(({ date }) => date))].sort().join(',');
      return { job, vessel, dates };
    }),
  );
}

async function linkAll(
  folder: string,
  vessels: ReturnType<typeof datesOfVessels>,
  templates: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(join(folder, 'plan'), { recursive: true });
  let sets = 0;
  for (const [job, ofJob] of Map.groupBy(vessels, (one) => one.job)) {
    const empty = join(folder, 'empty', job);
    await mkdir(empty, { recursive: true });
    await copyFile(templates.get(job)!, join(empty, 'empty.parquet'));
    await mkdir(join(folder, 'plan', `job=${job}`));
    for (const [dates, alike] of Map.groupBy(ofJob, (one) => one.dates)) {
      const set = join(folder, 'dates', String(sets++));
      await mkdir(set, { recursive: true });
      await forEachAtOnce(dates.split(','), LINKS_AT_ONCE, async (date) => {
        signal.throwIfAborted();
        await symlink(empty, join(set, `date=${date}`), 'dir');
      });
      await forEachAtOnce(alike, LINKS_AT_ONCE, ({ vessel }) =>
        symlink(set, join(folder, 'plan', `job=${job}`, `vessel=${vessel}`), 'dir'),
      );
    }
  }
}
