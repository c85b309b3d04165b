/**
 * Multipart uploads on a disk: one hidden file `.<name>.<nonce>.upload` beside the object, the parts one after
 * the other. No descriptor outlives a call, every call finds the file by its name, and a name is never used
 * again: a writer whose upload was adopted finds nothing and fails. The successor works on a copy, so what a
 * stopped writer still had in flight goes into a file that nobody can see.
 *
 * The store remembers the parts of an upload that it created or adopted, until the upload ends.
 */
import { hash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, copyFile, type FileHandle, rename, stat, truncate, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CommitFailedError, CommitUnknownError, FatalError, messageOf } from '../../core/errors.ts';
import { checkNonce } from '../key.ts';
import type { PartContent, PartRef, UploadRef, Uploads } from '../store.ts';
import { holdsParts, objectChanged, sizeOf } from '../store.ts';
import { errnoOf, unlessMissing } from './errors.ts';
import { createFile, openFile, readRange, syncFolder, writeAll } from './files.ts';
import { createTemp, dropTemp, moveTemp, removeAndPrune, sweepTemps } from './temps.ts';
import { fileVersion } from './walk.ts';

const UPLOAD_NAME = /^\.(.+)\.([A-Za-z0-9-]{1,64})\.upload$/;

/** The upload that a file (`a/b/.name.nonce.upload`) holds, or undefined when it is another kind of file. */
export function uploadOfFile(fileKey: string): UploadRef | undefined {
  const slash = fileKey.lastIndexOf('/') + 1;
  const match = UPLOAD_NAME.exec(fileKey.slice(slash));
  if (match === null) return undefined;
  return { key: fileKey.slice(0, slash) + match[1]!, uploadId: match[2]!, nonce: match[2]! };
}

/** Runs work on the file of a key that is one. */
export type OnKey = <T>(doing: string, key: string, work: (path: string) => Promise<T>) => Promise<T>;

