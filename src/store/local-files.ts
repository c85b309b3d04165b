import { hash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isAlive } from '../process/process-id.ts';
import type { Descriptor } from './local-calls.ts';
import {
  closeFile,
  createFolder,
  namesIn,
  openPath,
  readInto,
  removeFile,
  removeFolder,
  renameSmall,
  statFile,
  statPath,
  syncFile,
  writeFrom,
} from './local-calls.ts';
import { codeOf, localError, notAFile, unlessMissing } from './local-errors.ts';
import { walkFiles } from './local-walk.ts';

/**
 * Durable file operations under a folder that other processes write to and prune at the same time.
 *
 * Whole files are written to a hidden temp file beside their place and moved there in one act. A temp file of
 * a writer that died is swept by whoever works in the folder next. A sweep can err (another container's process
 * may look dead from here); that is harmless, because a writer whose temp file was taken starts again.
 */

/** The last number begins with the time: among the writers of a file it tells who came first. */
const TEMP_NAME = /^\.(?<of>.+)\.(?<host>[0-9a-f]{8})-(?<pid>\d+)-(?<turn>[0-9a-f]{16})\.put$/;
const TEMP_MAX_AGE_MS = 3_600_000;
/** Attempts to win a race against pruning or sweeping; each lost one means that somebody else made progress. */
const RACE_ATTEMPTS = 100;
const ownTemps = new Set<string>();

/**
 * Write a complete, synced temp file in `path`'s folder, then let `place` move or link it; `info` is of the whole file.
 * The temp file is gone afterwards, whatever happened.
 */
export async function placeFile<T>(
  path: string,
  bytes: Uint8Array,
  place: (tempPath: string, info: Stats) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const temp = await createTemp(path);
    try {
      const info = await writeAndSync(temp.file, bytes);
      return await place(temp.path, info);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || attempt === RACE_ATTEMPTS) throw error;
    } finally {
      await dropTemp(temp.path);
    }
  }
}

/** Create an empty hidden temp file beside `path`; `dropTemp` ends its life. */
export async function createTemp(path: string): Promise<{ path: string; file: Descriptor }> {
  const turn = Date.now().toString(16).padStart(11, '0') + fiveDigits();
  const name = `.${basename(path)}.${hostTag()}-${process.pid}-${turn}.put`;
  const tempPath = join(dirname(path), name);
  ownTemps.add(tempPath);
  try {
    return { path: tempPath, file: await createFile(tempPath) };
  } catch (error) {
    ownTemps.delete(tempPath);
    throw error;
  }
}

/** Tells writers of the same millisecond apart; nobody has to be unable to guess them. */
function fiveDigits(): string {
  return Math.floor(Math.random() * 16 ** 5)
    .toString(16)
    .padStart(5, '0');
}

/** Let a temp file have its place, over what is there. Throws ENOENT where somebody has taken it. */
export async function moveTemp(tempPath: string, path: string): Promise<void> {
  await renameSmall(tempPath, path);
  ownTemps.delete(tempPath);
}

/** Remove a temp file, unless it was moved. */
export async function dropTemp(tempPath: string): Promise<void> {
  if (!ownTemps.has(tempPath)) return;
  await unlessMissing(removeFile(tempPath));
  ownTemps.delete(tempPath);
}

async function writeAndSync(file: Descriptor, bytes: Uint8Array): Promise<Stats> {
  try {
    await writeAll(file, bytes, 0);
    await syncFile(file);
    return await statFile(file);
  } finally {
    await closeFile(file);
  }
}

/** Write all of `bytes` at `position`: one write call may take fewer than it was given. */
export async function writeAll(file: Descriptor, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += await writeFrom(file, bytes, done, position + done);
}

/** The same of a file that somebody else has opened. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Opening a pipe would wait for somebody at its other end, for ever and in one of the few threads that there are. */
const WITHOUT_WAITING = constants.O_NONBLOCK ?? 0;
/** Our files are no links: one that is leads out of the lake, or to nothing. */
const WITHOUT_FOLLOWING = constants.O_NOFOLLOW ?? 0;

/**
 * Open a file of the lake, or undefined where there is none. Throws FatalError `key-conflict` for what is no regular
 * file, such as a pipe or a link.
 */
export async function openFile(
  path: string,
  access = constants.O_RDONLY,
): Promise<{ readonly file: Descriptor; readonly info: Stats } | undefined> {
  const file = await unlessMissing(openPath(path, access | WITHOUT_WAITING | WITHOUT_FOLLOWING));
  if (file === undefined) return undefined;
  try {
    const info = await statFile(file);
    if (info.isFile()) return { file, info };
  } catch (error) {
    await closeFile(file);
    throw error;
  }
  await closeFile(file);
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
  try {
    const size = Math.min(toByte, opened.info.size) - fromByte;
    return await readAll(opened.file, Math.max(0, size), fromByte);
  } finally {
    await closeFile(opened.file);
  }
}

