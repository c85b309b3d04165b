/** Temporary folders named by their process: whoever makes the next one removes those of processes that were killed. */
import { createHash } from 'node:crypto';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isKnownDead, thisProcess } from './process-id.ts';

export type TempFolder = Awaited<ReturnType<typeof openTempFolder>>;

/** `<what for>-<host>-<pid>-<random>` */
const NAME = /^vessel-export-[a-z]+-(?<host>[0-9a-f]{8})-(?<pid>\d+)-/;

/** A new folder in `parent`; `purpose` (lower-case letters) is part of its name. Throws the file system's error. */
export async function openTempFolder(parent: string, purpose: string) {
  await sweepTempFolders(parent);
  const path = await mkdtemp(join(parent, `vessel-export-${purpose}-${hostTag()}-${process.pid}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Removes folders in `parent` of this user's processes that are certainly dead. What cannot be removed is in nobody's way. */
export async function sweepTempFolders(parent: string): Promise<void> {
  const self = thisProcess();
  const here = hostTag();
  for (const name of await readdir(parent).catch(() => [])) {
    const { host, pid } = NAME.exec(name)?.groups ?? {};
    const path = join(parent, name);
    if (host === here && isKnownDead({ ...self, pid: Number(pid) }, self) && (await isOwnFolder(path)))
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Is the folder this user's? Windows cannot say. */
async function isOwnFolder(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isDirectory() === true && (process.getuid === undefined || stats.uid === process.getuid());
}

/** A file name's worth of this host, boot and pid name space. */
function hostTag(): string {
  return createHash('sha256').update(thisProcess().host).digest('hex').slice(0, 8);
}
