/** Removing files, with the folders that are empty then. */
import { rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf, unlessMissing } from './errors.ts';
import { syncFolder } from './files.ts';
import { sweepTemps } from './temps.ts';

/** Remove a file and the folders above it (below `rootDir`) that are empty then. */
export async function removeAndPrune(rootDir: string, path: string): Promise<void> {
  await unlessMissing(unlink(path));
  await unlessMissing(syncFolder(await pruneAbove(rootDir, path)));
}

/** The same where there is a file, and nothing where there is none; `isDurable` false: it may be back after a power cut. */
export async function removeFound(rootDir: string, path: string, isDurable: boolean): Promise<void> {
  if (!(await unlessMissing(unlink(path).then(() => true)))) return;
  const folder = await pruneAbove(rootDir, path);
  if (isDurable) await unlessMissing(syncFolder(folder));
}

/** Remove the folders above a file that are empty; the first one that stays. */
async function pruneAbove(rootDir: string, path: string): Promise<string> {
  let folder = dirname(path);
  if (folder !== rootDir && (await removeEmptyFolder(folder))) folder = dirname(folder);
  else await sweepTemps(folder);
  while (folder !== rootDir && (await removeEmptyFolder(folder))) folder = dirname(folder);
  return folder;
}

async function removeEmptyFolder(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    switch (errnoOf(error)) {
      case 'ENOENT': // Somebody else pruned it: the one above may be empty now.
        return true;
      case 'ENOTEMPTY':
      case 'EEXIST':
      case 'EBUSY': // A mount point.
      case 'EACCES':
      case 'EPERM':
      case 'ENOTDIR': // A link to a folder.
        return false;
      default:
        throw error;
    }
  }
}
