/**
 * Calls of the file system, made from here as long as that is fast. A call about what is in the system's memory takes
 * some microseconds; sent through the thread pool it takes ten times the processor time, and a small vessel-day makes
 * more than a hundred. The first calls go through the pool, and so does every one for a while after some that were slow:
 * where the disk is far away nobody else waits for it. What waits for the disk itself (`fsync`) always goes through the
 * pool, and so does what frees the blocks of a large file (a rename over a day's object).
 */
import type { Dirent, Stats } from 'node:fs';
import {
  close,
  closeSync,
  fstat,
  fstatSync,
  fsync,
  linkSync,
  lstat,
  lstatSync,
  mkdir,
  mkdirSync,
  open,
  openSync,
  read,
  readdir,
  readdirSync,
  readSync,
  renameSync,
  rmdir,
  rmdirSync,
  stat,
  statSync,
  unlink,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { link, rename } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { codeOf } from './errors.ts';

/** A call that took longer waited: for a disk that is far away or busy, or for a processor. */
const SLOW_MS = 1;
/** A slow call weighs as much as so many fast ones: a process that is interrupted now and then has no slow disk. */
const SLOW_WEIGHT = 8;
/** From here on calls go through the pool for a while: three slow calls in a row, or more among fast ones. */
const TOO_SLOW = 24;
/** So many calls go through the pool then, and so many at first. */
const CAREFUL_CALLS = 32;
/** More bytes are copied by a thread of the pool. */
const SMALL_BYTES = 64 * 1024;

let careful = CAREFUL_CALLS;
let slowness = 0;

async function soon<T>(now: () => T, later: () => Promise<T>): Promise<T> {
  if (careful > 0) {
    careful--;
    return later();
  }
  const startedMs = performance.now();
  try {
    return now();
  } finally {
    weigh(performance.now() - startedMs > SLOW_MS);
  }
}

function weigh(isSlow: boolean): void {
  slowness = isSlow ? slowness + SLOW_WEIGHT : Math.max(0, slowness - 1);
  if (slowness < TOO_SLOW) return;
  [careful, slowness] = [CAREFUL_CALLS, 0];
}

const inPool = {
  open: promisify(open),
  close: promisify(close),
  fstat: promisify(fstat),
  stat: promisify(stat),
  lstat: promisify(lstat),
  unlink: promisify(unlink),
  rmdir: promisify(rmdir),
  mkdir: promisify(mkdir),
  fsync: promisify(fsync),
  read: promisify(read),
  write: promisify(write),
};

/** An open file; `closeFile` ends it. */
export type Descriptor = number;

/** A call that is made from here or by the pool. */
function either<A extends unknown[], T>(now: (...args: A) => T, later: (...args: A) => Promise<T>) {
  return (...args: A): Promise<T> =>
    soon(
      () => now(...args),
      () => later(...args),
    );
}

export const openPath = either<[path: string, flags: string | number], Descriptor>(openSync, inPool.open);
export const closeFile = either<[file: Descriptor], void>(closeSync, inPool.close);
export const statFile = either<[file: Descriptor], Stats>(fstatSync, inPool.fstat);
export const statPath = either<[path: string], Stats>(statSync, inPool.stat);
/** Many as one call; undefined for those that are not there. */
export const statPaths = either<[paths: readonly string[]], (Stats | undefined)[]>(
  (paths) => paths.map(statIfThere),
  (paths) => Promise.all(paths.map((path) => inPool.stat(path).catch(nothingThere))),
);
/** Of a link itself. */
export const statEntry = either<[path: string], Stats>(lstatSync, inPool.lstat);
export const removeFile = either<[path: string], void>(unlinkSync, inPool.unlink);
export const removeFolder = either<[path: string], void>(rmdirSync, inPool.rmdir);
export const createFolder = either<[path: string], void>(mkdirSync, inPool.mkdir);
/** Another name for a file, which must be free. */
export const linkFile = either<[path: string, name: string], void>(linkSync, (path, name) =>
  link(path, name),
);
/** Over a small file, or to a free name. */
export const renameSmall = either<[from: string, to: string], void>(renameSync, (from, to) =>
  rename(from, to),
);

export const namesIn = (path: string): Promise<string[]> =>
  soon(
    () => readdirSync(path),
    () =>
      new Promise((found, failed) => readdir(path, (error, names) => (error ? failed(error) : found(names)))),
  );

export const entriesIn = (path: string): Promise<Dirent[]> =>
  soon(
    () => readdirSync(path, { withFileTypes: true }),
    () =>
      new Promise((found, failed) =>
        readdir(path, { withFileTypes: true }, (error, entries) => (error ? failed(error) : found(entries))),
      ),
  );

/** Make what was written to a file, or the names in a folder, survive a power cut. */
export const syncFile = (file: Descriptor): Promise<void> => inPool.fsync(file);

/** Bytes read into `bytes[at, …)` from a place in the file; 0 at its end. */
export async function readInto(
  file: Descriptor,
  bytes: Uint8Array,
  at: number,
  position: number,
): Promise<number> {
  const length = bytes.length - at;
  const later = async () => (await inPool.read(file, bytes, at, length, position)).bytesRead;
  return length > SMALL_BYTES ? later() : soon(() => readSync(file, bytes, at, length, position), later);
}

/** Bytes of `bytes[at, …)` written to a place in the file, which may be fewer than there are. */
export async function writeFrom(
  file: Descriptor,
  bytes: Uint8Array,
  at: number,
  position: number,
): Promise<number> {
  const length = bytes.length - at;
  const later = async () => (await inPool.write(file, bytes, at, length, position)).bytesWritten;
  return length > SMALL_BYTES ? later() : soon(() => writeSync(file, bytes, at, length, position), later);
}

function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    return nothingThere(error);
  }
}

/** Undefined where a file or folder is not there; other errors are thrown. */
function nothingThere(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error;
}
