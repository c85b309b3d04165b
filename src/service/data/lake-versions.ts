/**
 * Which version of its vessel-day each file holds. Publishing a plain day replaces its file, and DuckDB opens it anew for
 * every slice: what is read between two looks that found the same is of that version alone.
 */
import { stat } from 'node:fs/promises';
import { RetriableError } from '../../core/errors.ts';
import type { LakeFile } from './lake-files.ts';

/** A file's version, by its path; a file that is gone has one too. Throws what else looking at it fails with. */
type FileVersions = ReadonlyMap<string, string>;

export async function versionsOf(files: readonly LakeFile[]): Promise<FileVersions> {
  const versions = new Map<string, string>();
  for (const { path } of files) versions.set(path, await versionOf(path));
  return versions;
}

/** Throws RetriableError `day-replaced` when a file is not what it was. */
export async function expectVersions(files: readonly LakeFile[], expected: FileVersions): Promise<void> {
  for (const { path } of files)
    if ((await versionOf(path)) !== expected.get(path))
      throw new RetriableError(
        'day-replaced',
        `'${path}' was replaced or removed while it was read: the answer would be of two versions of that day, so it ends here; ask again`,
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
