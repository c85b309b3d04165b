import { createHash, hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { constants, copyFile, open, rename, stat, truncate, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CommitFailedError, CommitUnknownError, FatalError, messageOf } from '../errors.ts';
import { checkNonce } from './key.ts';
import { codeOf, unlessMissing } from './local-errors.ts';
import {
  createFile,
  createTemp,
  dropTemp,
  removeAndPrune,
  sweepTemps,
  syncFolder,
  writeFully,
} from './local-files.ts';
import type { PartRef, UploadRef } from './store.ts';

/**
 * Multipart uploads on a disk: one hidden file `.<name>.<nonce>.upload` beside the object, the parts one after
 * the other. No descriptor outlives a call, every call finds the file by its name, and a name is never used
 * again: a writer whose upload was adopted finds nothing and fails. The successor works on a copy, so what a
 * stopped writer still had in flight goes into a file that nobody can see.
 */
export interface LocalUploads {
  create(key: string, nonce: string): Promise<UploadRef>;
  writePart(upload: UploadRef, partNumber: number, bytes: Uint8Array): Promise<PartRef>;
  adopt(upload: UploadRef, parts: readonly PartRef[], nonce: string): Promise<UploadRef | undefined>;
  complete(upload: UploadRef, parts: readonly PartRef[]): Promise<void>;
  isPublished(upload: UploadRef, parts: readonly PartRef[]): Promise<boolean>;
  abort(upload: UploadRef): Promise<void>;
}

type PartContent = Pick<PartRef, 'sizeBytes' | 'sha256'>;

const UPLOAD_NAME = /^\.(.+)\.([A-Za-z0-9-]{1,64})\.upload$/;
const READ_BYTES = 1 << 20;

/** The upload that a file (`a/b/.name.nonce.upload`) holds, or undefined when it is another kind of file. */
export function uploadOfFile(fileKey: string): UploadRef | undefined {
  const slash = fileKey.lastIndexOf('/') + 1;
  const match = UPLOAD_NAME.exec(fileKey.slice(slash));
  if (match === null) return undefined;
  return { key: fileKey.slice(0, slash) + match[1]!, uploadId: match[2]!, nonce: match[2]! };
}

/** The uploads below `rootDir`. Remembers the parts of those it created or adopted, until they end. */
export function createLocalUploads(rootDir: string): LocalUploads {
  const partsOf = new Map<string, PartContent[]>();

  function pathOf(key: string, uploadId: string): string {
    checkNonce(uploadId);
    const path = join(rootDir, key);
    return join(dirname(path), `.${basename(path)}.${uploadId}.upload`);
  }

  async function openUpload(upload: UploadRef, path: string): Promise<FileHandle> {
    const handle = await unlessMissing(open(path, 'r+'));
    if (handle !== undefined) return handle;
    partsOf.delete(upload.uploadId);
    throw uploadGone(upload);
  }

  async function create(key: string, nonce: string): Promise<UploadRef> {
    const path = pathOf(key, nonce);
    await sweepTemps(dirname(path));
    try {
      await (await createFile(path)).close();
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      throw new FatalError(
        'nonce-reused',
        `there is an upload ${nonce} of ${key} already; every upload needs a nonce of its own.`,
      );
    }
    partsOf.set(nonce, []);
    return { key, uploadId: nonce, nonce };
  }

  async function writePart(upload: UploadRef, partNumber: number, bytes: Uint8Array): Promise<PartRef> {
    const path = pathOf(upload.key, upload.uploadId);
    const known = partsOf.get(upload.uploadId);
    if (known === undefined) throw await unknownUpload(upload, path);
    if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > known.length + 1) {
      throw new FatalError(
        'part-order',
        `part ${partNumber} of ${upload.key} was sent after part ${known.length}; parts are sent in order.`,
      );
    }
    const sha256 = hash('sha256', bytes);
    const offset = sizeOf(known.slice(0, partNumber - 1));
    const replaced = known[partNumber - 1];
    if (replaced !== undefined && replaced.sizeBytes !== bytes.length) known.length = partNumber;
    known[partNumber - 1] = { sizeBytes: bytes.length, sha256 };
    const end = sizeOf(known);

    const handle = await openUpload(upload, path);
    try {
      await writeFully(handle, bytes, offset);
      if (replaced !== undefined) await handle.truncate(end);
    } catch (error) {
      known.length = partNumber - 1;
      await handle.truncate(offset).catch(() => {}); // Best effort: gives the disk its space back.
      throw error;
    } finally {
      await handle.close();
    }
    return { partNumber, sizeBytes: bytes.length, sha256, tag: sha256.slice(0, 16) };
  }

  async function adopt(
    upload: UploadRef,
    parts: readonly PartRef[],
    nonce: string,
  ): Promise<UploadRef | undefined> {
    const oldPath = pathOf(upload.key, upload.uploadId);
    const newPath = pathOf(upload.key, nonce);
    if (oldPath === newPath)
      throw new FatalError('bad-key', `an upload is adopted with a new nonce, got ${nonce} again.`);
    if ((await unlessMissing(stat(oldPath))) === undefined) return undefined;
    const temp = await createTemp(newPath);
    try {
      await temp.handle.close();
      await copyFile(oldPath, temp.path, constants.COPYFILE_FICLONE);
      const sizeBytes = sizeOf(parts);
      if ((await stat(temp.path)).size < sizeBytes) return undefined;
      await truncate(temp.path, sizeBytes);
      if (!(await holdsParts(temp.path, parts))) return undefined;
      // In this order there are never two uploads. A crash between the two acts costs the progress, no more.
      await unlink(oldPath);
      await rename(temp.path, newPath);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined; // The predecessor published, or another one adopted.
      throw error;
    } finally {
      await dropTemp(temp.path);
    }
    partsOf.delete(upload.uploadId);
    partsOf.set(
      nonce,
      parts.map(({ sizeBytes, sha256 }) => ({ sizeBytes, sha256 })),
    );
    return { key: upload.key, uploadId: nonce, nonce };
  }

  async function complete(upload: UploadRef, parts: readonly PartRef[]): Promise<void> {
    const path = pathOf(upload.key, upload.uploadId);
    const target = join(rootDir, upload.key);
    const handle = await openUpload(upload, path);
    try {
      await checkParts(upload, parts, handle, path);
      await handle.sync();
    } finally {
      await handle.close();
    }
    try {
      await rename(path, target);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw uploadGone(upload);
      throw error;
    }
    partsOf.delete(upload.uploadId);
    await syncFolder(dirname(target)).catch((error: unknown) => {
      throw new CommitUnknownError(
        'sync-failed',
        `${target} was replaced, but the folder could not be synced: ${messageOf(error)}`,
        { cause: error },
      );
    });
  }

  /** The file holds exactly `parts`, after a longer tail (a part that no checkpoint knows) was cut off. */
  async function checkParts(
    upload: UploadRef,
    parts: readonly PartRef[],
    handle: FileHandle,
    path: string,
  ): Promise<void> {
    const expectedBytes = sizeOf(parts);
    const foundBytes = (await handle.stat()).size;
    const known = partsOf.get(upload.uploadId);
    const inOrder = parts.every((part, i) => part.partNumber === i + 1);
    if (
      !inOrder ||
      foundBytes < expectedBytes ||
      !(known === undefined ? await holdsParts(path, parts) : sameParts(known, parts))
    ) {
      throw new CommitFailedError(
        'part-mismatch',
        `the upload of ${upload.key} does not hold the parts it is to be completed with (${parts.length} parts, ${expectedBytes} bytes; found ${foundBytes} bytes). Start the upload again.`,
      );
    }
    if (foundBytes > expectedBytes) await handle.truncate(expectedBytes);
  }

  async function isPublished(upload: UploadRef, parts: readonly PartRef[]): Promise<boolean> {
    // While its file is there, the upload is not completed, whatever the object looks like.
    if ((await unlessMissing(stat(pathOf(upload.key, upload.uploadId)))) !== undefined) return false;
    const target = join(rootDir, upload.key);
    const info = await unlessMissing(stat(target));
    if (info === undefined || info.size !== sizeOf(parts)) return false;
    return (await unlessMissing(holdsParts(target, parts))) ?? false;
  }

  async function abort(upload: UploadRef): Promise<void> {
    partsOf.delete(upload.uploadId);
    await removeAndPrune(rootDir, pathOf(upload.key, upload.uploadId));
  }

  return { create, writePart, adopt, complete, isPublished, abort };
}

