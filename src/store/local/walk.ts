import type { Dirent, Stats } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from './errors.ts';

interface FoundFile {
  readonly fileKey: string;
  readonly path: string;
}

const STAT_BATCH = 32;

/**
 * Files below the folders that `prefix` can mean and that are `wanted`, in key order (bytes of UTF-8, as S3
 * lists), as many at once as follow each other in a folder. Hidden folders and links are passed over. Holds the names of one
 * folder per level at a time.
 */
export function walkPages(
  rootDir: string,
  prefix: string,
  wanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFile[]> {
  const folderEnd = prefix.lastIndexOf('/') + 1;
  return walkFolder(rootDir, prefix.slice(0, folderEnd), prefix.slice(folderEnd), wanted);
}

async function* walkFolder(
  rootDir: string,
  folderKey: string,
  namePrefix: string,
  wanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFile[]> {
  const folder = join(rootDir, folderKey, '.');
  let files: FoundFile[] = [];
  const entries = await unlessMissing(readdir(folder, { withFileTypes: true }), 'ENOTDIR');
  for (const entry of inKeyOrder(entries ?? [])) {
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

function statIfThere(path: string): Promise<Stats | undefined> {
  return unlessMissing(stat(path), 'ENOTDIR');
}

/** File systems, by Linux's numbers, known to set a folder's times with every change of its names. Others may make them up. */
const KEEPING_TIMES: ReadonlySet<number> = new Set([
  0xef53, // ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0x01021994, // tmpfs
  0x794c7630, // overlay
  0x6969, // NFS
]);

/** A change within a step of the clock (4 ms to 2 s) may leave the same times; clocks of hosts differ, and NFS keeps times. */
const SETTLED_AFTER_MS = 120_000;

/** For `folderState` of the store. Beside the time of the last change the one that nobody can set, as restoring does. */
export async function folderStateOf(path: string, nowMs: number): Promise<string | undefined> {
  const info = await statIfThere(path);
  if (info === undefined || !info.isDirectory()) return undefined;
  const { ino, mtimeMs, ctimeMs } = info;
  if (Math.max(mtimeMs, ctimeMs) + SETTLED_AFTER_MS >= nowMs || process.platform !== 'linux')
    return undefined;
  return KEEPING_TIMES.has((await statfs(path)).type) ? `${ino}-${mtimeMs}-${ctimeMs}` : undefined;
}
