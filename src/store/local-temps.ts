import type { Dirent } from 'node:fs';
import { readdir, unlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { localError, unlessMissing } from './local-errors.ts';
import { isDeadTemp } from './local-files.ts';

/** A temp file that a dead writer left; whoever works in its folder next would sweep it too. */
export interface DeadTemp {
  /** Relative to the root, with `/`. */
  readonly fileKey: string;
  /** False when it is gone, or not dead any more. */
  remove(): Promise<boolean>;
}

/** All of them below a lake's folder. Throws FatalError and RetriableError as the store does. */
export async function* findDeadTemps(rootDir: string): AsyncGenerator<DeadTemp> {
  try {
    yield* walk(rootDir, rootDir);
  } catch (error) {
    throw localError(error, 'list', rootDir);
  }
}

async function* walk(rootDir: string, folder: string): AsyncGenerator<DeadTemp> {
  const entries: Dirent[] = (await unlessMissing(readdir(folder, { withFileTypes: true }))) ?? [];
  for (const { name } of entries.filter((entry) => entry.isFile())) {
    const path = join(folder, name);
    if (!(await isDeadTemp(name, path))) continue;
    yield {
      fileKey: relative(rootDir, path),
      async remove() {
        if (!(await isDeadTemp(name, path))) return false;
        await unlessMissing(unlink(path));
        return true;
      },
    };
  }
  for (const entry of entries)
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield* walk(rootDir, join(folder, entry.name));
}
