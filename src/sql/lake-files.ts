/** Where the files of a job are for DuckDB: in the lake's folder, or fetched from a store elsewhere. */
import { fileURLToPath } from 'node:url';
import { keyPrefix, objectPrefix, parseObjectKey } from '../lake/keys.ts';
import { readTableFiles } from '../lake/table-files.ts';
import type { Layout } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { LakeObject } from './fetched-objects.ts';

/** Folder of a lake that lies in one; undefined for a lake elsewhere. */
export function lakeFolder(url: string): string | undefined {
  return url.startsWith('file:') ? fileURLToPath(url) : undefined;
}

/** A pattern of the paths of a job's objects in a lake's folder. */
export function objectPattern(folder: string, job: string): string {
  return `${folder.replace(/[[*?]/g, '[$&]')}/${job}/*/*/*.parquet`;
}

/** The same of its receipts. */
export function receiptPattern(folder: string, job: string): string {
  return `${folder.replace(/[[*?]/g, '[$&]')}/${keyPrefix('receipt', job)}*/*.json`;
}

/** The objects of a job: as the store lists them, or in a delta lake as its table has them. */
export async function listLakeObjects(
  store: Pick<ObjectStore, 'get' | 'getRange' | 'head' | 'list'>,
  layout: Layout,
  job: string,
  signal: AbortSignal,
): Promise<LakeObject[]> {
  if (layout === 'delta')
    // No name is used twice.
    return (await readTableFiles(store, job)).map((file) => ({ ...file, tag: file.key }));
  const objects: LakeObject[] = [];
  for await (const { key, sizeBytes, tag } of store.list(objectPrefix(job))) {
    signal.throwIfAborted();
    const day = parseObjectKey(key);
    if (day !== undefined) objects.push({ day, key, sizeBytes, tag });
  }
  return objects;
}
