import { link, lstat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FatalError } from '../../core/errors.ts';
import { checkKey, checkPrefix, faultOfKey } from '../key.ts';
import type { ListedObject, ObjectStore, UploadRef, Version } from '../store.ts';
import { eachOf, MAX_WHOLE_BYTES, tooLargeToRead } from '../store.ts';
import { errnoOf, localError, onDisk, unlessMissing } from './errors.ts';
import { openFile, readAll, readRange, syncFolder } from './files.ts';
import { folderStateOf } from './folder-state.ts';
import { removeAndPrune, removeFound } from './removals.ts';
import { moveTemp, placeFile, sweepTemps, untilAlone } from './temps.ts';
import { LocalUploads, uploadOfFile } from './uploads.ts';
import { type FoundFileStat, fileVersion, walkPages, withStats } from './walk.ts';

const MAX_SWEPT_FOLDERS = 10_000;

/** A lake's folder. */
interface LocalFolder {
  readonly root: string;
  /** Folders that were swept by this process: once is enough, what a dead writer leaves is small and hidden. */
  readonly swept: Set<string>;
}

/**
 * Objects as files below `rootDir` (made when first written to). Safe for any number of processes on one file
 * system with rename(2) and link(2); nothing is cached. Beside the objects there are only hidden files:
 * `.<name>.<nonce>.upload` (an open upload) and `.<name>.<writer>.put` (a write in progress).
 */
export function createLocalStore(rootDir: string): ObjectStore {
  const root = resolve(rootDir);
  const folder: LocalFolder = { root, swept: new Set() };
  const uploads = new LocalUploads(root);
  /** Check a key, and work on its file. */
  async function at<T>(doing: string, key: string, work: (path: string) => Promise<T>): Promise<T> {
    checkKey(key);
    const path = join(root, key);
    return await onDisk(doing, path, () => work(path));
  }
  return {
    url: pathToFileURL(root).href,
    get: (key) => at('read', key, readObject),
    getRange: (key, fromByte, toByte) => at('read', key, (path) => readRange(path, fromByte, toByte)),
    head: (key) => at('read', key, headObject),
    put: (key, bytes) => at('write', key, (path) => put(folder, path, bytes)),
    putIf: (key, bytes, expected) => at('write', key, (path) => putIf(folder, path, bytes, expected)),
    putIfAbsent: (key, bytes) =>
      at('write', key, async (path) => (await putIf(folder, path, bytes, null)) !== undefined),
    remove: (key) => at('remove', key, (path) => removeAndPrune(root, path)),
    removeAll: async (keys, mayReturn = []) => {
      for (const key of keys) await at('remove', key, (path) => removeFound(root, path, true));
      for (const key of mayReturn) await at('remove', key, (path) => removeFound(root, path, false));
    },
    removeIf: (key, expected) => at('remove', key, (path) => removeIf(root, path, expected)),
    list: (prefix) => eachOf(listPages(root, prefix)),
    listPages: (prefix) => listPages(root, prefix),
    folderState: (prefix) => folderState(root, prefix),
    listUploads: (prefix) => listUploads(root, prefix),
    createUpload: (key, nonce) => at('begin an upload of', key, () => uploads.create(key, nonce)),
    uploadPart: (upload, partNumber, bytes) =>
      at('write to the upload of', upload.key, () => uploads.writePart(upload, partNumber, bytes)),
    adoptUpload: (upload, parts, nonce) =>
      at('take over the upload of', upload.key, () => uploads.adopt(upload, parts, nonce)),
    completeUpload: (upload, parts, expected) =>
      at('publish', upload.key, () => uploads.complete(upload, parts, expected)),
    publishedBy: (upload, parts) => at('read', upload.key, () => uploads.isPublished(upload, parts)),
    abortUpload: (upload) => at('drop the upload of', upload.key, () => uploads.abort(upload)),
    capabilities: async () => ({ conditionalPut: true, conditionalReplace: true, conditionalComplete: true }),
    close: async () => {},
  };
}

async function readObject(path: string): Promise<{ bytes: Uint8Array; version: Version } | undefined> {
  const opened = await openFile(path);
  if (opened === undefined) return undefined;
  const { file, info } = opened;
  try {
    if (info.size > MAX_WHOLE_BYTES) throw tooLargeToRead(path, info.size);
    return { version: fileVersion(info), bytes: await readAll(file, info.size, 0) };
  } finally {
    await file.close();
  }
}

async function headObject(path: string): Promise<{ sizeBytes: number; version: Version } | undefined> {
  // A link is never what we wrote, so it is not followed.
  const info = await unlessMissing(lstat(path));
  return info?.isFile() ? { sizeBytes: info.size, version: fileVersion(info) } : undefined;
}

async function put(folder: LocalFolder, path: string, bytes: Uint8Array): Promise<void> {
  await sweepOnce(folder, dirname(path));
  await placeFile(path, bytes, (temp) => moveTemp(temp, path));
  await unlessMissing(syncFolder(dirname(path)));
}

/**
 * Compare and rename, by one writer at a time. A writer that was stopped in between has lost its file to the next
 * one when it goes on, and starts again.
 */
async function putIf(
  folder: LocalFolder,
  path: string,
  bytes: Uint8Array,
  expected: Version | null,
): Promise<Version | undefined> {
  await sweepOnce(folder, dirname(path));
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

async function sweepOnce({ swept }: LocalFolder, path: string): Promise<void> {
  if (swept.has(path)) return;
  if (swept.size >= MAX_SWEPT_FOLDERS) swept.clear();
  swept.add(path);
  await sweepTemps(path);
}

async function* listPages(root: string, prefix: string): AsyncIterable<ListedObject[]> {
  const isObject = (key: string) => key.startsWith(prefix) && faultOfKey(key) === undefined;
  for await (const files of listFiles(root, prefix, isObject))
    yield files.map(({ fileKey: key, sizeBytes, modifiedMs, tag }) => ({ key, sizeBytes, modifiedMs, tag }));
}

async function folderState(root: string, prefix: string): Promise<string | undefined> {
  checkPrefix(prefix);
  const path = join(root, prefix);
  return await onDisk('list', path, async () => await unlessMissing(folderStateOf(path, Date.now())));
}

async function* listUploads(root: string, prefix: string): AsyncIterable<UploadRef & { startedMs: number }> {
  const isUpload = (fileKey: string) => uploadOfFile(fileKey)?.key.startsWith(prefix) ?? false;
  for await (const files of listFiles(root, prefix, isUpload))
    for (const { fileKey, createdMs } of files) yield { ...uploadOfFile(fileKey)!, startedMs: createdMs };
}

/** The files that a prefix can mean and that are wanted, in key order, some at a time. */
async function* listFiles(
  root: string,
  prefix: string,
  isWanted: (fileKey: string) => boolean,
): AsyncIterable<FoundFileStat[]> {
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
    switch (errnoOf(error)) {
      case 'EEXIST':
        return false;
      case 'EPERM':
      case 'ENOTSUP':
      case 'ENOSYS':
        throw new FatalError(
          'no-hard-links',
          `cannot create ${path}: its file system has no hard links (${errnoOf(error)}), which are needed to let exactly one of several writers win. Put the lake on a file system that has them (ext4, XFS, Btrfs, APFS, NFS), or on S3.`,
          { cause: error },
        );
      default:
        throw error;
    }
  }
}

/** The version of the file if it holds these bytes. */
async function versionHolding(path: string, bytes: Uint8Array): Promise<Version | undefined> {
  const found = await readObject(path);
  return found !== undefined && Buffer.compare(found.bytes, bytes) === 0 ? found.version : undefined;
}
