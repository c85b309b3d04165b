/**
 * Whole files are written to a hidden temp file beside their place and moved there in one act. A temp file of
 * a writer that died is swept by whoever works in the folder next. A sweep can err (another container's process
 * may look dead from here); that is harmless, because a writer whose temp file was taken starts again.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../core/process/process-id.ts';
import { errnoOf, localError, unlessMissing } from './errors.ts';
import { createFile, RACE_ATTEMPTS, syncFolder, writeAll } from './files.ts';
import { walkPages } from './walk.ts';

/** The last number begins with the time: among the writers of a file it tells who came first. */
const TEMP_NAME = /^\.(?<of>.+)\.(?<host>[0-9a-f]{8})-(?<pid>\d+)-(?<turn>[0-9a-f]{16})\.put$/;
const TEMP_MAX_AGE_MS = 3_600_000;
const ownTemps = new Set<string>();

/** Write a synced temp file in `path`'s folder, then let `place` move or link it. It is gone afterwards, whatever happened. */
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
      if (errnoOf(error) !== 'ENOENT' || attempt === RACE_ATTEMPTS) throw error;
    } finally {
      await dropTemp(temp.path);
    }
  }
}

/** Create an empty hidden temp file beside `path`; `dropTemp` ends its life. */
export async function createTemp(path: string): Promise<{ path: string; file: FileHandle }> {
  // The end tells writers of the same millisecond apart.
  const turn = Date.now().toString(16).padStart(11, '0') + randomBytes(3).toString('hex').slice(1);
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

/** Let a temp file have its place, over what is there. Throws ENOENT where somebody has taken it. */
export async function moveTemp(tempPath: string, path: string): Promise<void> {
  await rename(tempPath, path);
  ownTemps.delete(tempPath);
}

export async function dropTemp(tempPath: string): Promise<void> {
  if (!ownTemps.has(tempPath)) return;
  await unlessMissing(unlink(tempPath));
  ownTemps.delete(tempPath);
}

async function writeAndSync(opened: FileHandle, bytes: Uint8Array): Promise<Stats> {
  await using file = opened;
  await writeAll(file, bytes, 0);
  await file.sync();
  return await file.stat();
}

/** The temp files of one file's writers, of all hosts and processes, in the order of their turns. */
async function tempsOf(path: string): Promise<string[]> {
  const folder = dirname(path);
  const found: { turn: string; temp: string }[] = [];
  for (const name of (await unlessMissing(readdir(folder))) ?? []) {
    const { of, turn } = TEMP_NAME.exec(name)?.groups ?? {};
    if (of === basename(path)) found.push({ turn: turn!, temp: join(folder, name) });
  }
  return found.sort((a, b) => (a.turn < b.turn ? -1 : 1)).map(({ temp }) => temp);
}

/** Remove the temp files that dead writers left in a folder. */
export async function sweepTemps(folder: string): Promise<void> {
  for (const name of (await unlessMissing(readdir(folder))) ?? []) {
    const path = join(folder, name);
    if (await isDeadTemp(path)) await unlessMissing(unlink(path));
  }
}

/** All temp files that dead writers left; `remove` gives false for one that is gone, or not dead any more. Throws as the store. */
export async function* findDeadTemps(rootDir: string) {
  try {
    for await (const page of walkPages(rootDir, '', (key) => TEMP_NAME.test(basename(key))))
      for (const { fileKey, path } of page) {
        if (!(await isDeadTemp(path))) continue;
        yield {
          fileKey,
          async remove(): Promise<boolean> {
            if (!(await isDeadTemp(path))) return false;
            await unlessMissing(unlink(path));
            return true;
          },
        };
      }
  } catch (error) {
    throw localError(error, 'list', rootDir);
  }
}

/** Is this the temp file of a writer that is dead, as far as can be told from here? */
async function isDeadTemp(path: string): Promise<boolean> {
  const match = TEMP_NAME.exec(basename(path));
  if (match === null) return false;
  const pid = Number(match.groups!.pid);
  if (match.groups!.host === hostTag()) return pid === process.pid ? !ownTemps.has(path) : !isAlive(pid);
  const info = await unlessMissing(stat(path));
  return info !== undefined && Date.now() - info.mtimeMs > TEMP_MAX_AGE_MS;
}

let ownHostTag: string | undefined;

/** A file name's worth of this machine's name. */
function hostTag(): string {
  ownHostTag ??= hash('sha256', hostname()).slice(0, 8);
  return ownHostTag;
}

/**
 * Turns among the writers of one file that compare before they rename. A writer's temp file, made by exclusive create
 * beside the file and named by its host and process, is its lock and its only weapon in one: it acts when it sees no
 * other. Of several the oldest waits for the others to go, and these give way: they drop theirs and come again when it
 * is through. Who is dead, or keeps the others waiting, loses its temp file to them: its rename then fails (ENOENT),
 * and it starts again from its comparison. So a process that was stopped inside its turn neither blocks the others nor
 * writes when it goes on.
 */
const TURN_MS = 5_000;
const LOOK_MS = 3;

/** Wait for the turn of the writer whose temp file is `temp`. Throws ENOENT where it has to start again. */
export async function untilAlone(path: string, temp: string): Promise<void> {
  const sinceMs = new Map<string, number>();
  let gaveWayTo: string | undefined;
  for (;;) {
    const temps = await tempsOf(path);
    const others = temps.filter((other) => other !== temp);
    if (others.length === 0) return;
    if (gaveWayTo === undefined && temps[0] !== temp) {
      gaveWayTo = temps[0]!;
      await unlessMissing(unlink(temp));
    } else if (gaveWayTo !== undefined && !temps.includes(gaveWayTo))
      throw Object.assign(new Error(`gave way to ${gaveWayTo}`), { code: 'ENOENT' });
    for (const other of others) await dropIfOverdue(other, sinceMs);
    await sleep(LOOK_MS * (1 + Math.random()));
  }
}

/** Take the file of a writer that is dead or keeps us waiting. */
async function dropIfOverdue(other: string, sinceMs: Map<string, number>): Promise<void> {
  const nowMs = performance.now();
  const firstSeenMs = sinceMs.get(other) ?? nowMs;
  sinceMs.set(other, firstSeenMs);
  if (nowMs - firstSeenMs > TURN_MS || (await isDeadTemp(other))) await unlessMissing(unlink(other));
}

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

/** What keeps a folder: it is not empty, a mount point, somebody else's, or a link to a folder. */
const KEPT = ['ENOTEMPTY', 'EEXIST', 'EBUSY', 'EACCES', 'EPERM', 'ENOTDIR'];

async function removeEmptyFolder(folder: string): Promise<boolean> {
  try {
    // Where somebody else pruned it, the one above may be empty now.
    await unlessMissing(rmdir(folder));
    return true;
  } catch (error) {
    if (KEPT.includes(errnoOf(error) ?? '')) return false;
    throw error;
  }
}
