/** The files of a lake: what lies where, and which dataset each job holds. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathLiteral } from '../../core/duckdb/locked.ts';
import { sql } from '../../core/duckdb/sql-text.ts';
import { isDate, JOB_NAME, VESSEL_ID } from '../../core/model/index.ts';
import type { EngineConnection } from './engine.ts';

export interface LakeFile {
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
  readonly path: string;
}

type LakeDataset = 'measurements' | 'metadata';

/** Every `<job>/vessel=…/date=…/data.parquet`, by job, vessel and date. Throws when the folder is not there. */
export async function listLakeFiles(dataDir: string): Promise<LakeFile[]> {
  const files: LakeFile[] = [];
  for (const job of (await folders(dataDir)).filter((name) => JOB_NAME.test(name)))
    for (const vesselDir of await folders(join(dataDir, job))) {
      const vessel = partitionValue('vessel', vesselDir);
      if (vessel === undefined || !VESSEL_ID.test(vessel)) continue;
      for (const dateDir of await folders(join(dataDir, job, vesselDir))) {
        const date = partitionValue('date', dateDir);
        if (date === undefined || !isDate(date)) continue;
        const folder = join(dataDir, job, vesselDir, dateDir);
        if ((await readdir(folder)).includes('data.parquet'))
          files.push({ job, vessel, date, path: join(folder, 'data.parquet') });
      }
    }
  return files;
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

async function folders(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return names.sort();
}

function partitionValue(key: string, folder: string): string | undefined {
  return folder.startsWith(`${key}=`) ? folder.slice(key.length + 1) : undefined;
}
