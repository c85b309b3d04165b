import type { Dirent, Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from './errors.ts';

interface FoundFile {
  readonly fileKey: string;
  readonly path: string;
}

const STAT_BATCH = 32;

/**
 * Files below the folders that `prefix` can mean and that are `wanted`, in key order (bytes of UTF-8, as S3
 * lists). Hidden folders and links are passed over. Holds the names of one folder per level at a time.
 */
export async function* walkFiles(
  rootDir: string,
  prefix: string,
  wanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFile> {
  for await (const page of walkPages(rootDir, prefix, wanted)) yield* page;
}

/** The same, as many at once as follow each other in a folder. */
export async function* walkPages(
  rootDir: string,
  prefix: string,
  wanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFile[]> {
  const folderEnd = prefix.lastIndexOf('/') + 1;
  yield* walkFolder(rootDir, prefix.slice(0, folderEnd), prefix.slice(folderEnd), wanted);
}

async function* walkFolder(
  rootDir: string,
  folderKey: string,
  namePrefix: string,
  wanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFile[]> {
  const folder = join(rootDir, folderKey, '.');
  let files: FoundFile[] = [];
  for (const entry of inKeyOrder(await readFolder(folder))) {
    if (entry.isDirectory()) {
      if (entry.name.startsWith('.') || !entry.name.startsWith(namePrefix)) continue;
      if (files.length > 0) yield files;
      files = [];
      yield* walkFolder(rootDir, `${folderKey}${entry.name}/`, '', wanted);
    } else if (entry.isFile()) {
      const fileKey = folderKey + entry.name;
      if (wanted(fileKey)) files.push({ fileKey, path: `${folder}/${entry.name}` });
    }
  }
  if (files.length > 0) yield files;
}

/** The folder's entries, none when it is not there (any more) or is no folder. */
async function readFolder(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** A folder sorts as its name with the slash that follows it in every key below. */
function inKeyOrder(entries: readonly Dirent[]): Dirent[] {
  return entries
    .map((entry) => ({ entry, name: Buffer.from(entry.isDirectory() ? `${entry.name}/` : entry.name) }))
    .sort((a, b) => Buffer.compare(a.name, b.name))
    .map(({ entry }) => entry);
}

/** Names this writing of a file: every write makes a new one, whose inode or time (to the microsecond) is another. */
export function fileVersion({ ino, mtimeMs }: Pick<Stats, 'ino' | 'mtimeMs'>): string {
  return `${ino}-${mtimeMs}`;
}

/** Add size and times; files that vanished meanwhile are left out. */
export async function* withStats(pages: AsyncIterable<readonly FoundFile[]>) {
  for await (const page of pages) {
    const found = [];
    for (let at = 0; at < page.length; at += STAT_BATCH) {
      const batch = page.slice(at, at + STAT_BATCH);
      for (const { file, info } of await Promise.all(
        batch.map(async (file) => ({ file, info: await statIfThere(file.path) })),
      )) {
        if (info === undefined) continue;
        const { size: sizeBytes, mtimeMs: modifiedMs, birthtimeMs } = info;
        // Where the file system keeps no time of birth, Node reports 0 or a later time.
        const createdMs = birthtimeMs > 0 ? Math.min(birthtimeMs, modifiedMs) : modifiedMs;
        found.push({ ...file, sizeBytes, modifiedMs, createdMs, tag: fileVersion(info) });
      }
    }
    yield found;
  }
}

export async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
