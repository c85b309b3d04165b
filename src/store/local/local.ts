import { link, lstat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FatalError } from '../../core/errors.ts';
import { checkKey, checkPrefix, faultOfKey } from '../key.ts';
import type { ListedObject, ObjectStore, UploadRef, Version } from '../store.ts';
import { eachOf, KEEPS_ALL, MAX_WHOLE_BYTES, tooLargeToRead } from '../store.ts';
import { errnoOf, localError, onDisk, unlessMissing } from './errors.ts';
import { openFile, readAll, readRange, syncFolder } from './files.ts';
import { moveTemp, placeFile, removeAndPrune, removeFound, sweepTemps, untilAlone } from './temps.ts';
import { createUploads, type OnKey, uploadOfFile } from './uploads.ts';
import { fileVersion, folderStateOf, walkPages, withStats } from './walk.ts';

const MAX_SWEPT_FOLDERS = 10_000;

/**
 * Objects as files below `rootDir` (made when first written to). Safe for any number of processes on one file
 * system with rename(2) and link(2); nothing is cached. Beside the objects there are only hidden files:
 * `.<name>.<nonce>.upload` (an open upload) and `.<name>.<writer>.put` (a write in progress).
 */
export function createLocalStore(rootDir: string): ObjectStore {
  const root = resolve(rootDir);
  /** Folders that were swept by this process: once is enough, what a dead writer leaves is small and hidden. */
  const swept = new Set<string>();
  const onKey: OnKey = async (doing, key, work) => {
    checkKey(key);
    const path = join(root, key);
    return await onDisk(doing, path, () => work(path));
  };
  async function sweepAround(path: string): Promise<void> {
    const folder = dirname(path);
    if (swept.has(folder)) return;
    if (swept.size >= MAX_SWEPT_FOLDERS) swept.clear();
    swept.add(folder);
    await sweepTemps(folder);
  }
  const putIf: ObjectStore['putIf'] = (key, bytes, expected) =>
    onKey('write', key, async (path) => {
      await sweepAround(path);
      return await putFileIf(path, bytes, expected);
    });

  return {
    url: pathToFileURL(root).href,
    get: (key) => onKey('read', key, readObject),
    getRange: (key, fromByte, toByte) => onKey('read', key, (path) => readRange(path, fromByte, toByte)),
    head: (key) => onKey('read', key, headObject),
    put: (key, bytes) =>
      onKey('write', key, async (path) => {
        await sweepAround(path);
        await placeFile(path, bytes, (temp) => moveTemp(temp, path));
        await unlessMissing(syncFolder(dirname(path)));
      }),
    putIf,
    putIfAbsent: async (key, bytes) => (await putIf(key, bytes, null)) !== undefined,
    remove: (key) => onKey('remove', key, (path) => removeAndPrune(root, path)),
    removeAll: async (keys, mayReturn = []) => {
      for (const key of keys) await onKey('remove', key, (path) => removeFound(root, path, true));
      for (const key of mayReturn) await onKey('remove', key, (path) => removeFound(root, path, false));
    },
    removeIf: (key, expected) => onKey('remove', key, (path) => removeIf(root, path, expected)),
    list: (prefix) => eachOf(listPages(root, prefix)),
    listPages: (prefix) => listPages(root, prefix),
    folderState: async (prefix) => {
      checkPrefix(prefix);
      const path = join(root, prefix);
      return await onDisk('list', path, async () => await unlessMissing(folderStateOf(path, Date.now())));
    },
    ...createUploads(root, onKey),
    listUploads: (prefix) => listUploads(root, prefix),
    capabilities: async () => KEEPS_ALL,
    close: async () => {},
  };
}

async function readObject(path: string): Promise<{ bytes: Uint8Array; version: Version } | undefined> {
  const opened = await openFile(path);
  if (opened === undefined) return undefined;
  const { info } = opened;
  await using file = opened.file;
  if (info.size > MAX_WHOLE_BYTES) throw tooLargeToRead(path, info.size);
  return { version: fileVersion(info), bytes: await readAll(file, info.size, 0) };
}

async function headObject(path: string): Promise<{ sizeBytes: number; version: Version } | undefined> {
  // A link is never what we wrote, so it is not followed.
  const info = await unlessMissing(lstat(path));
  return info?.isFile() ? { sizeBytes: info.size, version: fileVersion(info) } : undefined;
}

/** Compare and rename, one writer at a time: who was stopped in between has lost its temp file, and starts again. */
async function putFileIf(
  path: string,
  bytes: Uint8Array,
  expected: Version | null,
): Promise<Version | undefined> {
  const written = await placeFile(path, bytes, async (temp, info) => {
    const version = fileVersion(info);
    if (expected === null) return (await linkIfAbsent(temp, path)) ? version : undefined;
    if ((await headObject(path))?.version !== expected) return undefined;
    await untilAlone(path, temp);
    if ((await headObject(path))?.version !== expected) return undefined;
    await moveTemp(temp, path);
    return version;
  });
  if (written === undefined) return await versionHolding(path, bytes);
  await unlessMissing(syncFolder(dirname(path)));
  return written;
}

async function removeIf(root: string, path: string, expected: Version): Promise<boolean> {
  const isThat = async () => (await headObject(path))?.version === expected;
  if (!(await isThat())) return false;
  const removed = await placeFile(path, new Uint8Array(0), async (temp) => {
    await untilAlone(path, temp);
    if (!(await isThat())) return false;
    await unlink(path);
    return true;
  });
  if (removed) await removeAndPrune(root, path);
  return removed;
}

async function* listPages(root: string, prefix: string): AsyncIterable<ListedObject[]> {
  const isObject = (key: string) => key.startsWith(prefix) && faultOfKey(key) === undefined;
  for await (const files of listFiles(root, prefix, isObject))
    yield files.map(({ fileKey: key, sizeBytes, modifiedMs, tag }) => ({ key, sizeBytes, modifiedMs, tag }));
}

async function* listUploads(root: string, prefix: string): AsyncIterable<UploadRef & { startedMs: number }> {
  const isUpload = (fileKey: string) => uploadOfFile(fileKey)?.key.startsWith(prefix) ?? false;
  for await (const files of listFiles(root, prefix, isUpload))
    for (const { fileKey, createdMs } of files) yield { ...uploadOfFile(fileKey)!, startedMs: createdMs };
}

/** The files that a prefix can mean and that are wanted, in key order, some at a time. */
async function* listFiles(root: string, prefix: string, isWanted: (fileKey: string) => boolean) {
  checkPrefix(prefix);
  try {
    yield* withStats(walkPages(root, prefix, isWanted));
  } catch (error) {
    throw localError(error, 'list', join(root, prefix));
  }
}

/** True: the link was made. False: something has that name. */
async function linkIfAbsent(temp: string, path: string): Promise<boolean> {
  try {
    await link(temp, path);
    return true;
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (errno === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(errno)) throw error;
    throw new FatalError(
      'no-hard-links',
      `cannot create ${path}: its file system has no hard links (${errno}), which are needed to let exactly one of several writers win. Put the lake on a file system that has them (ext4, XFS, Btrfs, APFS, NFS), or on S3.`,
      { cause: error },
    );
  }
}

async function versionHolding(path: string, bytes: Uint8Array): Promise<Version | undefined> {
  const found = await readObject(path);
  return found !== undefined && Buffer.compare(found.bytes, bytes) === 0 ? found.version : undefined;
}
