/**
 * The files of a lake, and which version each is: a plain day is replaced in its file, which DuckDB opens anew for every slice, so what is read
 * between two looks that found the same is of that version alone.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathLiteral } from '../../core/duckdb/locked.ts';
import { sql } from '../../core/duckdb/sql-text.ts';
import { RetriableError } from '../../core/errors.ts';
import { isDate, JOB_NAME, VESSEL_ID } from '../../core/model/index.ts';
import type { EngineConnection } from './engine.ts';

export interface LakeFile {
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
  readonly path: string;
}

type LakeDataset = 'measurements' | 'metadata';

const DAY_FOLDER = /^vessel=([^/]+)\/date=([^/]+)$/;

/** Every `<job>/vessel=…/date=…/data.parquet`, by job, vessel and date. Throws when the folder is not there. */
export async function listLakeFiles(dataDir: string): Promise<LakeFile[]> {
  const files: LakeFile[] = [];
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    const job = entry.name;
    if (!entry.isDirectory() || !JOB_NAME.test(job)) continue;
    const jobDir = join(dataDir, job);
    for (const { name, parentPath } of await readdir(jobDir, { recursive: true, withFileTypes: true })) {
      const [, vessel = '', date = ''] = DAY_FOLDER.exec(relative(jobDir, parentPath)) ?? [];
      if (name === 'data.parquet' && VESSEL_ID.test(vessel) && isDate(date))
        files.push({ job, vessel, date, path: join(parentPath, name) });
    }
  }
  const key = ({ job, vessel, date }: LakeFile) => [job, vessel, date].join('\0');
  return files.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** What each job holds, by the columns of its first file; other jobs are not in the map. */
export async function classifyJobs(
  { query }: EngineConnection,
  files: readonly LakeFile[],
): Promise<Map<string, LakeDataset>> {
  const datasets = new Map<string, LakeDataset>();
  for (const job of new Set(files.map((file) => file.job))) {
    const { path } = files.find((file) => file.job === job)!;
    const rows = await query((connection) =>
      connection.rows(sql`SELECT name FROM parquet_schema(${pathLiteral(path)})`),
    );
    const columns = new Set(rows.map(([name]) => String(name)));
    if (columns.has('domains_json')) datasets.set(job, 'metadata');
    else if (columns.has('json_value')) datasets.set(job, 'measurements');
  }
  return datasets;
}

/** A file's version, by its path; a file that is gone has one too. Throws what else looking at it fails with. */
export async function versionsOf(files: readonly LakeFile[]): Promise<ReadonlyMap<string, string>> {
  const versions = new Map<string, string>();
  for (const { path } of files) versions.set(path, await versionOf(path));
  return versions;
}

/** Throws RetriableError `day-replaced` when a file is not what it was. */
export async function expectVersions(
  files: readonly LakeFile[],
  expected: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { path } of files)
    if ((await versionOf(path)) !== expected.get(path))
      throw new RetriableError(
        'day-replaced',
        `'${path}' was replaced or removed while it was read: the response would mix two versions of that day, so it ends here; request it again`,
      );
}

async function versionOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'none';
    throw error;
  }
}
