import type { Dirent, Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, unlessMissing } from './local-errors.ts';

interface FoundFile {
  /** Relative to the root, with `/`. */
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
  const folderEnd = prefix.lastIndexOf('/') + 1;
  yield* walkFolder(rootDir, prefix.slice(0, folderEnd), prefix.slice(folderEnd), wanted);
}

async function* walkFolder(
  rootDir: string,
  folderKey: string,
  namePrefix: string,
  wanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFile> {
  const entries = await readFolder(join(rootDir, folderKey));
  for (const entry of inKeyOrder(entries)) {
    if (entry.isDirectory()) {
      if (!entry.name.startsWith('.') && entry.name.startsWith(namePrefix)) {
        yield* walkFolder(rootDir, `${folderKey}${entry.name}/`, '', wanted);
      }
    } else if (entry.isFile()) {
      const fileKey = folderKey + entry.name;
      if (wanted(fileKey)) yield { fileKey, path: join(rootDir, fileKey) };
    }
  }
}

/** The folder's entries, none when it is not there (any more) or is no folder. */
async function readFolder(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** A folder sorts as its name with the slash that follows it in every key below. */
function inKeyOrder(entries: readonly Dirent[]): Dirent[] {
  return entries
    .map((entry) => ({ entry, bytes: Buffer.from(entry.isDirectory() ? `${entry.name}/` : entry.name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ entry }) => entry);
}

export type FoundFileStat = FoundFile & {
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly createdMs: number;
  readonly tag: string;
};

/** Names this writing of a file: every write makes a new one, whose inode or time (to the microsecond) is another. */
export function versionOf({ ino, mtimeMs }: Pick<Stats, 'ino' | 'mtimeMs'>): string {
  return `${ino}-${mtimeMs}`;
}

/** Add size and times; files that vanished meanwhile are left out. Asks for a batch at a time, for speed. */
export async function* withStats(files: AsyncIterable<FoundFile>): AsyncIterable<FoundFileStat> {
  let batch: FoundFile[] = [];
  for await (const file of files) {
    if (batch.push(file) < STAT_BATCH) continue;
    yield* await statAll(batch);
    batch = [];
  }
  yield* await statAll(batch);
}

async function statAll(files: readonly FoundFile[]): Promise<FoundFileStat[]> {
  const stats = await Promise.all(files.map((file) => unlessMissing(stat(file.path))));
  return files.flatMap((file, i) => {
    const info = stats[i];
    if (info === undefined) return [];
    // Where the file system keeps no time of birth, Node reports 0 or a later time.
    const createdMs = info.birthtimeMs > 0 ? Math.min(info.birthtimeMs, info.mtimeMs) : info.mtimeMs;
    const tag = versionOf(info);
    return [{ ...file, sizeBytes: info.size, modifiedMs: info.mtimeMs, createdMs, tag }];
  });
}
