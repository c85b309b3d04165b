import { link, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FatalError } from '../errors.ts';
import { checkKey, checkPrefix, faultOfKey } from './key.ts';
import { codeOf, localError, onDisk, unlessMissing } from './local-errors.ts';
import { placeFile, removeAndPrune, sweepTemps, syncFolder } from './local-files.ts';
import { createLocalUploads, uploadOfFile } from './local-uploads.ts';
import { walkFiles, withStats } from './local-walk.ts';
import type { ListedObject, ObjectStore, UploadRef } from './store.ts';

const MAX_SWEPT_FOLDERS = 10_000;

/**
 * Objects as files below `rootDir` (made when first written to). Safe for any number of processes on one file
 * system with rename(2) and link(2); nothing is cached. Beside the objects there are only hidden files:
 * `.<name>.<nonce>.upload` (an open upload) and `.<name>.<writer>.put` (a write in progress).
 */
export function createLocalStore(rootDir: string): ObjectStore {
  const root = resolve(rootDir);
  const uploads = createLocalUploads(root);
  const sweptFolders = new Set<string>();

  function pathOf(key: string): string {
    checkKey(key);
    return join(root, key);
  }

  /** Once per folder and process is enough: what a dead writer leaves is small, hidden and harmless. */
  async function sweepOnce(folder: string): Promise<void> {
    if (sweptFolders.has(folder)) return;
    if (sweptFolders.size >= MAX_SWEPT_FOLDERS) sweptFolders.clear();
    sweptFolders.add(folder);
    await sweepTemps(folder);
  }

  async function put(key: string, bytes: Uint8Array): Promise<void> {
    const path = pathOf(key);
    await onDisk('write', path, async () => {
      await sweepOnce(dirname(path));
      await placeFile(path, bytes, (temp) => rename(temp, path));
      await unlessMissing(syncFolder(dirname(path)));
    });
  }

  async function putIfAbsent(key: string, bytes: Uint8Array): Promise<boolean> {
    const path = pathOf(key);
    return await onDisk('write', path, async () => {
      await sweepOnce(dirname(path));
      const linked = await placeFile(path, bytes, (temp) => linkIfAbsent(temp, path));
      if (linked) await unlessMissing(syncFolder(dirname(path)));
      return linked || (await holdsBytes(path, bytes));
    });
  }

  async function getRange(key: string, fromByte: number, toByte: number): Promise<Uint8Array | undefined> {
    const path = pathOf(key);
    return await onDisk('read', path, async () => {
      const handle = await unlessMissing(open(path, 'r'));
      if (handle === undefined) return undefined;
      try {
        const bytes = Buffer.alloc(Math.max(0, Math.min(toByte, (await handle.stat()).size) - fromByte));
        let done = 0;
        while (done < bytes.length) {
          const { bytesRead } = await handle.read(bytes, done, bytes.length - done, fromByte + done);
          if (bytesRead === 0) break;
          done += bytesRead;
        }
        return bytes.subarray(0, done);
      } finally {
        await handle.close();
      }
    });
  }

  async function head(key: string): Promise<{ sizeBytes: number } | undefined> {
    const path = pathOf(key);
    const info = await onDisk('read', path, () => unlessMissing(stat(path)));
    return info?.isFile() ? { sizeBytes: info.size } : undefined;
  }

  async function get(key: string): Promise<{ bytes: Uint8Array } | undefined> {
    const path = pathOf(key);
    const bytes = await onDisk('read', path, () => unlessMissing(readFile(path)));
    return bytes === undefined ? undefined : { bytes };
  }

  async function remove(key: string): Promise<void> {
    const path = pathOf(key);
    await onDisk('remove', path, () => removeAndPrune(root, path));
  }

  async function* list(prefix: string): AsyncIterable<ListedObject> {
    checkPrefix(prefix);
    const isObject = (key: string) => key.startsWith(prefix) && faultOfKey(key) === undefined;
    const found = withStats(walkFiles(root, prefix, isObject));
    for await (const file of onDiskEach('list', join(root, prefix), found)) {
      const { fileKey, sizeBytes, modifiedMs, tag } = file;
      yield { key: fileKey, sizeBytes, modifiedMs, tag };
    }
  }

  async function* listUploads(prefix: string): AsyncIterable<UploadRef & { startedMs: number }> {
    checkPrefix(prefix);
    const isUpload = (fileKey: string) => uploadOfFile(fileKey)?.key.startsWith(prefix) ?? false;
    const found = withStats(walkFiles(root, prefix, isUpload));
    for await (const file of onDiskEach('list', join(root, prefix), found)) {
      yield { ...uploadOfFile(file.fileKey)!, startedMs: file.createdMs };
    }
  }

  /** Check the key, then let `work` use the upload's file. */
  async function withUpload<T>(doing: string, key: string, work: () => Promise<T>): Promise<T> {
    return await onDisk(doing, pathOf(key), work);
  }

  return {
    url: pathToFileURL(root).href,
    get,
    getRange,
    head,
    put,
    putIfAbsent,
    remove,
    list,
    listUploads,
    createUpload: (key, nonce) => withUpload('begin an upload of', key, () => uploads.create(key, nonce)),
    uploadPart: (upload, partNumber, bytes) =>
      withUpload('write to the upload of', upload.key, () => uploads.writePart(upload, partNumber, bytes)),
    adoptUpload: (upload, parts, nonce) =>
      withUpload('take over the upload of', upload.key, () => uploads.adopt(upload, parts, nonce)),
    completeUpload: (upload, parts) =>
      withUpload('publish', upload.key, () => uploads.complete(upload, parts)),
    publishedBy: (upload, parts) => withUpload('read', upload.key, () => uploads.isPublished(upload, parts)),
    abortUpload: (upload) => withUpload('drop the upload of', upload.key, () => uploads.abort(upload)),
    close: async () => {},
  };
}

/** True: the link was made. False: something has that name. */
async function linkIfAbsent(temp: string, path: string): Promise<boolean> {
  try {
    await link(temp, path);
    return true;
  } catch (error) {
    switch (codeOf(error)) {
      case 'EEXIST':
        return false;
      case 'EPERM':
      case 'ENOTSUP':
      case 'ENOSYS':
        throw new FatalError(
          'no-hard-links',
          `cannot create ${path}: its file system has no hard links (${codeOf(error)}), which are needed to let exactly one of several writers win. Put the lake on a file system that has them (ext4, XFS, Btrfs, APFS, NFS), or on S3.`,
          { cause: error },
        );
      default:
        throw error;
    }
  }
}

async function holdsBytes(path: string, bytes: Uint8Array): Promise<boolean> {
  const found = await unlessMissing(readFile(path));
  return found?.equals(bytes) ?? false;
}

async function* onDiskEach<T>(doing: string, path: string, items: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* items;
  } catch (error) {
    throw localError(error, doing, path);
  }
}
