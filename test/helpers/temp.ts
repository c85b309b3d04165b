import { existsSync, statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where nothing waits for a disk: for tests of many small lakes, in which nothing has to outlast a power cut. */
const MEMORY = existsSync('/dev/shm') && freeBytes('/dev/shm') > 2e9 ? '/dev/shm' : tmpdir();

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The same, in memory where the machine has such a folder with room: that of a container may be small. */
export const newMemoryFolder = (): Promise<TempFolder> => newTempFolder(MEMORY);

/** A new folder of its own; `await using` or `remove()` deletes it with all that is in it. */
export interface TempFolder extends AsyncDisposable {
  readonly path: string;
  remove(): Promise<void>;
}

export async function newTempFolder(parent = tmpdir()): Promise<TempFolder> {
  const path = await mkdtemp(join(parent, 'vessel-export-'));
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3 });
  return { path, remove, [Symbol.asyncDispose]: remove };
}
