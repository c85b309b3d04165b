import { FatalError, messageOf, RetriableError, VesselExportError } from '../../core/errors.ts';

/** Run file operations; what they throw leaves as one of our kinds, naming `path` and what was being done. */
export async function onDisk<T>(doing: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw localError(error, doing, path);
  }
}

const UNCHANGED =
  'What was published before is unchanged. Free space there, or set LAKE_URL to a larger disk, and run again.';
const NO_PERMISSION = [
  'no-permission',
  'permission denied',
  "Give this user read and write access to the lake's folder, or set LAKE_URL to another one.",
] as const;
const KEY_CONFLICT = [
  'key-conflict',
  'a file exists in place of a folder, or a folder in place of a file',
  'Check what is there and move it away.',
] as const;

/** By the system's error: our code, what is wrong, and what to do next. */
const FATAL: Readonly<Record<string, readonly [code: string, found: string, next: string]>> = {
  ENOSPC: ['disk-full', 'the disk is full', UNCHANGED],
  EDQUOT: ['disk-full', 'the disk quota is used up', UNCHANGED],
  EFBIG: [
    'file-too-large',
    'the file would exceed the largest size allowed here',
    "Raise the limit (ulimit -f, or the file system's) and run again.",
  ],
  EROFS: [
    'read-only',
    'the file system is read-only',
    'Mount it writable, or set LAKE_URL to another folder.',
  ],
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  ENOTDIR: KEY_CONFLICT,
  EISDIR: KEY_CONFLICT,
  ENAMETOOLONG: [
    'bad-key',
    'the path is too long for this file system',
    'Set LAKE_URL to a folder with a shorter path.',
  ],
};

/** A file system error by consequence. Errors that are ours already pass unchanged. */
export function localError(error: unknown, doing: string, path: string): VesselExportError {
  if (error instanceof VesselExportError) return error;
  const errno = errnoOf(error) ?? 'unknown';
  // Opening a socket, and a link.
  if (errno === 'ENXIO' || errno === 'ELOOP') return notAFile(path);
  const what = `cannot ${doing} ${path}`;
  if (!Object.hasOwn(FATAL, errno))
    return new RetriableError('local-io', `${what}: ${messageOf(error)}`, { cause: error });
  const [code, found, next] = FATAL[errno]!;
  const who = code === 'no-permission' ? ` for user id ${process.geteuid?.() ?? 'unknown'}` : '';
  return new FatalError(code, `${what}: ${found} (${errno})${who}. ${next}`, { cause: error });
}

/** What stands at `path` is neither file nor folder, or a folder in the place of a file. */
export function notAFile(path: string): FatalError {
  return new FatalError(
    'key-conflict',
    `cannot use ${path}: expected a regular file, but found a folder, a link, a pipe, a socket or a device. Check it and move it away.`,
  );
}

/** The `code` of a system error (`ENOENT`), or undefined. */
export function errnoOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** The promise's value, or undefined when it fails because a file or folder is not there, or for another of these reasons. */
export async function unlessMissing<T>(promise: Promise<T>, ...others: string[]): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (['ENOENT', ...others].includes(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}
