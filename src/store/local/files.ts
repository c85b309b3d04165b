/** Durable file operations under a folder that other processes write to and prune at the same time. */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf, notAFile, unlessMissing } from './errors.ts';

/** Attempts to win a race against pruning or sweeping; each lost one means that somebody else made progress. */
export const RACE_ATTEMPTS = 100;

/** Write all of `bytes` at `position`: one write call may take fewer than it was given. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** Opening a pipe would wait for somebody at its other end, for ever and in one of the few threads that there are. */
const WITHOUT_WAITING = constants.O_NONBLOCK ?? 0;
/** Our files are no links: one that is leads out of the lake, or to nothing. */
const WITHOUT_FOLLOWING = constants.O_NOFOLLOW ?? 0;

/** Open a file of the lake, if it is there. Throws FatalError `key-conflict` for a pipe, a link or another thing. */
export async function openFile(
  path: string,
  access = constants.O_RDONLY,
): Promise<{ readonly file: FileHandle; readonly info: Stats } | undefined> {
  const file = await unlessMissing(open(path, access | WITHOUT_WAITING | WITHOUT_FOLLOWING));
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    if (info.isFile()) return { file, info };
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  throw notAFile(path);
}

/** Bytes `[fromByte, toByte)` of a file, as far as it reaches, or undefined when there is none. */
export async function readRange(
  path: string,
  fromByte: number,
  toByte: number,
): Promise<Uint8Array | undefined> {
  const opened = await openFile(path);
  if (opened === undefined) return undefined;
  await using file = opened.file;
  const size = Math.min(toByte, opened.info.size) - fromByte;
  return await readAll(file, Math.max(0, size), fromByte);
}

/** So many bytes of a file from a place on, as far as it reaches. */
export async function readAll(file: FileHandle, sizeBytes: number, position: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(sizeBytes);
  for (let done = 0; done < sizeBytes; ) {
    const { bytesRead } = await file.read(bytes, done, sizeBytes - done, position + done);
    if (bytesRead === 0) return bytes.subarray(0, done);
    done += bytesRead;
  }
  return bytes;
}

/** Create a file that must not exist, with the folders above it. */
export async function createFile(path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open(path, 'wx');
    } catch (error) {
      // No folder yet, or somebody pruned it between mkdir and open.
      if (errnoOf(error) !== 'ENOENT' || attempt === RACE_ATTEMPTS) throw error;
      await makeFolder(dirname(path));
    }
  }
}

/**
 * Make a folder and those above it; the entries of new ones are synced. One that is pruned meanwhile may be
 * missing afterwards. Step by step, because mkdir's `recursive` calls a folder that somebody prunes at the
 * wrong moment ENOTDIR, as if a file stood in its place.
 */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder).catch(async (error: unknown) => {
      if (errnoOf(error) !== 'ENOENT') throw error;
      await makeFolder(dirname(folder));
      await mkdir(folder);
    });
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' || errnoOf(error) === 'ENOENT') return;
    throw error;
  }
  await unlessMissing(syncFolder(dirname(folder)));
}

/** Make renames and removals in a folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  await using opened = await open(folder, constants.O_RDONLY | WITHOUT_WAITING);
  try {
    await opened.sync();
  } catch (error) {
    // Some network file systems cannot sync a folder: they do it by themselves.
    if (errnoOf(error) !== 'EINVAL' && errnoOf(error) !== 'ENOTSUP') throw error;
  }
}