/** So many bytes of a file from a place on, as far as it reaches. */
export async function readAll(file: Descriptor, sizeBytes: number, position: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(sizeBytes);
  for (let done = 0; done < sizeBytes; ) {
    const read = await readInto(file, bytes, done, position + done);
    if (read === 0) return bytes.subarray(0, done);
    done += read;
  }
  return bytes;
}

/** Create a file that must not exist, with the folders above it. */
export async function createFile(path: string): Promise<Descriptor> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openPath(path, 'wx');
    } catch (error) {
      // No folder yet, or somebody pruned it between mkdir and open.
      if (codeOf(error) !== 'ENOENT' || attempt === RACE_ATTEMPTS) throw error;
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
    await createFolder(folder).catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      await makeFolder(dirname(folder));
      await createFolder(folder);
    });
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return;
    throw error;
  }
  await unlessMissing(syncFolder(dirname(folder)));
}

/** Make renames and removals in a folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const opened = await openPath(folder, constants.O_RDONLY | WITHOUT_WAITING);
  try {
    await syncFile(opened);
  } catch (error) {
    // Some network file systems cannot sync a folder: they do it by themselves.
    if (codeOf(error) !== 'EINVAL' && codeOf(error) !== 'ENOTSUP') throw error;
  } finally {
    await closeFile(opened);
  }
}

/** Remove a file and the folders above it (below `rootDir`) that are empty then. */
export async function removeAndPrune(rootDir: string, path: string): Promise<void> {
  await unlessMissing(removeFile(path));
  await unlessMissing(syncFolder(await pruneAbove(rootDir, path)));
}

/** The same where there is a file, and nothing where there is none; `isDurable` false: it may be back after a power cut. */
export async function removeFound(rootDir: string, path: string, isDurable: boolean): Promise<void> {
  if (!(await unlessMissing(removeFile(path).then(() => true)))) return;
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
    await removeFolder(folder);
    return true;
  } catch (error) {
    switch (codeOf(error)) {
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

/** The temp files of one file's writers, of all hosts and processes, in the order of their turns. */
export async function tempsOf(path: string): Promise<string[]> {
  const folder = dirname(path);
  const found: { turn: string; temp: string }[] = [];
  for (const name of (await unlessMissing(namesIn(folder))) ?? []) {
    const { of, turn } = TEMP_NAME.exec(name)?.groups ?? {};
    if (of === basename(path)) found.push({ turn: turn!, temp: join(folder, name) });
  }
  return found.sort((a, b) => (a.turn < b.turn ? -1 : 1)).map(({ temp }) => temp);
}

/** Remove the temp files that dead writers left in a folder. */
export async function sweepTemps(folder: string): Promise<void> {
  for (const name of (await unlessMissing(namesIn(folder))) ?? []) {
    const path = join(folder, name);
    if (await isDeadTemp(path)) await unlessMissing(removeFile(path));
  }
}

/** A temp file that a dead writer left; whoever works in its folder next would sweep it too. */
interface DeadTemp {
  /** Relative to the root, with `/`. */
  readonly fileKey: string;
  /** False when it is gone, or not dead any more. */
  remove(): Promise<boolean>;
}

/** All of them below a lake's folder. Throws FatalError and RetriableError as the store does. */
export async function* findDeadTemps(rootDir: string): AsyncGenerator<DeadTemp> {
  try {
    for await (const { fileKey, path } of walkFiles(rootDir, '', (key) => TEMP_NAME.test(basename(key)))) {
      if (!(await isDeadTemp(path))) continue;
      yield {
        fileKey,
        async remove() {
          if (!(await isDeadTemp(path))) return false;
          await unlessMissing(removeFile(path));
          return true;
        },
      };
    }
  } catch (error) {
    throw localError(error, 'list', rootDir);
  }
}

/** Is this the temp file of a writer that is dead, as far as can be told from here? */
export async function isDeadTemp(path: string): Promise<boolean> {
  const match = TEMP_NAME.exec(basename(path));
  if (match === null) return false;
  const pid = Number(match.groups!.pid);
  if (match.groups!.host === hostTag()) return pid === process.pid ? !ownTemps.has(path) : !isAlive(pid);
  const info = await unlessMissing(statPath(path));
  return info !== undefined && Date.now() - info.mtimeMs > TEMP_MAX_AGE_MS;
}

let ownHostTag: string | undefined;

/** A file name's worth of this machine's name. */
function hostTag(): string {
  ownHostTag ??= hash('sha256', hostname()).slice(0, 8);
  return ownHostTag;
}