function uploadGone(upload: UploadRef): CommitFailedError {
  return new CommitFailedError(
    'upload-gone',
    `the upload ${upload.uploadId} of ${upload.key} does not exist any more: it was completed, aborted or taken over.`,
  );
}

/** A part for an upload of which this store knows no parts. */
async function unknownUpload(upload: UploadRef, path: string): Promise<Error> {
  if ((await unlessMissing(stat(path))) === undefined) return uploadGone(upload);
  return new FatalError(
    'upload-not-adopted',
    `the upload ${upload.uploadId} of ${upload.key} was begun by another process; adopt it before sending parts.`,
  );
}

function sizeOf(parts: readonly PartContent[]): number {
  return parts.reduce((sum, part) => sum + part.sizeBytes, 0);
}

function sameParts(known: readonly PartContent[], parts: readonly PartContent[]): boolean {
  return parts.every((part, i) => known[i]?.sha256 === part.sha256 && known[i]?.sizeBytes === part.sizeBytes);
}

/** Does the file begin with these parts, byte for byte? Reads it. */
async function holdsParts(path: string, parts: readonly PartContent[]): Promise<boolean> {
  const handle = await open(path, 'r');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  try {
    let position = 0;
    for (const part of parts) {
      const digest = createHash('sha256');
      for (let left = part.sizeBytes; left > 0; ) {
        const { bytesRead } = await handle.read(buffer, 0, Math.min(left, buffer.length), position);
        if (bytesRead === 0) return false;
        digest.update(buffer.subarray(0, bytesRead));
        position += bytesRead;
        left -= bytesRead;
      }
      if (digest.digest('hex') !== part.sha256) return false;
    }
    return true;
  } finally {
    await handle.close();
  }
}
