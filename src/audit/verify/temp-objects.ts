/** Objects as files for an engine that reads only files: a local lake's as they are, others written while they are checked. */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, FatalError, messageOf } from '../../core/errors.ts';
import { openTempFolder } from '../../core/process/temp-folder.ts';
import { writeAll } from '../../store/local/files.ts';

export type TempObjects = Awaited<ReturnType<typeof openTempObjects>>;

interface TempObject {
  pathOf(key: string): string;
  /** Undefined where the object is a file already. */
  readonly write: ((bytes: Uint8Array, atByte: number) => Promise<void>) | undefined;
  remove(): Promise<void>;
}

/** A new folder in `parent` (TEMP_DIR); those of processes that were killed are removed. Throws ConfigError. */
export async function openTempObjects(parent: string, lakeUrl: string) {
  const folder = await openTempFolder(parent, 'verify').catch((error: unknown) => {
    throw new ConfigError('temp-dir', `TEMP_DIR: cannot make a folder in '${parent}': ${messageOf(error)}`);
  });
  const localDir = lakeUrl.startsWith('file:') ? fileURLToPath(lakeUrl) : undefined;
  let opened = 0;
  return {
    tempDir: folder.path,
    /** Folder of a local lake's objects; undefined for a lake elsewhere. */
    localDir,
    /** A file to be filled, or the objects of a local lake as they are. */
    async open(): Promise<TempObject> {
      if (localDir !== undefined)
        return { pathOf: (key) => join(localDir, key), write: undefined, remove: async () => {} };
      return createTempObject(join(folder.path, `${opened++}.parquet`));
    },
    close: () => folder.remove(),
  };
}

async function createTempObject(path: string): Promise<TempObject> {
  const handle = await open(path, 'w');
  return {
    pathOf: () => path,
    async write(bytes, atByte) {
      try {
        // A day that is looked at again may be shorter: nothing of before stays behind its end.
        if (atByte === 0) await handle.truncate();
        await writeAll(handle, bytes, atByte);
      } catch (cause) {
        throw new FatalError(
          'disk-full',
          `cannot write ${path}: ${messageOf(cause)}; point TEMP_DIR to a disk with room for the largest days of the lake`,
          { cause },
        );
      }
    },
    async remove() {
      await handle.close();
      await rm(path, { force: true });
    },
  };
}
