import { FatalError, messageOf, RetriableError, VesselExportError } from '../../core/errors.ts';

/** Run file operations; what they throw leaves as one of our kinds, naming `path` and what was being done. */
export async function onDisk<T>(doing: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw localError(error, doing, path);
  }
}

/** A file system error by consequence. Errors that are ours already pass unchanged. */
export function localError(error: unknown, doing: string, path: string): VesselExportError {
  if (error instanceof VesselExportError) return error;
  const code = errnoOf(error) ?? 'unknown';
  const what = `cannot ${doing} ${path}`;
  const options = { cause: error };
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT': {
      const reason = code === 'ENOSPC' ? 'the disk is full' : 'the disk quota is used up';
      const next =
        'What was published before is unchanged. Free space there, or set LAKE_URL to a larger disk, and run again.';
      return new FatalError('disk-full', `${what}: ${reason} (${code}). ${next}`, options);
    }
    case 'EFBIG':
      return new FatalError(
        'file-too-large',
        `${what}: the file would exceed the largest size allowed here (${code}). Raise the limit (ulimit -f, or the file system's) and run again.`,
        options,
      );
    case 'EROFS':
      return new FatalError(
        'read-only',
        `${what}: the file system is read-only (${code}). Mount it writable, or set LAKE_URL to another folder.`,
        options,
      );
    case 'EACCES':
    case 'EPERM':
      return new FatalError(
        'no-permission',
        `${what}: permission denied (${code}) for user id ${process.geteuid?.() ?? 'unknown'}. Give this user read and write access to the lake's folder, or set LAKE_URL to another one.`,
        options,
      );
    // Opening a socket, and a link.
    case 'ENXIO':
    case 'ELOOP':
      return notAFile(path);
    case 'ENOTDIR':
    case 'EISDIR':
      return new FatalError(
        'key-conflict',
        `${what}: a file stands where a folder is needed, or the other way round (${code}). Look at what is there and move it away.`,
        options,
      );
    case 'ENAMETOOLONG':
      return new FatalError(
        'bad-key',
        `${what}: the path is too long for this file system (${code}). Set LAKE_URL to a folder with a shorter path.`,
        options,
      );
    default:
      return new RetriableError('local-io', `${what}: ${messageOf(error)}`, options);
  }
}

/** What stands at `path` is neither file nor folder, or a folder in the place of a file. */
export function notAFile(path: string): FatalError {
  return new FatalError(
    'key-conflict',
    `cannot use ${path}: expected a regular file, but a folder, a link, a pipe, a socket or a device stands there. Look at what is there and move it away.`,
  );
}

/** The `code` of a system error (`ENOENT`), or undefined. */
export function errnoOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** The promise's value, or undefined when it fails because a file or folder is not there. */
export async function unlessMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
