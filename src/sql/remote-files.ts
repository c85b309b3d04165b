/** Files for a lake elsewhere: empty ones while a query is planned, then those that it needs, fetched. */
import { link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { forEachAtOnce } from '../concurrency.ts';
import { sqlPath, sqlText } from '../duckdb/locked.ts';
import { jsonBytes } from '../lake/json.ts';
import { listReceipts, readReceipt } from '../lake/ledger.ts';
import type { Layout } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Source } from '../views/dialect.ts';
import { duckdb, duckdbObjects } from '../views/dialects/duckdb.ts';
import type { LakeObject } from './fetched-objects.ts';
import { createFetchedObjects } from './fetched-objects.ts';
import { listLakeObjects } from './lake-files.ts';
import { OBJECTS_TABLE, planObjects } from './object-plan.ts';

const LINKS_AT_ONCE = 16;
const RECEIPTS_AT_ONCE = 32;

export interface RemoteFiles {
  /** What stands for a job's objects while a query is planned. */
  placeholders(source: Source): string;
  /** The jobs' objects as they are listed now, with an empty file in the place of each. */
  list(sources: readonly Source[], signal: AbortSignal): Promise<void>;
  /** Those of the listed objects that a query over the placeholders may need. */
  plan(query: string): Promise<LakeObject[]>;
  /** A job's objects of these, fetched. */
  fetch(source: Source, objects: readonly LakeObject[], signal: AbortSignal): Promise<string>;
  /** A file with the receipts of these jobs, one a line. */
  receipts(jobs: readonly string[], signal: AbortSignal): Promise<string>;
}

interface RemoteOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly dir: string;
  readonly maxFetchBytes: number;
}

/** On a database that may read below `dir`. */
export async function openRemoteFiles(
  connection: DuckDBConnection,
  sources: readonly Source[],
  { store, layout, dir, maxFetchBytes }: RemoteOptions,
): Promise<RemoteFiles> {
  const fetched = createFetchedObjects(store, { dir: join(dir, 'objects'), maxBytes: maxFetchBytes });
  const planDir = join(dir, 'plan');
  const templateOf = ({ job }: Source) => join(dir, `${job}.parquet`);
  let listed: LakeObject[] = [];
  await connection.run(
    `CREATE TABLE ${OBJECTS_TABLE} (job VARCHAR, vessel VARCHAR, date DATE, place BIGINT)`,
  );
  for (const source of sources) await writeTemplate(connection, source, templateOf(source));

  return {
    placeholders: ({ job }) => {
      const pattern = `${planDir.replace(/[[*?]/g, '[$&]')}/job=${job}/*/*/*.parquet`;
      return `(SELECT * FROM read_parquet(${sqlText(pattern)}, hive_partitioning = true, hive_types = {'job': VARCHAR, 'vessel': VARCHAR, 'date': DATE}) WHERE job = ${sqlText(job)})`;
    },
    async list(wanted, signal) {
      const lists = await Promise.all(wanted.map(({ job }) => listLakeObjects(store, layout, job, signal)));
      listed = lists.flat();
      for (const [index, source] of wanted.entries())
        await placeEmptyFiles(planDir, templateOf(source), source, lists[index]!, signal);
      await fillTable(connection, dir, listed);
    },
    async plan(query) {
      const places = await planObjects(connection, query);
      return listed.filter((_, place) => places.has(place));
    },
    async fetch(source, objects, signal) {
      const own = objects.filter(({ day }) => day.job === source.job);
      // Of no object at all, the columns: an empty file in a place of its own.
      if (own.length === 0) return noRows(source);
      return duckdbObjects(await fetched.fetch(own, signal), source.dataset);
    },
    async receipts(jobs, signal) {
      const path = join(dir, 'receipts.ndjson');
      const lines: Uint8Array[] = [];
      for (const job of jobs) {
        const days = [];
        for await (const { day } of listReceipts(store, job)) days.push(day);
        await forEachAtOnce(days, RECEIPTS_AT_ONCE, async (day) => {
          signal.throwIfAborted();
          const receipt = await readReceipt(store, day);
          if (receipt !== undefined) lines.push(jsonBytes(receipt));
        });
      }
      await writeFile(path, Buffer.concat(lines));
      return path;
    },
  };
}

/** What stands for a job's objects where there are none: its columns. */
export function noRows({ columns }: Source): string {
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
