import type { Stats } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { statIfThere } from './walk.ts';

/**
 * File systems, by Linux's numbers, that are known to set the times of a folder whenever a name in it is added, replaced or
 * removed. Others may make these times up, as a bucket does that is mounted as a folder.
 */
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

/**
 * A change that follows the one before within the steps of a file system's clock, 4 ms to 2 s, may leave the same times:
 * so they say nothing until they are older than that, and than what clocks of two hosts differ and NFS keeps times for.
 */
const SETTLED_AFTER_MS = 120_000;

/**
 * The state of a folder, for `folderState` of the store; undefined where there is none. Beside the time of the last
 * change the one that nobody can set: a restored folder has its old time again.
 */
export async function folderStateOf(path: string, nowMs: number): Promise<string | undefined> {
  const info = await statIfThere(path);
  if (info === undefined || !info.isDirectory() || !isSettled(info, nowMs)) return undefined;
  return (await isKeepingTimes(path)) ? `${info.ino}-${info.mtimeMs}-${info.ctimeMs}` : undefined;
}

function isSettled({ mtimeMs, ctimeMs }: Stats, nowMs: number): boolean {
  return Math.max(mtimeMs, ctimeMs) + SETTLED_AFTER_MS < nowMs;
}

async function isKeepingTimes(path: string): Promise<boolean> {
  return process.platform === 'linux' && KEEPING_TIMES.has((await statfs(path)).type);
}
