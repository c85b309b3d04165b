/** Where the files of a job are for DuckDB: in the lake's folder, or fetched from a store elsewhere. */
import { fileURLToPath } from 'node:url';
import { asPattern } from '../../core/duckdb/locked.ts';
import type { Layout, Log } from '../../core/model/index.ts';
import { objectPrefix, parseObjectKey } from '../../lake/keys.ts';
import { readTableFiles } from '../../lake/publish/table-files.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { LakeObject } from './fetched-objects.ts';

/** Folder of a lake that lies in one; undefined for a lake elsewhere. */
export function lakeFolder(url: string): string | undefined {
  return url.startsWith('file:') ? fileURLToPath(url) : undefined;
}

/** A pattern of the paths of a job's objects in a lake's folder. */
export function objectPattern(folder: string, job: string): string {
  return `${asPattern(folder)}/${job}/*/*/*.parquet`;
}

/** A lake whose objects can be listed. */
export interface ListedLake {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly log: Log;
}

/** The objects of a job: as the store lists them, or as its table's log has them. */
export async function listLakeObjects(
  lake: ListedLake,
  job: string,
  signal: AbortSignal,
): Promise<LakeObject[]> {
  return lake.layout === 'plain' ? await listPlain(lake, job, signal) : await listTable(lake, job);
}

async function listPlain({ store }: ListedLake, job: string, signal: AbortSignal): Promise<LakeObject[]> {
  const objects: LakeObject[] = [];
  for await (const { key, sizeBytes, tag } of store.list(objectPrefix(job))) {
    signal.throwIfAborted();
    const day = parseObjectKey(key);
    if (day !== undefined) objects.push({ day, key, sizeBytes, tag });
  }
  return objects;
}

/** What a version of the table has, all of it or nothing. A name is never used again: it is its own tag. */
async function listTable({ store, log }: ListedLake, job: string): Promise<LakeObject[]> {
  return (await readTableFiles(store, job, log)).map((file) => ({ ...file, tag: file.key }));
}