/** Uploads as the port has them, below `rootDir`. */
export function createUploads(rootDir: string, onKey: OnKey): Uploads {
  /** Parts by upload id, in order; of uploads that this store may send parts to. */
  const partsOf = new Map<string, PartContent[]>();

  function pathOf({ key, uploadId }: Pick<UploadRef, 'key' | 'uploadId'>): string {
    checkNonce(uploadId);
    const path = join(rootDir, key);
    return join(dirname(path), `.${basename(path)}.${uploadId}.upload`);
  }

  async function openUpload(upload: UploadRef): Promise<{ file: FileHandle; info: Stats }> {
    const opened = await openFile(pathOf(upload), constants.O_RDWR);
    if (opened !== undefined) return opened;
    partsOf.delete(upload.uploadId);
    throw uploadGone(upload);
  }

  /** The file holds exactly `parts`, after a longer tail (a part that no checkpoint knows) was cut off. */
  async function checkParts(
    upload: UploadRef,
    parts: readonly PartRef[],
    { file, info: { size: foundBytes } }: { readonly file: FileHandle; readonly info: Stats },
  ): Promise<void> {
    const expectedBytes = sizeOf(parts);
    const known = partsOf.get(upload.uploadId);
    const inOrder = parts.every((part, i) => part.partNumber === i + 1);
    const areHeld =
      inOrder &&
      foundBytes >= expectedBytes &&
      (known === undefined ? await fileHoldsParts(pathOf(upload), parts) : sameParts(known, parts));
    if (!areHeld)
      throw new CommitFailedError(
        'part-mismatch',
        `the upload of ${upload.key} does not hold the parts it is to be completed with (${parts.length} parts, ${expectedBytes} bytes; found ${foundBytes} bytes). Start the upload again.`,
      );
    if (foundBytes > expectedBytes) await file.truncate(expectedBytes);
  }

  return {
    begin: (key, nonce) =>
      onKey('begin an upload of', key, async () => {
        const upload = { key, uploadId: nonce, nonce };
        const path = pathOf(upload);
        await sweepTemps(dirname(path));
        try {
          await (await createFile(path)).close();
        } catch (error) {
          if (errnoOf(error) !== 'EEXIST') throw error;
          throw new FatalError(
            'nonce-reused',
            `there is an upload ${nonce} of ${key} already; every upload needs a nonce of its own.`,
          );
        }
        partsOf.set(nonce, []);
        return upload;
      }),

    append: (upload, partNumber, bytes) =>
      onKey('write to the upload of', upload.key, async () => {
        const known = partsOf.get(upload.uploadId);
        if (known === undefined) {
          if ((await unlessMissing(stat(pathOf(upload)))) === undefined) throw uploadGone(upload);
          throw new FatalError(
            'upload-not-adopted',
            `the upload ${upload.uploadId} of ${upload.key} was begun by another process; adopt it before sending parts.`,
          );
        }
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

        await using file = (await openUpload(upload)).file;
        try {
          await writeAll(file, bytes, offset);
          if (replaced !== undefined) await file.truncate(end);
        } catch (error) {
          known.length = partNumber - 1;
          await file.truncate(offset).catch(() => {}); // Best effort: gives the disk its space back.
          throw error;
        }
        return { partNumber, sizeBytes: bytes.length, sha256, tag: sha256.slice(0, 16) };
      }),

    adopt: (upload, parts, nonce) =>
      onKey('take over the upload of', upload.key, async () => {
        const adopted = { key: upload.key, uploadId: nonce, nonce };
        const oldPath = pathOf(upload);
        const newPath = pathOf(adopted);
        if (oldPath === newPath)
          throw new FatalError('bad-key', `an upload is adopted with a new nonce, got ${nonce} again.`);
        // Nor is there one in what is no file, which could not even be opened without waiting.
        if (!(await unlessMissing(stat(oldPath)))?.isFile()) return undefined;
        const temp = await createTemp(newPath);
        try {
          await temp.file.close();
          const { mode } = await stat(temp.path);
          await copyFile(oldPath, temp.path, constants.COPYFILE_FICLONE);
          // A copy has the rights of the original: ours are those that this process gives.
          await chmod(temp.path, mode);
          const sizeBytes = sizeOf(parts);
          if ((await stat(temp.path)).size < sizeBytes) return undefined;
          await truncate(temp.path, sizeBytes);
          if (!(await fileHoldsParts(temp.path, parts))) return undefined;
          // There are never two uploads in this order. A crash in between costs the progress, no more.
          await unlink(oldPath);
          await moveTemp(temp.path, newPath);
        } catch (error) {
          if (errnoOf(error) === 'ENOENT') return undefined; // The predecessor published, or another one adopted.
          throw error;
        } finally {
          await dropTemp(temp.path);
        }
        partsOf.delete(upload.uploadId);
        partsOf.set(nonce, [...parts]);
        return adopted;
      }),

    /** Who took the upload over or dropped it has taken its file: the rename of a writer that was stopped fails. */
    publish: (upload, parts, expected) =>
      onKey('publish', upload.key, async (target) => {
        const opened = await openUpload(upload);
        try {
          await checkParts(upload, parts, opened);
          await opened.file.sync();
        } finally {
          await opened.file.close();
        }
        if (expected !== undefined) {
          const found = await unlessMissing(stat(target));
          if ((found === undefined ? null : fileVersion(found)) !== expected) throw objectChanged(upload.key);
        }
        try {
          await rename(pathOf(upload), target);
        } catch (error) {
          if (errnoOf(error) === 'ENOENT') throw uploadGone(upload);
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
      }),

    publishedBy: (upload, parts) =>
      onKey('read', upload.key, async (target) => {
        // While its file is there, the upload is not completed, whatever the object looks like.
        if ((await unlessMissing(stat(pathOf(upload)))) !== undefined) return false;
        const info = await unlessMissing(stat(target));
        if (info === undefined || info.size !== sizeOf(parts)) return false;
        return await fileHoldsParts(target, parts);
      }),

    abandon: (upload) =>
      onKey('drop the upload of', upload.key, async () => {
        partsOf.delete(upload.uploadId);
        await removeAndPrune(rootDir, pathOf(upload));
      }),
  };
}

function uploadGone(upload: UploadRef): CommitFailedError {
  return new CommitFailedError(
    'upload-gone',
    `the upload ${upload.uploadId} of ${upload.key} does not exist any more: it was completed, aborted or taken over.`,
  );
}

function sameParts(known: readonly PartContent[], parts: readonly PartContent[]): boolean {
  return parts.every((part, i) => known[i]?.sha256 === part.sha256 && known[i]?.sizeBytes === part.sizeBytes);
}

function fileHoldsParts(path: string, parts: readonly PartContent[]): Promise<boolean> {
  return holdsParts(parts, (fromByte, toByte) => readRange(path, fromByte, toByte));
}
